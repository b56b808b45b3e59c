"""Checks that look at one file the agent left: is it there, what does it say."""

from pathlib import Path
from typing import Any

import msgspec

from outweigh.run import confined
from outweigh.run.bounded_search import UnfinishedSearchError, search
from outweigh.run.outcome import Outcome
from outweigh.task.check import FileContainsCheck, FileExistsCheck, JsonValueCheck

SEARCHED_BYTES = 1024 * 1024
JSON_LIMIT = 16 * 1024 * 1024


def file_exists(check: FileExistsCheck, root: Path) -> Outcome:
    """Passed when there is a plain file."""
    return Outcome(passed=True) if confined.read(root, check.path, 0) is not None else _absent(check.path)


def file_contains(check: FileContainsCheck, root: Path) -> Outcome:
    """Passed when the text, or a match, is in the file's first mebibyte; further nobody looks."""
    content = confined.read(root, check.path, SEARCHED_BYTES)
    if content is None:
        return _absent(check.path)
    try:
        found = (check.text is None or check.text.encode() in content) and (
            check.regex is None or search(check.regex, content)
        )
    except UnfinishedSearchError as fault:
        return Outcome(passed=None, detail=f"{check.path!r}: {fault}")
    return Outcome(passed=found, detail=None if found else _not_found(check, content))


def json_value(check: JsonValueCheck, root: Path) -> Outcome:
    """Passed when the value at the dotted path is the expected one; 1 and 1.0 are equal, 1 and true are not."""
    content = confined.read(root, check.path, JSON_LIMIT + 1)
    if content is None:
        return _absent(check.path)
    if len(content) > JSON_LIMIT:
        return Outcome(passed=False, detail=f"{check.path!r} is larger than {JSON_LIMIT} bytes")
    try:
        value = _at(msgspec.json.decode(content), check.at)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return Outcome(passed=False, detail=f"{check.path!r} is not JSON: {fault}")
    except LookupError as fault:
        return Outcome(passed=False, detail=f"{check.path!r}: {fault.args[0]}")
    expected = msgspec.to_builtins(check.equals)
    if _equal(value, expected):
        return Outcome(passed=True)
    return Outcome(passed=False, detail=f"{check.path!r}: {check.at} is {_short(value)}, expected {_short(expected)}")


def _absent(path: str) -> Outcome:
    return Outcome(passed=False, detail=f"there is no file {path!r}")


def _not_found(check: FileContainsCheck, content: bytes) -> str:
    place = f"the first {SEARCHED_BYTES} bytes of " if len(content) == SEARCHED_BYTES else ""
    wanted = f"the text {check.text!r}" if check.regex is None else f"a match of {check.regex!r}"
    return f"{place}{check.path!r} does not contain {wanted}"


def _at(value: Any, path: str) -> Any:
    for part in path.split(".") if path else ():
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            raise LookupError(f"there is no {part!r} on the way to {path}")
    return value


def _equal(found: Any, expected: Any) -> bool:
    if isinstance(found, bool) or isinstance(expected, bool):
        return found is expected
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() == expected.keys() and all(_equal(found[key], expected[key]) for key in found)
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(_equal, found, expected))
    return bool(found == expected)


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 100 else f"{text[:100]}…"
