"""Mistakes in checks that can be seen before anything runs."""

import re
from collections import Counter
from collections.abc import Sequence

from outweigh.errors import UsageError
from outweigh.run import confined
from outweigh.run.patterns import BadPatternError, compile_patterns
from outweigh.task.check import (
    AnswerContainsCheck,
    Check,
    FileContainsCheck,
    RewardCheck,
    TestSuiteCheck,
    UnchangedCheck,
)


def refuse_impossible_checks(checks: Sequence[Check], source: str) -> None:
    """Refuse what could never be evaluated, or never pass, whatever an agent does."""
    for name, count in Counter(check.name for check in checks).items():
        if count > 1:
            raise UsageError(
                f"{source}: {count} checks are called {name!r}; results are told apart by name, so give each its own."
            )
    for check in checks:
        fault = _fault(check)
        if fault is not None:
            raise UsageError(f"{source}: check {check.name!r}: {fault}.")


def _fault(check: Check) -> str | None:
    match check:
        case UnchangedCheck(paths=paths):
            return _pattern_fault(paths)
        case TestSuiteCheck(run=run, report=report):
            return _command_fault(run) or (_path_fault(report) if report is not None else None)
        case FileContainsCheck():
            return _path_fault(check.path) or _content_fault(check)
        case AnswerContainsCheck():
            return _content_fault(check)
        case RewardCheck(run=run):
            return _command_fault(run)
        case _:
            return _command_fault(check.run) if hasattr(check, "run") else _path_fault(check.path)


def _command_fault(command: str | list[str]) -> str | None:
    return None if command else "run is empty"


def _path_fault(path: str) -> str | None:
    try:
        confined.inside(path)
    except confined.RefusedError as refusal:
        return f"{refusal}; write a path within it"
    return None


def _content_fault(check: FileContainsCheck | AnswerContainsCheck) -> str | None:
    if (check.text is None) == (check.regex is None):
        return "state either text or regex"
    try:
        re.compile(check.regex or "")
    except re.error as fault:
        return f"{check.regex!r} is not a regular expression: {fault}"
    return None


def _pattern_fault(patterns: Sequence[str]) -> str | None:
    try:
        compile_patterns(patterns)
    except BadPatternError as fault:
        return str(fault)
    return None
