"""The checks of a task over the workspace an agent left, after it has ended.

The sandbox must be a fresh one: nothing the agent started may be alive in it, and its home must not be the agent's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from outweigh.ports.sandboxes import Sandbox, SandboxError
from outweigh.record.check_result import CheckResult
from outweigh.run import confined
from outweigh.run.answer import answer_contains
from outweigh.run.command_checks import TESTS_FOLDER, Bench, run_command, run_reward, run_tests
from outweigh.run.file_checks import file_contains, file_exists, json_value
from outweigh.run.outcome import Outcome, result_of
from outweigh.run.unchanged import unchanged
from outweigh.task.arm import OverlayFile
from outweigh.task.check import (
    AnswerContainsCheck,
    Check,
    CommandCheck,
    FileContainsCheck,
    FileExistsCheck,
    JsonValueCheck,
    RewardCheck,
    TestSuiteCheck,
    UnchangedCheck,
)
from outweigh.task.task import Task

CHECK_ENVIRONMENT: Mapping[str, str] = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What the checks said, in the order of the task, and what they printed, by name."""

    results: tuple[CheckResult, ...]
    artifacts: Mapping[str, bytes]


def evaluate(
    task: Task,
    sandbox: Sandbox,
    untouched: Path,
    *,
    answer: str | None,
    overlay: Sequence[OverlayFile] = (),
    environment: Mapping[str, str] = CHECK_ENVIRONMENT,
) -> Evaluation:
    """Run every check. What the agent left in the way of one fails it; a broken sandbox or disk raises SandboxError.

    Files that must not change are looked at first, before any command leaves traces; the rest follow as declared.
    `answer` is what the agent said last, None where nobody knows.
    """
    bench = Bench(sandbox=sandbox, tests=_tests(task), environment=environment)
    look = partial(
        _look, bench=bench, untouched=untouched, overlay={file.path: file for file in overlay}, answer=answer
    )
    try:
        early = {check.name: look(check) for check in task.checks if isinstance(check, UnchangedCheck)}
        outcomes = [(check, early.get(check.name) or look(check)) for check in task.checks]
        _clear(bench)
    except OSError as fault:
        raise SandboxError(f"the checks of {task.id!r} could not be run: {fault}") from fault
    return Evaluation(
        results=tuple(result_of(check, outcome) for check, outcome in outcomes),
        artifacts={
            f"checks/{check.name}.{suffix}": content
            for check, outcome in outcomes
            for suffix, content in outcome.output.items()
        },
    )


def _look(
    check: Check, *, bench: Bench, untouched: Path, overlay: Mapping[str, OverlayFile], answer: str | None
) -> Outcome:
    try:
        if isinstance(check, UnchangedCheck):
            return unchanged(check, bench.root, untouched, overlay)
        if isinstance(check, AnswerContainsCheck):
            return answer_contains(check, answer)
        return _run(check, bench)
    except confined.RefusedError as refusal:
        return Outcome(passed=False, detail=str(refusal))


def _run(check: Check, bench: Bench) -> Outcome:
    match check:
        case CommandCheck():
            return run_command(check, bench)
        case TestSuiteCheck():
            return run_tests(check, bench)
        case RewardCheck():
            return run_reward(check, bench)
        case FileExistsCheck():
            return file_exists(check, bench.root)
        case FileContainsCheck():
            return file_contains(check, bench.root)
        case JsonValueCheck():
            return json_value(check, bench.root)
        case UnchangedCheck() | AnswerContainsCheck():
            raise AssertionError("needs no bench")


def _tests(task: Task) -> Path | None:
    return None if task.tests_folder is None else Path(task.tests_folder)


def _clear(bench: Bench) -> None:
    """Leave the workspace as the agent left it; what cannot be removed goes with the workspace."""
    try:
        confined.remove(bench.root, TESTS_FOLDER)
    except confined.RefusedError:
        return
