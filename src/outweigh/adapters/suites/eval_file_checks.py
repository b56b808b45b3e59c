"""Checks of files that an assertion of an eval plainly states; None where what they need is not said."""

import re
from glob import has_magic
from math import isfinite
from typing import Any

from outweigh.adapters.suites.eval_fields import (
    VALUES,
    Table,
    first_text,
    stated_path,
    stated_pattern,
    stated_regex,
)
from outweigh.task.check import Check, CommandCheck, FileContainsCheck, FileExistsCheck, JsonValueCheck

_DEEPEST = 20
_LACKS = 'test -f "$2" && ! grep -q -F -e "$1" -- "$2"'


def file_exists(raw: Table, name: str) -> Check | None:
    """A file, or any that a pattern fits."""
    path = stated_pattern(raw)
    if path is None:
        return None
    if has_magic(path):
        return CommandCheck(name=name, run=["sh", "-c", 'find . -path "./$1" | grep -q .', "sh", path])
    return FileExistsCheck(name=name, path=path)


def file_absent(raw: Table, name: str) -> Check | None:
    """Nothing by that name."""
    path = stated_path(raw)
    return None if path is None else CommandCheck(name=name, run=["test", "!", "-e", path])


def file_contains(raw: Table, name: str) -> Check | None:
    """A text, or a match where a pattern is stated."""
    path, text, regex = stated_path(raw), first_text(raw, VALUES), stated_regex(raw, ("pattern", "regex"))
    if path is None or (regex is None and text is None):
        return None
    return FileContainsCheck(name=name, path=path, regex=regex, text=text if regex is None else None)


def file_matches(raw: Table, name: str) -> Check | None:
    """A match of a regular expression."""
    path, regex = stated_path(raw), stated_regex(raw)
    return None if path is None or regex is None else FileContainsCheck(name=name, path=path, regex=regex)


def file_lacks(raw: Table, name: str) -> Check | None:
    """A file that is there, without a text in any of its lines."""
    path, text = stated_path(raw), first_text(raw, VALUES)
    if path is None or text is None or "\n" in text:
        return None
    return CommandCheck(name=name, run=["sh", "-c", _LACKS, "sh", text, path])


def json_value(raw: Table, name: str) -> Check | None:
    """A value at a plain path of names and numbers."""
    path, at = stated_path(raw), first_text(raw, ("at", "key", "key_path", "selector", "json_path", "pointer"))
    stated = [raw[key] for key in ("equals", "expected", "value") if key in raw]
    if path is None or at is None or not stated or not _fits_toml(stated[0]):
        return None
    dotted = re.sub(r"\[(\d+)\]", r".\1", at.removeprefix("$").lstrip("./")).replace("/", ".")
    plain = re.fullmatch(r"[\w-]+(\.[\w-]+)*", dotted) is not None
    return JsonValueCheck(name=name, path=path, at=dotted, equals=stated[0]) if plain else None


def _fits_toml(value: Any, depth: int = _DEEPEST) -> bool:
    """TOML has no null, and nobody expects a value that is nested without end."""
    match value:
        case None:
            return False
        case float():
            return isfinite(value)
        case list():
            return depth > 0 and all(_fits_toml(item, depth - 1) for item in value)
        case dict():
            return depth > 0 and all(_fits_toml(item, depth - 1) for item in value.values())
    return True
