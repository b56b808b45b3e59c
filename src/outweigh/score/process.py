"""How the agent got there: progress through the expected steps, and drift from the goal."""

from collections.abc import Sequence

from outweigh.record.loaded import Loaded
from outweigh.record.trajectory import AlignedAction, Milestone, Step
from outweigh.stats.quantity import Quantity, known, unknown
from outweigh.transcript.tool_calls import only_edits


def r_prog(milestones: Sequence[Milestone] | None) -> Quantity:
    """Achieved weighted steps / expected weighted steps."""
    if milestones is None:
        return unknown("no step is expected, or nobody could tell which were reached")
    return progress(
        achieved=sum(step.weight for step in milestones if step.achieved),
        expected=sum(step.weight for step in milestones),
    )


def progress(achieved: float, expected: float) -> Quantity:
    """achieved / expected, capped at 1; without anything expected there is no progress to speak of."""
    return known(min(1.0, achieved / expected)) if expected > 0 else unknown("the task declares no expected steps")


def skill_used(loaded: Loaded | None) -> Quantity:
    """1 when the agent took up a skill in this run, 0 when it had some and took none up."""
    if loaded is None or loaded.skills_used is None:
        return unknown("nobody could see whether a skill was used")
    return known(1.0 if loaded.skills_used else 0.0)


def edit_fail_rate(steps: Sequence[Step] | None) -> Quantity:
    """Failed edits / edits, over the calls of editing tools whose outcome the trajectory shows."""
    calls = (call for step in steps or () for call in step.tool_calls if call.succeeded is not None)
    outcomes = [call.succeeded for call in calls if only_edits(call.name)]
    if not outcomes:
        return unknown("the trajectory shows no edit with its outcome")
    return known(outcomes.count(False) / len(outcomes))


def strategic_drift(actions: Sequence[AlignedAction] | None) -> Quantity:
    """1 − Σ(alignment·weight) / Σ weight."""
    weight = sum(action.weight for action in actions or ())
    if not actions or weight == 0:
        return unknown("no action carries a goal alignment")
    return known(1.0 - sum(action.alignment * action.weight for action in actions) / weight)
