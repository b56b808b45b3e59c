"""Evaluates all checks of a task over the workspace that an agent left.

The sandbox must be a new one: no process of the agent may run in it, and its home must not be the agent's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from outweigh.engine.checks import untrusted_files
from outweigh.engine.checks.check_outcome import CheckOutcome, to_check_result
from outweigh.engine.checks.command_checks import (
    TESTS_FOLDER,
    CheckContext,
    run_command_check,
    run_reward_check,
    run_test_suite_check,
)
from outweigh.engine.checks.content_checks import (
    check_answer_contains,
    check_file_contains,
    check_file_exists,
    check_json_value,
)
from outweigh.engine.checks.unchanged_check import check_unchanged
from outweigh.model.arm import OverlayFile
from outweigh.model.run_record import CheckResult
from outweigh.model.task import (
    AnswerContainsCheck,
    Check,
    CommandCheck,
    FileContainsCheck,
    FileExistsCheck,
    JsonValueCheck,
    RewardCheck,
    Task,
    TestSuiteCheck,
    UnchangedCheck,
)
from outweigh.ports.sandboxes import Sandbox, SandboxError

CHECK_ENVIRONMENT: Mapping[str, str] = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckEvaluation:
    """The check results, in the task's order, and the checks' output, by artifact name."""

    results: tuple[CheckResult, ...]
    artifacts: Mapping[str, bytes]


def evaluate_checks(
    task: Task,
    sandbox: Sandbox,
    untouched: Path,
    *,
    answer: str | None,
    overlay: Sequence[OverlayFile] = (),
    environment: Mapping[str, str] = CHECK_ENVIRONMENT,
) -> CheckEvaluation:
    """Run every check. Files that block a check make it fail; a broken sandbox or disk raises SandboxError.

    Checks of unchanged files come first, before any command leaves files behind; the others follow as declared.
    `answer` is the agent's last message, None where it is unknown.
    """
    context = CheckContext(sandbox=sandbox, tests=_tests_path(task), environment=environment)
    look = partial(
        _evaluate_check,
        context=context,
        untouched=untouched,
        overlay={file.path: file for file in overlay},
        answer=answer,
    )
    try:
        early = {check.name: look(check) for check in task.checks if isinstance(check, UnchangedCheck)}
        outcomes = [(check, early.get(check.name) or look(check)) for check in task.checks]
        _remove_tests(context)
    except OSError as fault:
        raise SandboxError(f"the checks of {task.id!r} could not be run: {fault}") from fault
    return CheckEvaluation(
        results=tuple(to_check_result(check, outcome) for check, outcome in outcomes),
        artifacts={
            f"checks/{check.name}.{suffix}": content
            for check, outcome in outcomes
            for suffix, content in outcome.output.items()
        },
    )


def _evaluate_check(
    check: Check, *, context: CheckContext, untouched: Path, overlay: Mapping[str, OverlayFile], answer: str | None
) -> CheckOutcome:
    try:
        if isinstance(check, UnchangedCheck):
            return check_unchanged(check, context.root, untouched, overlay)
        if isinstance(check, AnswerContainsCheck):
            return check_answer_contains(check, answer)
        return _run_check(check, context)
    except untrusted_files.UnsafePathError as refusal:
        return CheckOutcome(passed=False, detail=str(refusal))


def _run_check(check: Check, context: CheckContext) -> CheckOutcome:
    match check:
        case CommandCheck():
            return run_command_check(check, context)
        case TestSuiteCheck():
            return run_test_suite_check(check, context)
        case RewardCheck():
            return run_reward_check(check, context)
        case FileExistsCheck():
            return check_file_exists(check, context.root)
        case FileContainsCheck():
            return check_file_contains(check, context.root)
        case JsonValueCheck():
            return check_json_value(check, context.root)
        case UnchangedCheck() | AnswerContainsCheck():
            raise AssertionError("evaluated without a context")


def _tests_path(task: Task) -> Path | None:
    return None if task.tests_folder is None else Path(task.tests_folder)


def _remove_tests(context: CheckContext) -> None:
    """Remove the tests from the workspace; what cannot be removed is deleted with the workspace later."""
    try:
        untrusted_files.remove_path(context.root, TESTS_FOLDER)
    except untrusted_files.UnsafePathError:
        return
