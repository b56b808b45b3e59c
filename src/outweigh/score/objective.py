"""What is measured without a judge: checks passed, progress, drift and failed edits of a run; failed
and reverted changes of an arm.
"""

from collections.abc import Collection, Sequence

import msgspec
from msgspec import Struct

from outweigh.model.actions import only_edits
from outweigh.model.base import Name
from outweigh.model.failure import EXCLUDED_STATUSES, Status
from outweigh.model.run_record import AlignedAction, CheckResult, Milestone, ObservedSetup, RunRecord, Step
from outweigh.stats.estimate import Quantity, known, unknown

NOT_EVALUATED = unknown("the checks were not evaluated")
_COMPLETED = Status.COMPLETED  # members are slow to look up, and every run is asked for it
_PASSED, _FAILED = known(1), known(0)
NO_EDIT = unknown("the trajectory shows no edit with its outcome")
NOT_ALIGNED = unknown("no action carries a goal alignment")


class Objective(Struct, frozen=True, kw_only=True, gc=False):
    """The checks of one run: how many passed, their share, and whether there were any to fail."""

    share: Quantity
    passed: Quantity
    vacuous: bool


_UNCHECKED = Objective(share=NOT_EVALUATED, passed=NOT_EVALUATED, vacuous=False)
_VACUOUS = Objective(share=known(1.0), passed=known(0), vacuous=True)
_MISSING = unknown("a check could not be evaluated")
_UNDECIDED = Objective(share=_MISSING, passed=_MISSING, vacuous=False)


def passed(run: RunRecord) -> Quantity:
    """1 when the run completed and every required check passed, 0 when not, unknown when it cannot be told."""
    if run.status in EXCLUDED_STATUSES:
        return unknown(f"{run.status.value} says nothing about the agent")
    outcomes = None if run.checks is None else [check.passed for check in run.checks if check.required]
    if outcomes == []:
        return unknown("the task has no required check")
    if run.status is not _COMPLETED:
        return _FAILED
    if outcomes is None:
        return NOT_EVALUATED
    if False in outcomes:
        return _FAILED
    return unknown("a required check could not be evaluated") if None in outcomes else _PASSED


def objective(run: RunRecord) -> Objective:
    """Checks passed / checks, by weight; 1.0 with no scored check, marked vacuous because nothing was asserted."""
    if run.status in EXCLUDED_STATUSES or run.checks is None:
        return _UNCHECKED
    passed = earned = weight = 0.0
    for check in run.checks:
        if check.weight:
            if (part := _part(check)) is None:
                return _UNDECIDED
            passed += part
            earned += part * check.weight
            weight += check.weight
    if not weight:
        return _VACUOUS
    return Objective(share=known(earned / weight), passed=known(passed), vacuous=False)


def _part(check: CheckResult) -> float | None:
    """A check that counts cases earns their share; any other earns all or nothing."""
    if check.cases_total and check.cases_passed is not None:
        return check.cases_passed / check.cases_total
    return None if check.passed is None else float(check.passed)


def r_prog(milestones: Sequence[Milestone] | None) -> Quantity:
    """Achieved weighted steps / expected weighted steps."""
    if milestones is None:
        return unknown("no step is expected, or the run does not show which were reached")
    return progress(
        achieved=sum(step.weight for step in milestones if step.achieved),
        expected=sum(step.weight for step in milestones),
    )


def progress(achieved: float, expected: float) -> Quantity:
    """achieved / expected, capped at 1; unknown where nothing is expected."""
    return known(min(1.0, achieved / expected)) if expected > 0 else unknown("the task declares no expected steps")


def skill_used(loaded: ObservedSetup | None) -> Quantity:
    """1 when the agent used a skill in this run, 0 when it had some and used none."""
    if loaded is None or loaded.skills_used is None:
        return unknown("the run does not show whether a skill was used")
    return known(1.0 if loaded.skills_used else 0.0)


def edit_fail_rate(steps: Sequence[Step] | None) -> Quantity:
    """Failed edits / edits, over the calls of editing tools whose outcome the trajectory shows."""
    if not steps:
        return NO_EDIT
    calls = (call for step in steps for call in step.tool_calls if call.succeeded is not None)
    outcomes = [call.succeeded for call in calls if only_edits(call.name)]
    if not outcomes:
        return NO_EDIT
    return known(outcomes.count(False) / len(outcomes))


def strategic_drift(actions: Sequence[AlignedAction] | None) -> Quantity:
    """1 − Σ(alignment·weight) / Σ weight."""
    if not actions:
        return NOT_ALIGNED
    weight = sum(action.weight for action in actions)
    if weight == 0:
        return NOT_ALIGNED
    return known(1.0 - sum(action.alignment * action.weight for action in actions) / weight)


NO_CHANGES = unknown("no changes file covers this arm")


class Change(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One merged change of one arm: did it fail in service, was it reverted by a reviewer."""

    id: Name
    arm: Name
    failed: bool
    reverted: bool


def change_fail_percentage(changes: Collection[Change]) -> Quantity:
    """Failed changes / all changes."""
    return known(sum(change.failed for change in changes) / len(changes)) if changes else NO_CHANGES


def pr_revert_rate(changes: Collection[Change]) -> Quantity:
    """Reverted changes / all changes."""
    return known(sum(change.reverted for change in changes) / len(changes)) if changes else NO_CHANGES
