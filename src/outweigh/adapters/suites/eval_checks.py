"""Checks that an assertion of an eval plainly states."""

import re
from collections.abc import Callable, Mapping
from glob import has_magic
from math import isfinite
from pathlib import PurePosixPath
from typing import Any

from outweigh.adapters.suites.naming import folder_name
from outweigh.task.check import Check, CommandCheck, FileContainsCheck, FileExistsCheck, JsonValueCheck

Table = Mapping[str, Any]

TEXTS = ("text", "description", "assertion", "expectation", "criterion", "statement", "check", "pass_if", "question")
VALUES = ("value", "text", "contains", "substring", "expected", "needle")
PATTERNS = ("pattern", "regex", "value")
_PATHS = ("path", "file", "target", "filename", "file_path")
_COMMANDS = ("run", "command", "cmd", "script")
_EXIT_CODES = ("expect_exit", "exit_code", "expected_exit", "expected_exit_code")
_PLACEHOLDER = re.compile(r"\{\w+\}|evals/")
_LACKS = 'test -f "$2" && ! grep -q -F -e "$1" -- "$2"'


def stated_check(raw: Table, kind: str) -> Check | None:
    """The check; None where the type is none for a machine, or what it needs is not said."""
    build = _CHECKS.get(kind)
    return None if build is None else build(raw, _check_name(raw, kind))


def first_text(raw: Table, keys: tuple[str, ...]) -> str | None:
    """The first of these keys that has words."""
    found = next((raw[key] for key in keys if isinstance(raw.get(key), str) and raw[key].strip()), None)
    return None if found is None else found.replace("\0", "")


def _check_name(raw: Table, kind: str) -> str:
    return folder_name(first_text(raw, ("name", "id")) or f"{kind}-{_path(raw) or ''}", kind)


def _file_exists(raw: Table, name: str) -> Check | None:
    path = _path(raw)
    if path is None:
        return None
    if has_magic(path):
        return CommandCheck(name=name, run=["sh", "-c", 'find . -path "./$1" | grep -q .', "sh", path])
    return FileExistsCheck(name=name, path=path)


def _file_absent(raw: Table, name: str) -> Check | None:
    path = _path(raw)
    return None if path is None or has_magic(path) else CommandCheck(name=name, run=["test", "!", "-e", path])


def _file_contains(raw: Table, name: str) -> Check | None:
    path, text, regex = _path(raw), first_text(raw, VALUES), _regex(raw, ("pattern", "regex"))
    if path is None or has_magic(path):
        return None
    if regex is not None:
        return FileContainsCheck(name=name, path=path, regex=regex)
    return None if text is None else FileContainsCheck(name=name, path=path, text=text)


def _file_matches(raw: Table, name: str) -> Check | None:
    path, regex = _path(raw), _regex(raw, PATTERNS)
    return (
        None
        if path is None or regex is None or has_magic(path)
        else FileContainsCheck(name=name, path=path, regex=regex)
    )


def _file_lacks(raw: Table, name: str) -> Check | None:
    path, text = _path(raw), first_text(raw, VALUES)
    if path is None or text is None or has_magic(path) or "\n" in text:
        return None
    return CommandCheck(name=name, run=["sh", "-c", _LACKS, "sh", text, path])


def _command(raw: Table, name: str) -> Check | None:
    """A command that needs files of the evals, or is to be filled in first, is none that could be run here."""
    command: Any = next((raw[key] for key in _COMMANDS if raw.get(key)), "")
    words = command if isinstance(command, list) else [command]
    exit_code = next((raw[key] for key in _EXIT_CODES if key in raw), 0)
    if not all(isinstance(word, str) and "\0" not in word and not _PLACEHOLDER.search(word) for word in words):
        return None
    if not words[0].strip():
        return None
    if not isinstance(exit_code, int) or isinstance(exit_code, bool) or not 0 <= exit_code <= 255 or _says_more(raw):
        return None
    return CommandCheck(name=name, run=command, exit_code=exit_code)


def _says_more(raw: Table) -> bool:
    """What it must print, or where it must run, is nothing that a command check looks at."""
    known = {*TEXTS, *_COMMANDS, *_EXIT_CODES, "type", "name", "id"}
    return any(key not in known for key in raw)


def _json_value(raw: Table, name: str) -> Check | None:
    path, at = _path(raw), first_text(raw, ("at", "key", "key_path", "selector", "json_path", "pointer"))
    stated = [raw[key] for key in ("equals", "expected", "value") if key in raw]
    if path is None or has_magic(path) or at is None or not stated or not _fits_toml(stated[0]):
        return None
    dotted = re.sub(r"\[(\d+)\]", r".\1", at.removeprefix("$").lstrip("./")).replace("/", ".")
    plain = re.fullmatch(r"[\w-]+(\.[\w-]+)*", dotted) is not None
    return JsonValueCheck(name=name, path=path, at=dotted, equals=stated[0]) if plain else None


_CHECKS: Mapping[str, Callable[[Table, str], Check | None]] = {
    "file_exists": _file_exists,
    "exists": _file_exists,
    "file_created": _file_exists,
    "file_absent": _file_absent,
    "file_not_exists": _file_absent,
    "not_exists": _file_absent,
    "file_contains": _file_contains,
    "contains": _file_contains,
    "file_matches": _file_matches,
    "file_regex": _file_matches,
    "regex": _file_matches,
    "matches": _file_matches,
    "file_not_contains": _file_lacks,
    "not_contains": _file_lacks,
    "command": _command,
    "command_succeeds": _command,
    "shell": _command,
    "exit_code": _command,
    "json": _json_value,
    "json_value": _json_value,
    "json_path": _json_value,
    "json_equals": _json_value,
}


def _path(raw: Table) -> str | None:
    """A place within the workspace."""
    path = first_text(raw, _PATHS)
    if path is None:
        return None
    pure = PurePosixPath(path.replace("\\", "/"))
    leads_out = pure.is_absolute() or ".." in pure.parts or "~" in path or not pure.parts
    return None if leads_out or "\0" in path or len(path) > 500 else str(pure)


def _regex(raw: Table, keys: tuple[str, ...]) -> str | None:
    pattern = first_text(raw, keys)
    try:
        re.compile(pattern or "")
    except (re.error, RecursionError, OverflowError):
        return None
    return pattern


def _fits_toml(value: Any) -> bool:
    match value:
        case None:
            return False
        case float():
            return isfinite(value)
        case list():
            return all(map(_fits_toml, value))
        case dict():
            return all(map(_fits_toml, value.values()))
    return True
