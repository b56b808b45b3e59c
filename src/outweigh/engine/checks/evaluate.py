"""Evaluates all checks of a task over the workspace that an agent left."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from outweigh.engine.checks import untrusted_files
from outweigh.engine.checks.call_check import run_call_check
from outweigh.engine.checks.check_outcome import CheckOutcome, to_check_result
from outweigh.engine.checks.check_sandbox import CONFINE_VARIABLE, CheckSandbox, ServiceNotReadyError
from outweigh.engine.checks.command_checks import (
    run_command_check,
    run_pytest_check,
    run_reward_check,
    run_test_suite_check,
)
from outweigh.engine.checks.content_checks import (
    check_answer_contains,
    check_file_contains,
    check_file_exists,
    check_json_value,
)
from outweigh.engine.checks.planted_runner import find_planted_runner
from outweigh.engine.checks.trajectory_checks import (
    check_created_files,
    check_tool_calls,
    check_tool_order,
    check_transcript_contains,
)
from outweigh.engine.checks.unchanged_check import check_unchanged
from outweigh.engine.stages import failed_command
from outweigh.model.arm import OverlayFile
from outweigh.model.run_record import CheckResult
from outweigh.model.task import (
    AnswerContainsCheck,
    CallCheck,
    Check,
    CommandCheck,
    FileContainsCheck,
    FileExistsCheck,
    JsonValueCheck,
    PytestCheck,
    RewardCheck,
    Task,
    TestSuiteCheck,
    UnchangedCheck,
)
from outweigh.model.task_environment import TaskStage
from outweigh.model.trajectory_checks import (
    CreatedFilesCheck,
    ToolCallsCheck,
    ToolOrderCheck,
    TranscriptContainsCheck,
)
from outweigh.ports.sandboxes import SandboxError
from outweigh.transcript.tool_calls import NormalizedCall

CaseNames = Mapping[str, Sequence[str]]
"""The names of test cases by the name of the check that reported them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckEvaluation:
    """The check results, in the task's order, the checks' output, by artifact name, and the test cases that ran.

    `unmet_names` are the tests that had to pass by name and did not.
    """

    results: tuple[CheckResult, ...]
    artifacts: Mapping[str, bytes]
    case_names: CaseNames
    unmet_names: CaseNames = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSubject:
    """What is checked, besides the workspace itself.

    `untouched` is the workspace before the agent, `answer` its last message, `calls` its tool calls and `transcript`
    what it printed (None where they are unknown), and `expected_cases` are the test cases that a solved run reported.
    """

    untouched: Path
    answer: str | None
    calls: Sequence[NormalizedCall] | None = None
    transcript: bytes | None = None
    overlay: Sequence[OverlayFile] = ()
    expected_cases: CaseNames = field(default_factory=dict)


def evaluate_checks(task: Task, sandbox: CheckSandbox, subject: CheckSubject) -> CheckEvaluation:
    """Run every check. What an agent can bring about fails a check; a broken sandbox or disk raises SandboxError.

    Checks of unchanged and of created files come first, before any command leaves files behind; the others follow as
    declared.
    """
    lists = (check.must_pass_file for check in task.checks if isinstance(check, TestSuiteCheck))
    sandbox = replace(sandbox, withheld=tuple(filter(None, lists)))
    try:
        # Before any command leaves files behind.
        planted = _planted_runner(sandbox, subject)
        look = partial(_evaluate_check, sandbox=sandbox, subject=subject, planted=planted)
        early = {check.name: look(check) for check in task.checks if isinstance(check, _EARLY_CHECKS)}
        fault = _prepare(task.checking, sandbox)
        outcomes = [
            (
                check,
                early.get(check.name) or (look(check) if fault is None else CheckOutcome(passed=False, detail=fault)),
            )
            for check in task.checks
        ]
        _clean_up(task.checking, sandbox)
    except OSError as fault:
        raise SandboxError(f"the checks of {task.id!r} could not be run: {fault}") from fault
    return CheckEvaluation(
        results=tuple(to_check_result(check, outcome) for check, outcome in outcomes),
        artifacts={
            f"checks/{check.name}.{suffix}": content
            for check, outcome in outcomes
            for suffix, content in outcome.output.items()
        },
        case_names={check.name: outcome.case_names for check, outcome in outcomes if outcome.case_names},
        unmet_names={check.name: outcome.unmet_names for check, outcome in outcomes if outcome.unmet_names},
    )


_EARLY_CHECKS = (UnchangedCheck, CreatedFilesCheck)
"""They look at all files of the workspace."""


def _prepare(stage: TaskStage, sandbox: CheckSandbox) -> str | None:
    """Run the checker's setup; says what failed. What the agent left may be the cause, so it fails the checks."""
    try:
        fault = failed_command(stage.setup, sandbox.run)
    except (untrusted_files.UnsafePathError, ServiceNotReadyError) as refusal:
        fault = str(refusal)
    return None if fault is None else f"the checker's setup failed: {fault}"


def _clean_up(stage: TaskStage, sandbox: CheckSandbox) -> None:
    """Run the checker's teardown, which has no part in the results."""
    with suppress(untrusted_files.UnsafePathError, ServiceNotReadyError):
        failed_command(stage.teardown, sandbox.run)


def _planted_runner(sandbox: CheckSandbox, subject: CheckSubject) -> str | None:
    try:
        return find_planted_runner(sandbox.root, subject.untouched, {file.path for file in subject.overlay})
    except untrusted_files.UnsafePathError as refusal:
        return str(refusal)


def _evaluate_check(check: Check, *, sandbox: CheckSandbox, subject: CheckSubject, planted: str | None) -> CheckOutcome:
    try:
        match check:
            case UnchangedCheck() | CreatedFilesCheck():
                return _look_at_tree(check, sandbox.root, subject)
            case AnswerContainsCheck() | TranscriptContainsCheck() | ToolCallsCheck() | ToolOrderCheck():
                return _look_at_session(check, subject)
            case FileExistsCheck() | FileContainsCheck() | JsonValueCheck():
                return _look_at_file(check, sandbox.root)
            case CommandCheck() | TestSuiteCheck() | RewardCheck() if planted is not None:
                return CheckOutcome(passed=False, detail=planted)
            case _:
                outcome = _run_code(check, sandbox, subject.expected_cases.get(check.name, ()))
                return _say_if_not_confined(check, sandbox, outcome)
    except (untrusted_files.UnsafePathError, ServiceNotReadyError) as refusal:
        return CheckOutcome(passed=False, detail=str(refusal))


def _look_at_tree(check: UnchangedCheck | CreatedFilesCheck, root: Path, subject: CheckSubject) -> CheckOutcome:
    overlay = {file.path: file for file in subject.overlay}
    if isinstance(check, UnchangedCheck):
        return check_unchanged(check, root, subject.untouched, overlay)
    return check_created_files(check, root, subject.untouched, overlay)


def _look_at_session(
    check: AnswerContainsCheck | TranscriptContainsCheck | ToolCallsCheck | ToolOrderCheck, subject: CheckSubject
) -> CheckOutcome:
    match check:
        case AnswerContainsCheck():
            return check_answer_contains(check, subject.answer)
        case TranscriptContainsCheck():
            return check_transcript_contains(check, subject.transcript)
        case ToolCallsCheck():
            return check_tool_calls(check, subject.calls)
        case ToolOrderCheck():
            return check_tool_order(check, subject.calls)


def _say_if_not_confined(check: Check, sandbox: CheckSandbox, outcome: CheckOutcome) -> CheckOutcome:
    """A check whose command confines the code under test must not look as if that had worked where it cannot."""
    if sandbox.sandbox.confine is not None or CONFINE_VARIABLE not in str(getattr(check, "run", "")):
        return outcome
    return replace(outcome, detail=f"{outcome.detail}; {_NOT_CONFINED}" if outcome.detail else _NOT_CONFINED)


_NOT_CONFINED = "not confined: the code under test could reach the check, see `outweigh doctor`"


def _look_at_file(check: FileExistsCheck | FileContainsCheck | JsonValueCheck, root: Path) -> CheckOutcome:
    match check:
        case FileExistsCheck():
            return check_file_exists(check, root)
        case FileContainsCheck():
            return check_file_contains(check, root)
        case JsonValueCheck():
            return check_json_value(check, root)


def _run_code(
    check: CommandCheck | TestSuiteCheck | PytestCheck | CallCheck | RewardCheck,
    sandbox: CheckSandbox,
    expected: Sequence[str],
) -> CheckOutcome:
    match check:
        case CallCheck():
            return run_call_check(check, sandbox)
        case CommandCheck():
            return run_command_check(check, sandbox, expected)
        case TestSuiteCheck():
            return run_test_suite_check(check, sandbox, expected)
        case PytestCheck():
            return run_pytest_check(check, sandbox, expected)
        case RewardCheck():
            return run_reward_check(check, sandbox, expected)
