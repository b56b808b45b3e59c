"""What preflight found about a task, as it is stored, and how serious it is.

Pure, so that the store and the viewer can read it without the engine.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from outweigh.errors import quote_names
from outweigh.model.base import Name, Stored
from outweigh.model.run_record import CheckResult
from outweigh.model.task import Check, PytestCheck, Task, TestSuiteCheck, UnchangedCheck

CheckResults = tuple[CheckResult, ...]


class FindingKind(StrEnum):
    """What can be wrong with a task."""

    NO_REQUIRED_CHECK = "no_required_check"
    ONLY_JUDGED = "only_judged"
    PASSES_UNTOUCHED = "passes_untouched"
    CHECK_PASSES_UNTOUCHED = "check_passes_untouched"
    UNSTABLE = "unstable"
    NOT_EVALUATED = "not_evaluated"
    NO_SOLUTION = "no_solution"
    NAMES_UNKNOWN = "names_unknown"
    SOLUTION_FAILS = "solution_fails"
    SANDBOX_FAILED = "sandbox_failed"


_NON_BLOCKING = frozenset(
    {
        FindingKind.ONLY_JUDGED,
        FindingKind.CHECK_PASSES_UNTOUCHED,
        FindingKind.NOT_EVALUATED,
        FindingKind.NO_SOLUTION,
        FindingKind.NAMES_UNKNOWN,
    }
)


class PreflightFinding(Stored, frozen=True):
    """One thing a person should know; a blocking one means that runs of this task would show nothing."""

    kind: FindingKind
    blocking: bool
    message: str


class PreflightResult(Stored, frozen=True):
    """The evidence about one task. A try that could not take place is None; `oracle` also where there is no solution.

    `vacuous` says that the task passes with no work, so that no arm can be better at it. `case_names` are the test
    cases, by check, that the solved try reported and that every run must report too.
    """

    task_id: Name
    task_checksum: str
    sandbox: str
    untouched: CheckResults | None
    noop: CheckResults | None
    oracle: CheckResults | None
    case_names: dict[str, tuple[str, ...]]
    findings: tuple[PreflightFinding, ...]

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


class Preflight(Stored, frozen=True, tag_field="schema", tag="outweigh.preflight/2"):
    """What was kept of trying a whole suite."""

    suite: Name
    tasks: tuple[PreflightResult, ...]


def make_finding(kind: FindingKind, message: str) -> PreflightFinding:
    """A finding; whether it is blocking depends on its kind alone."""
    return PreflightFinding(kind=kind, blocking=kind not in _NON_BLOCKING, message=message)


def findings_before_work(
    task: Task, untouched: CheckResults, noop: CheckResults, *, judged: bool
) -> Iterator[PreflightFinding]:
    """Findings from two runs of the checks before any work; `judged` is whether the suite has judges."""
    if not any(check.required for check in task.checks):
        yield _without_check(task, judged=judged)
        return
    passing = [name for name, result in _by_name(untouched).items() if result.passed]
    if all_required_pass(untouched) or all_required_pass(noop):
        yield make_finding(
            FindingKind.PASSES_UNTOUCHED,
            f"Every required check passes on the untouched workspace ({quote_names(passing)}): there is nothing to do. "
            "Add a check that fails until the work is done.",
        )
    else:
        yield from _early_passes(task, passing)
    yield from _unstable(untouched, noop)
    yield from _not_evaluated(untouched, "on the untouched workspace")


def findings_after_solution(checks: CheckResults | None, trouble: str | None) -> Iterator[PreflightFinding]:
    """Findings from the checks after the task's own solution; `trouble` is how its script failed."""
    if checks is None:
        yield make_finding(
            FindingKind.NO_SOLUTION, "There is no solution/solve.sh, so it is not shown that the task can be done."
        )
        return
    failing = [
        f"{check.name} ({check.detail or 'no detail'})" for check in checks if check.required and not check.passed
    ]
    if trouble is not None:
        yield make_finding(FindingKind.SOLUTION_FAILS, f"The task's own solution {trouble}.")
    if failing:
        yield make_finding(
            FindingKind.SOLUTION_FAILS,
            f"The task's own solution does not pass: {quote_names(failing)}. Fix the solution or the checks.",
        )
    optional = tuple(check for check in checks if not check.required)
    yield from _not_evaluated(optional, "after the solution")


def findings_about_names(task: Task, names: Mapping[str, Sequence[str]]) -> Iterator[PreflightFinding]:
    """The checks with a test report of which nobody knows what must be in it."""
    unknown = [check.name for check in task.checks if _takes_all_that_is_reported(check) and check.name not in names]
    if unknown:
        yield make_finding(
            FindingKind.NAMES_UNKNOWN,
            f"Names unknown: no solved run showed which tests must be in the report of {quote_names(unknown)}, so a "
            "run whose tests did not all take place could pass. Add a solution/solve.sh that passes.",
        )


def _takes_all_that_is_reported(check: Check) -> bool:
    """Whether a check looks at a report without a list of what must be in it."""
    if isinstance(check, TestSuiteCheck):
        return check.report is not None and not check.must_pass
    return isinstance(check, PytestCheck)


def all_required_pass(checks: CheckResults) -> bool:
    """Whether every required check passed, and there was one."""
    required = [check.passed for check in checks if check.required]
    return bool(required) and all(required)


def _without_check(task: Task, *, judged: bool) -> PreflightFinding:
    if task.rubric is None:
        return make_finding(
            FindingKind.NO_REQUIRED_CHECK, "No check is required, so no run can pass or fail; declare one."
        )
    if not judged:
        return make_finding(
            FindingKind.NO_REQUIRED_CHECK,
            "No check is required, so no run can pass or fail, and no judge uses its rubric; declare a check, or name "
            "[[judges]] in the suite.",
        )
    return make_finding(
        FindingKind.ONLY_JUDGED,
        "No check is required, so no run passes or fails, and only judges tell its runs apart: the gate judge_score "
        "decides by what they say, and nothing ships by that alone.",
    )


def _early_passes(task: Task, passing: Sequence[str]) -> Iterator[PreflightFinding]:
    """Checks that already pass, except those for unchanged files, which always pass before any work."""
    guards = {check.name for check in task.checks if isinstance(check, UnchangedCheck)}
    early = [name for name in passing if name not in guards]
    if early:
        message = (
            f"Already passing on the untouched workspace: {quote_names(early)}; these show only that nothing broke."
        )
        yield make_finding(FindingKind.CHECK_PASSES_UNTOUCHED, message)


def _unstable(first: CheckResults, second: CheckResults) -> Iterator[PreflightFinding]:
    again = _by_name(second)
    flaky = [name for name, result in _by_name(first).items() if _comparable(result) != _comparable(again[name])]
    if flaky:
        message = (
            f"Two tries on the untouched workspace disagree about {quote_names(flaky)}; make the check repeatable."
        )
        yield make_finding(FindingKind.UNSTABLE, message)


def _not_evaluated(checks: CheckResults, when: str) -> Iterator[PreflightFinding]:
    unknown = [f"{check.name} ({check.detail or 'no detail'})" for check in checks if check.passed is None]
    if unknown:
        yield make_finding(FindingKind.NOT_EVALUATED, f"Could not be evaluated {when}: {quote_names(unknown)}.")


def _comparable(result: CheckResult) -> tuple[bool | None, int | None, int | None]:
    return result.passed, result.cases_passed, result.cases_total


def _by_name(checks: CheckResults) -> dict[str, CheckResult]:
    return {check.name: check for check in checks}
