"""What the checks say about one run."""

from dataclasses import dataclass

from outweigh.record.check_result import CheckResult
from outweigh.record.run_record import RunRecord
from outweigh.record.status import EXCLUDED, Status
from outweigh.stats.quantity import Quantity, known, unknown

NOT_EVALUATED = unknown("the checks were not evaluated")


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """The checks of one run: how many passed, their share, and whether there were any to fail."""

    share: Quantity
    passed: Quantity
    vacuous: bool


def passed(run: RunRecord) -> Quantity:
    """1 when the run completed and every required check passed, 0 when not, unknown when nobody can tell."""
    if run.status in EXCLUDED:
        return unknown(f"{run.status.value} says nothing about the agent")
    if run.checks is not None and not any(check.required for check in run.checks):
        return unknown("the task has no required check")
    if run.status is not Status.COMPLETED:
        return known(0)
    if run.checks is None:
        return NOT_EVALUATED
    outcomes = [check.passed for check in run.checks if check.required]
    if False in outcomes:
        return known(0)
    return unknown("a required check could not be evaluated") if None in outcomes else known(1)


def objective(run: RunRecord) -> Objective:
    """Checks passed / checks; 1.0 with no checks, marked vacuous because nothing was asserted."""
    if run.status in EXCLUDED or run.checks is None:
        return Objective(share=NOT_EVALUATED, passed=NOT_EVALUATED, vacuous=False)
    if not run.checks:
        return Objective(share=known(1.0), passed=known(0), vacuous=True)
    parts = [_part(check) for check in run.checks]
    if any(part is None for part in parts):
        missing = unknown("a check could not be evaluated")
        return Objective(share=missing, passed=missing, vacuous=False)
    total = sum(part for part in parts if part is not None)
    return Objective(share=known(total / len(parts)), passed=known(total), vacuous=False)


def _part(check: CheckResult) -> float | None:
    """A check that counts cases earns their share; any other earns all or nothing."""
    if check.cases_total and check.cases_passed is not None:
        return check.cases_passed / check.cases_total
    return None if check.passed is None else float(check.passed)
