"""Objects with two values for one key: readers of JSON take the last in silence, and of two costs neither is known."""

import json
import re
from typing import Any

import msgspec

from outweigh.transcript.json_lines import decode_json

_KEY_END = b'":'
_LOOSE_KEY_END = re.compile(rb'"\s*:')


class RepeatedKeyError(ValueError):
    """A text that says two things about one."""


def decode_once(content: bytes) -> Any:
    """The value of a JSON text, or ValueError; one that states two values of a key is a RepeatedKeyError."""
    value = decode_json(content)
    if (key := repeated_key(content, value)) is not None:
        raise RepeatedKeyError(f"{key[:60]!r} stands for two values, so it is not clear which is meant")
    return value


def repeated_key(content: bytes, value: Any) -> str | None:
    """A key that an object of a JSON text has two values for; `value` is what the text was decoded to.

    What was dropped is missing when the value is written again, so most texts are cleared by counting where keys end,
    at a fraction of what it takes to decode them. Only one with more ends of keys than it should have is gone through.
    """
    written = msgspec.json.encode(value)
    if content.count(_KEY_END) == written.count(_KEY_END) and b'" :' not in content:
        return None
    if _key_ends(content) <= _key_ends(written):
        return None
    found: list[str] = []

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        said: dict[str, Any] = {}
        found.extend(key for key, each in pairs if said.setdefault(key, each) != each)
        return said

    try:
        json.loads(content.decode("utf-8-sig", "replace"), object_pairs_hook=look, parse_constant=str)
    except (ValueError, RecursionError):
        return None
    return found[0] if found else None


def _key_ends(text: bytes) -> int:
    return sum(1 for _ in _LOOSE_KEY_END.finditer(text))
