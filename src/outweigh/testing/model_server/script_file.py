"""Scripts from files: TOML or JSON, with errors that name the key."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from outweigh.errors import UsageError
from outweigh.testing.model_server.script import (
    CallSpec,
    Conversation,
    CutSpec,
    ErrorSpec,
    Script,
    Turn,
    UsageSpec,
    When,
)

_UNKNOWN_FIELD = re.compile(r"unknown field `([^`]*)`")
_PARTS = (CallSpec, Conversation, CutSpec, ErrorSpec, Script, Turn, UsageSpec, When)
_KEYS = sorted({key for part in _PARTS for key in part.__struct_fields__})


def read_script(path: Path) -> Script:
    """Read a script file; its name says which of the two formats it is in."""
    try:
        content = path.read_bytes()
    except OSError as fault:
        raise UsageError(
            f"the script {path} cannot be read: {fault.strerror}. `outweigh model-server --example` prints one."
        ) from None
    return parse_script(content, str(path))


def parse_script(content: bytes | str, source: str = "script.toml") -> Script:
    """Read a script from its text; a source that ends in `.json` is JSON, anything else TOML."""
    raw = _decode(content.encode() if isinstance(content, str) else content, source)
    try:
        return msgspec.convert(raw, Script)
    except msgspec.ValidationError as fault:
        raise UsageError(f"script {source}: {fault}.{_nearest_key(str(fault))}") from None


def _decode(content: bytes, source: str) -> Any:
    form, decode = ("JSON", msgspec.json.decode) if source.endswith(".json") else ("TOML", msgspec.toml.decode)
    try:
        return decode(content)
    except (msgspec.DecodeError, ValueError, RecursionError) as fault:
        raise UsageError(f"script {source} is not valid {form}: {str(fault) or 'nested too deeply'}.") from None


def _nearest_key(message: str) -> str:
    return "".join(f" Did you mean `{near}`?" for near in _near(message))


def _near(message: str) -> Iterator[str]:
    if found := _UNKNOWN_FIELD.search(message):
        yield from get_close_matches(found[1], _KEYS, n=1)
