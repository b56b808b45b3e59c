"""The check that an assertion of an eval plainly states, by its type."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from outweigh.adapters.suites.eval_fields import (
    PATTERNS,
    TEXTS,
    VALUES,
    Table,
    first_text,
    names_a_file,
    stated_pattern,
    stated_regex,
)
from outweigh.adapters.suites.eval_file_checks import (
    file_absent,
    file_contains,
    file_exists,
    file_lacks,
    file_matches,
    json_value,
)
from outweigh.adapters.suites.naming import folder_name
from outweigh.task.check import AnswerContainsCheck, Check, CommandCheck

_COMMANDS = ("run", "command", "cmd", "script")
_EXIT_CODES = ("expect_exit", "exit_code", "expected_exit", "expected_exit_code")
_SAID_OF_A_COMMAND = frozenset((*TEXTS, *_COMMANDS, *_EXIT_CODES, "type", "name", "id"))
_PLACEHOLDER = re.compile(r"\{\w+\}|evals/")


def stated_check(raw: Table, kind: str) -> Check | None:
    """The check; None where the type is none for a machine, or what it needs is not said."""
    build = _CHECKS.get(kind)
    return None if build is None else build(raw, _check_name(raw, kind))


def _check_name(raw: Table, kind: str) -> str:
    about = stated_pattern(raw) or first_text(raw, (*VALUES, *PATTERNS)) or ""
    return folder_name(first_text(raw, ("name", "id")) or f"{kind}-{about}", kind)


def _contains(raw: Table, name: str) -> Check | None:
    """Of a file where one is named; else of what the agent says. So are the next three."""
    return file_contains(raw, name) if names_a_file(raw) else _answer_contains(raw, name)


def _lacks(raw: Table, name: str) -> Check | None:
    return file_lacks(raw, name) if names_a_file(raw) else _answer_lacks(raw, name)


def _matches(raw: Table, name: str) -> Check | None:
    return file_matches(raw, name) if names_a_file(raw) else _answer_matches(raw, name)


def _does_not_match(raw: Table, name: str) -> Check | None:
    return None if names_a_file(raw) else _answer_matches(raw, name, absent=True)


def _answer_contains(raw: Table, name: str, *, absent: bool = False) -> Check | None:
    text = first_text(raw, VALUES)
    return None if text is None else AnswerContainsCheck(name=name, text=text, absent=absent)


def _answer_lacks(raw: Table, name: str) -> Check | None:
    return _answer_contains(raw, name, absent=True)


def _answer_matches(raw: Table, name: str, *, absent: bool = False) -> Check | None:
    regex = stated_regex(raw)
    return None if regex is None else AnswerContainsCheck(name=name, regex=regex, absent=absent)


def _command(raw: Table, name: str) -> Check | None:
    """A command that needs files of the evals, is to be filled in first, or must print something, is none for here."""
    command: Any = next((raw[key] for key in _COMMANDS if raw.get(key)), "")
    words = command if isinstance(command, list) else [command]
    if not all(isinstance(word, str) and "\0" not in word and not _PLACEHOLDER.search(word) for word in words):
        return None
    exit_code = next((raw[key] for key in _EXIT_CODES if key in raw), 0)
    is_code = isinstance(exit_code, int) and not isinstance(exit_code, bool) and 0 <= exit_code <= 255
    if not words[0].strip() or not is_code or not raw.keys() <= _SAID_OF_A_COMMAND:
        return None
    return CommandCheck(name=name, run=command, exit_code=exit_code)


_CHECKS: Mapping[str, Callable[[Table, str], Check | None]] = {
    "file_exists": file_exists,
    "exists": file_exists,
    "file_created": file_exists,
    "file_absent": file_absent,
    "file_not_exists": file_absent,
    "not_exists": file_absent,
    "file_contains": file_contains,
    "file_not_contains": file_lacks,
    "file_matches": file_matches,
    "file_regex": file_matches,
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
    "json": json_value,
    "json_value": json_value,
    "json_path": json_value,
    "json_equals": json_value,
}
