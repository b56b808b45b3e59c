"""Which mistakes in checks are refused before anything runs."""

import re
from collections import Counter
from collections.abc import Sequence

from outweigh.engine.checks import untrusted_files
from outweigh.engine.checks.unchanged_check import BadPatternError, compile_patterns, compile_whole_path
from outweigh.errors import UsageError, quote_names
from outweigh.model.task import (
    REPORTS_PREFIX,
    AnswerContainsCheck,
    CallCheck,
    Check,
    CommandCheck,
    FileContainsCheck,
    FileExistsCheck,
    JsonValueCheck,
    PytestCheck,
    RewardCheck,
    TestSuiteCheck,
    UnchangedCheck,
    UserTurn,
)
from outweigh.model.trajectory_checks import (
    CreatedFilesCheck,
    ToolCallsCheck,
    ToolOrderCheck,
    TranscriptContainsCheck,
)

_OLD_TESTS_FOLDER = ".outweigh-tests"


def refuse_impossible_checks(checks: Sequence[Check], source: str) -> None:
    """Refuse checks that could never be evaluated or never pass, whatever the agent does."""
    for name, count in Counter(check.name for check in checks).items():
        if count > 1:
            raise UsageError(
                f"{source}: {count} checks are called {name!r}; results are told apart by name, so give each its own."
            )
    for check in checks:
        fault = _check_fault(check)
        if fault is not None:
            raise UsageError(f"{source}: check {check.name!r}: {fault}.")


def refuse_impossible_turns(turns: Sequence[UserTurn], checks: Sequence[Check], source: str) -> None:
    """Refuse turns of the user whose conditions could never be looked at."""
    names = [check.name for check in checks]
    for number, turn in enumerate(turns, start=1):
        fault = _turn_fault(turn, names)
        if fault is not None:
            raise UsageError(f"{source}: turn {number}: {fault}.")


def _turn_fault(turn: UserTurn, names: Sequence[str]) -> str | None:
    for key in ("if_passed", "if_failed"):
        name = getattr(turn, key)
        if name is not None and name not in names:
            known = f"its checks are {quote_names(names)}" if names else "it has none"
            return f"{key} names the check {name!r}, which the task does not have; {known}"
    return _regex_fault(turn.if_answer) or _regex_fault(turn.unless_answer)


def _check_fault(check: Check) -> str | None:
    match check:
        case TestSuiteCheck():
            return _command_fault(check.run) or _report_fault(check)
        case PytestCheck():
            return next(filter(None, map(_path_fault, (*check.files, *_below(check.python_path)))), None)
        case CallCheck():
            return _call_fault(check)
        case CommandCheck() | RewardCheck():
            return _command_fault(check.run)
        case UnchangedCheck() | CreatedFilesCheck() | ToolCallsCheck() | ToolOrderCheck():
            return _behaviour_fault(check)
        case _:
            return _content_check_fault(check)


def _behaviour_fault(check: UnchangedCheck | CreatedFilesCheck | ToolCallsCheck | ToolOrderCheck) -> str | None:
    match check:
        case UnchangedCheck(paths=paths):
            return _pattern_fault(paths)
        case ToolOrderCheck():
            return _regex_fault(check.first.input_regex) or _regex_fault(check.then.input_regex)
        case CreatedFilesCheck():
            if (check.glob is None) == (check.regex is None):
                return "state either glob or regex"
            return _count_fault(check) or _regex_fault(check.regex) or _glob_fault(check.glob)
        case ToolCallsCheck():
            return _limits_fault(check) or _regex_fault(check.input_regex)


def _limits_fault(check: ToolCallsCheck) -> str | None:
    if check.at_most is None or check.at_most >= check.at_least:
        return None
    return (
        f"at_most is {check.at_most}, and at_least is {check.at_least}; for a tool that must not be called, write "
        "at_least = 0 and at_most = 0"
    )


def _content_check_fault(
    check: FileExistsCheck | FileContainsCheck | JsonValueCheck | AnswerContainsCheck | TranscriptContainsCheck,
) -> str | None:
    if isinstance(check, AnswerContainsCheck | TranscriptContainsCheck):
        return _content_fault(check)
    fault = _path_fault(check.path)
    return _content_fault(check) if fault is None and isinstance(check, FileContainsCheck) else fault


def _command_fault(command: str | list[str]) -> str | None:
    if not command:
        return "run is empty"
    if any(_OLD_TESTS_FOLDER in word for word in ([command] if isinstance(command, str) else command)):
        return (
            f"run names {_OLD_TESTS_FOLDER}, where tests no longer are. They are outside the workspace now: "
            'write "$OUTWEIGH_TESTS", which is /tests in bubblewrap and container'
        )
    return None


def _report_fault(check: TestSuiteCheck) -> str | None:
    if check.report is None:
        stated = "must_pass" if check.must_pass else "report_format" if check.report_format else None
        return None if stated is None else f"{stated} is about a report; name its path as report"
    fault = _path_fault(check.report.removeprefix(REPORTS_PREFIX))
    return fault or (None if check.must_pass_file is None else _path_fault(check.must_pass_file))


def _call_fault(check: CallCheck) -> str | None:
    if (check.run is None) == (check.function is None):
        return "state either run or function"
    if not check.cases:
        return "there are no cases; list them, or name a cases_file"
    if check.function is not None and any(case.stdin for case in check.cases):
        return "a function gets arguments; leave out stdin"
    if check.run is not None and any(not isinstance(word, str) for case in check.cases for word in case.arguments):
        return "the arguments of a command are strings"
    fault = None if check.run is None else _command_fault(check.run)
    return fault or next(filter(None, map(_path_fault, _below(check.python_path))), None)


def _path_fault(path: str) -> str | None:
    try:
        untrusted_files.path_parts(path)
    except untrusted_files.UnsafePathError as refusal:
        return f"{refusal}; write a path within it"
    return None


def _content_fault(check: FileContainsCheck | AnswerContainsCheck | TranscriptContainsCheck) -> str | None:
    if (check.text is None) == (check.regex is None):
        return "state either text or regex"
    return _count_fault(check) or _regex_fault(check.regex)


def _count_fault(
    check: FileContainsCheck | AnswerContainsCheck | TranscriptContainsCheck | CreatedFilesCheck,
) -> str | None:
    if check.absent and check.count is not None:
        return "state either absent or count"
    if check.count is not None and getattr(check, "text", None) == "":
        return "an empty text cannot be counted"
    return None


def _glob_fault(glob: str | None) -> str | None:
    if glob is None:
        return None
    try:
        compile_whole_path(glob)
    except BadPatternError as fault:
        return str(fault)
    return _path_fault(glob)


def _regex_fault(regex: str | None) -> str | None:
    try:
        re.compile(regex or "")
    except re.error as fault:
        return f"{regex!r} is not a regular expression: {fault}"
    return None


def _pattern_fault(patterns: Sequence[str]) -> str | None:
    try:
        compile_patterns(patterns)
    except BadPatternError as fault:
        return str(fault)
    return None


def _below(folders: Sequence[str]) -> list[str]:
    """Folders other than the workspace itself."""
    return [folder for folder in folders if folder != "."]
