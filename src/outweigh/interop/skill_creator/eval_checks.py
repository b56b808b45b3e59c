"""The check that an assertion of an eval states, by its type and the keys that people use for it.

None if the type cannot be checked by a program, or something that it needs is missing: then a judge is asked.
"""

import re
from collections.abc import Callable, Mapping
from glob import has_magic
from math import isfinite
from pathlib import PurePosixPath
from typing import Any

from outweigh.interop.suite_drafting import slug
from outweigh.model.task import (
    AnswerContainsCheck,
    Check,
    CommandCheck,
    FileContainsCheck,
    FileExistsCheck,
    JsonValueCheck,
)

EvalTable = Mapping[str, Any]

TEXT_KEYS = (
    "text",
    "description",
    "assertion",
    "expectation",
    "criterion",
    "statement",
    "check",
    "pass_if",
    "question",
)
JUDGE_KEYS = ("prompt", "criteria", "rubric", "value")
VALUE_KEYS = ("value", "text", "contains", "substring", "expected", "needle")
PATTERN_KEYS = ("pattern", "regex", "value")
_PATH_KEYS = ("path", "file", "target", "filename", "file_path")


def first_text(raw: EvalTable, keys: tuple[str, ...]) -> str | None:
    """The first of these keys that has a text."""
    found = next((raw[key] for key in keys if isinstance(raw.get(key), str) and raw[key].strip()), None)
    return None if found is None else found.replace("\0", "")


def shorten(value: Any) -> str:
    """The beginning of a value, for a message."""
    try:
        return str(value)[:100]
    except RecursionError:
        return "something that is nested without end"


def names_a_file(raw: EvalTable) -> bool:
    """Whether an assertion names a file at all."""
    return any(key in raw for key in _PATH_KEYS)


def read_path_pattern(raw: EvalTable) -> str | None:
    """A path within the workspace, which may contain wildcards."""
    path = first_text(raw, _PATH_KEYS)
    if path is None:
        return None
    pure = PurePosixPath(path.replace("\\", "/"))
    leads_out = pure.is_absolute() or ".." in pure.parts or "~" in path or not pure.parts
    return None if leads_out or len(path) > 500 else str(pure)


def read_path(raw: EvalTable) -> str | None:
    """A path within the workspace without wildcards."""
    path = read_path_pattern(raw)
    return None if path is None or has_magic(path) else path


def read_regex(raw: EvalTable, keys: tuple[str, ...] = PATTERN_KEYS) -> str | None:
    """A valid regular expression."""
    pattern = first_text(raw, keys)
    try:
        re.compile(pattern or "")
    except (re.error, RecursionError, OverflowError):
        return None
    return pattern


_DEEPEST_VALUE = 20
_LACKS_SCRIPT = 'test -f "$2" && ! grep -q -F -e "$1" -- "$2"'


def file_exists_check(raw: EvalTable, name: str) -> Check | None:
    """A file exists, or any that matches a pattern."""
    path = read_path_pattern(raw)
    if path is None:
        return None
    if has_magic(path):
        return CommandCheck(name=name, run=["sh", "-c", 'find . -path "./$1" | grep -q .', "sh", path])
    return FileExistsCheck(name=name, path=path)


def file_absent_check(raw: EvalTable, name: str) -> Check | None:
    """No such file exists."""
    path = read_path(raw)
    return None if path is None else CommandCheck(name=name, run=["test", "!", "-e", path])


def file_contains_check(raw: EvalTable, name: str) -> Check | None:
    """A file contains a text, or matches a pattern if one is stated."""
    path, text, regex = read_path(raw), first_text(raw, VALUE_KEYS), read_regex(raw, ("pattern", "regex"))
    if path is None or (regex is None and text is None):
        return None
    return FileContainsCheck(name=name, path=path, regex=regex, text=text if regex is None else None)


def file_matches_check(raw: EvalTable, name: str) -> Check | None:
    """A file matches a regular expression."""
    path, regex = read_path(raw), read_regex(raw)
    return None if path is None or regex is None else FileContainsCheck(name=name, path=path, regex=regex)


def file_lacks_check(raw: EvalTable, name: str) -> Check | None:
    """A file exists and contains a text in none of its lines."""
    path, text = read_path(raw), first_text(raw, VALUE_KEYS)
    if path is None or text is None or "\n" in text:
        return None
    return CommandCheck(name=name, run=["sh", "-c", _LACKS_SCRIPT, "sh", text, path])


def json_value_check(raw: EvalTable, name: str) -> Check | None:
    """A JSON file has a value at a plain path of names and numbers."""
    path, at = read_path(raw), first_text(raw, ("at", "key", "key_path", "selector", "json_path", "pointer"))
    stated = [raw[key] for key in ("equals", "expected", "value") if key in raw]
    if path is None or at is None or not stated or not _fits_toml(stated[0]):
        return None
    dotted = re.sub(r"\[(\d+)\]", r".\1", at.removeprefix("$").lstrip("./")).replace("/", ".")
    plain = re.fullmatch(r"[\w-]+(\.[\w-]+)*", dotted) is not None
    return JsonValueCheck(name=name, path=path, at=dotted, equals=stated[0]) if plain else None


def _fits_toml(value: Any, depth: int = _DEEPEST_VALUE) -> bool:
    """Whether a value can be written as TOML, which has no null and here no endless nesting."""
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


_COMMAND_KEYS = ("run", "command", "cmd", "script")
_EXIT_CODE_KEYS = ("expect_exit", "exit_code", "expected_exit", "expected_exit_code")
_COMMAND_CHECK_KEYS = frozenset((*TEXT_KEYS, *_COMMAND_KEYS, *_EXIT_CODE_KEYS, "type", "name", "id"))
_PLACEHOLDER = re.compile(r"\{\w+\}|evals/")


def read_eval_check(raw: EvalTable, kind: str) -> Check | None:
    """The check; None if its type cannot be checked by a program, or something that it needs is missing."""
    build = _CHECKS.get(kind)
    return None if build is None else build(raw, _check_name(raw, kind))


def _check_name(raw: EvalTable, kind: str) -> str:
    about = read_path_pattern(raw) or first_text(raw, (*VALUE_KEYS, *PATTERN_KEYS)) or ""
    return slug(first_text(raw, ("name", "id")) or f"{kind}-{about}", kind)


def _contains(raw: EvalTable, name: str) -> Check | None:
    """About a file if one is named, else about the agent's answer; so are the next three."""
    return file_contains_check(raw, name) if names_a_file(raw) else _answer_contains(raw, name)


def _lacks(raw: EvalTable, name: str) -> Check | None:
    return file_lacks_check(raw, name) if names_a_file(raw) else _answer_lacks(raw, name)


def _matches(raw: EvalTable, name: str) -> Check | None:
    return file_matches_check(raw, name) if names_a_file(raw) else _answer_matches(raw, name)


def _does_not_match(raw: EvalTable, name: str) -> Check | None:
    return None if names_a_file(raw) else _answer_matches(raw, name, absent=True)


def _answer_contains(raw: EvalTable, name: str, *, absent: bool = False) -> Check | None:
    text = first_text(raw, VALUE_KEYS)
    return None if text is None else AnswerContainsCheck(name=name, text=text, absent=absent)


def _answer_lacks(raw: EvalTable, name: str) -> Check | None:
    return _answer_contains(raw, name, absent=True)


def _answer_matches(raw: EvalTable, name: str, *, absent: bool = False) -> Check | None:
    regex = read_regex(raw)
    return None if regex is None else AnswerContainsCheck(name=name, regex=regex, absent=absent)


def _command(raw: EvalTable, name: str) -> Check | None:
    """A command with its exit code; None if it has placeholders, or if more than its exit code is to be checked."""
    command: Any = next((raw[key] for key in _COMMAND_KEYS if raw.get(key)), "")
    words = command if isinstance(command, list) else [command]
    if not all(isinstance(word, str) and "\0" not in word and not _PLACEHOLDER.search(word) for word in words):
        return None
    exit_code = next((raw[key] for key in _EXIT_CODE_KEYS if key in raw), 0)
    is_code = isinstance(exit_code, int) and not isinstance(exit_code, bool) and 0 <= exit_code <= 255
    if not words[0].strip() or not is_code or not raw.keys() <= _COMMAND_CHECK_KEYS:
        return None
    return CommandCheck(name=name, run=command, exit_code=exit_code)


_CHECKS: Mapping[str, Callable[[EvalTable, str], Check | None]] = {
    "file_exists": file_exists_check,
    "exists": file_exists_check,
    "file_created": file_exists_check,
    "file_absent": file_absent_check,
    "file_not_exists": file_absent_check,
    "not_exists": file_absent_check,
    "file_contains": file_contains_check,
    "file_not_contains": file_lacks_check,
    "file_matches": file_matches_check,
    "file_regex": file_matches_check,
    "contains": _contains,
    "not_contains": _lacks,
    "regex": _matches,
    "matches": _matches,
    "not_regex": _does_not_match,
    "output_contains": _answer_contains,
    "output_not_contains": _answer_lacks,
    "output_matches": _answer_matches,
    "command": _command,
    "command_succeeds": _command,
    "shell": _command,
    "exit_code": _command,
    "json": json_value_check,
    "json_value": json_value_check,
    "json_path": json_value_check,
    "json_equals": json_value_check,
}
