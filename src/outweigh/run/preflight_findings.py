"""What preflight found out about a task, as it is stored, and how serious it is."""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from outweigh.errors import name_some
from outweigh.record.check_result import CheckResult
from outweigh.record.stored import Name, Stored
from outweigh.task.check import UnchangedCheck
from outweigh.task.task import Task

Checked = tuple[CheckResult, ...]


class FindingKind(StrEnum):
    """What can be wrong with a task."""

    NO_REQUIRED_CHECK = "no_required_check"
    ONLY_JUDGED = "only_judged"
    PASSES_UNTOUCHED = "passes_untouched"
    CHECK_PASSES_UNTOUCHED = "check_passes_untouched"
    UNSTABLE = "unstable"
    NOT_EVALUATED = "not_evaluated"
    NO_SOLUTION = "no_solution"
    SOLUTION_FAILS = "solution_fails"
    SANDBOX_FAILED = "sandbox_failed"


_NOTES = frozenset(
    {
        FindingKind.ONLY_JUDGED,
        FindingKind.CHECK_PASSES_UNTOUCHED,
        FindingKind.NOT_EVALUATED,
        FindingKind.NO_SOLUTION,
    }
)


class Finding(Stored, frozen=True):
    """One thing a person should know; a blocking one means that runs of this task would show nothing."""

    kind: FindingKind
    blocking: bool
    message: str


class PreflightResult(Stored, frozen=True):
    """The evidence about one task. A try that could not take place is None; `oracle` also where there is no solution.

    `vacuous` says that the task passes with no work, so that no arm can be better at it.
    """

    task_id: Name
    task_checksum: str
    sandbox: str
    untouched: Checked | None
    noop: Checked | None
    oracle: Checked | None
    findings: tuple[Finding, ...]

    @property
    def vacuous(self) -> bool:
        """Whether there is nothing in it to fail."""
        return any(
            finding.kind in (FindingKind.NO_REQUIRED_CHECK, FindingKind.PASSES_UNTOUCHED) for finding in self.findings
        )

    @property
    def fit(self) -> bool:
        """Whether runs of this task can show anything."""
        return not any(finding.blocking for finding in self.findings)


class Preflight(Stored, frozen=True, tag_field="schema", tag="outweigh.preflight/1"):
    """What was kept of trying a whole suite."""

    suite: Name
    tasks: tuple[PreflightResult, ...]


def found(kind: FindingKind, message: str) -> Finding:
    """A finding; how serious it is depends on its kind alone."""
    return Finding(kind=kind, blocking=kind not in _NOTES, message=message)


def judge_untouched(task: Task, untouched: Checked, noop: Checked, *, judged: bool) -> Iterator[Finding]:
    """What the checks said although nobody had done anything, twice; `judged` says that the suite has judges."""
    if not any(check.required for check in task.checks):
        yield _without_check(task, judged=judged)
        return
    passing = [name for name, result in _by_name(untouched).items() if result.passed]
    if passes(untouched) or passes(noop):
        yield found(
            FindingKind.PASSES_UNTOUCHED,
            f"Every required check passes on the untouched workspace ({name_some(passing)}): there is nothing to do. "
            "Add a check that fails until the work is done.",
        )
    else:
        yield from _early_passes(task, passing)
    yield from _unstable(untouched, noop)
    yield from _not_evaluated(untouched, "on the untouched workspace")


def judge_solved(checks: Checked | None, trouble: str | None) -> Iterator[Finding]:
    """What the checks said about the task's own solution; `trouble` is how its script failed."""
    if checks is None:
        yield found(FindingKind.NO_SOLUTION, "There is no solution/solve.sh, so nobody has shown that it can be done.")
        return
    failing = [
        f"{check.name} ({check.detail or 'no detail'})" for check in checks if check.required and not check.passed
    ]
    if trouble is not None:
        yield found(FindingKind.SOLUTION_FAILS, f"The task's own solution {trouble}.")
    if failing:
        yield found(
            FindingKind.SOLUTION_FAILS,
            f"The task's own solution does not pass: {name_some(failing)}. Mend the solution, or the checks.",
        )
    optional = tuple(check for check in checks if not check.required)
    yield from _not_evaluated(optional, "after the solution")


def passes(checks: Checked) -> bool:
    """Whether every required check passed, and there was one."""
    required = [check.passed for check in checks if check.required]
    return bool(required) and all(required)


def _without_check(task: Task, *, judged: bool) -> Finding:
    if task.rubric is None:
        return found(FindingKind.NO_REQUIRED_CHECK, "No check is required, so no run can pass or fail; declare one.")
    if not judged:
        return found(
            FindingKind.NO_REQUIRED_CHECK,
            "No check is required, so no run can pass or fail, and nobody goes by its rubric; declare a check, or name "
            "[[judges]] in the suite.",
        )
    return found(
        FindingKind.ONLY_JUDGED,
        "No check is required, so no run passes or fails, and only judges tell its runs apart: the gate judge_score "
        "decides by what they say, and nothing ships by that alone.",
    )


def _early_passes(task: Task, passing: Sequence[str]) -> Iterator[Finding]:
    """Files that must not change are unchanged before anybody came; that is no news."""
    guards = {check.name for check in task.checks if isinstance(check, UnchangedCheck)}
    early = [name for name in passing if name not in guards]
    if early:
        message = f"Already passing on the untouched workspace: {name_some(early)}; these show only that nothing broke."
        yield found(FindingKind.CHECK_PASSES_UNTOUCHED, message)


def _unstable(first: Checked, second: Checked) -> Iterator[Finding]:
    again = _by_name(second)
    flaky = [name for name, result in _by_name(first).items() if _answer(result) != _answer(again[name])]
    if flaky:
        message = f"Two tries on the untouched workspace disagree about {name_some(flaky)}; make the check repeatable."
        yield found(FindingKind.UNSTABLE, message)


def _not_evaluated(checks: Checked, when: str) -> Iterator[Finding]:
    unknown = [f"{check.name} ({check.detail or 'no detail'})" for check in checks if check.passed is None]
    if unknown:
        yield found(FindingKind.NOT_EVALUATED, f"Could not be evaluated {when}: {name_some(unknown)}.")


def _answer(result: CheckResult) -> tuple[bool | None, int | None, int | None]:
    return result.passed, result.cases_passed, result.cases_total


def _by_name(checks: Checked) -> dict[str, CheckResult]:
    return {check.name: check for check in checks}
