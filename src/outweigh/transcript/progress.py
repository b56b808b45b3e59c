"""How far a trajectory went along the steps that its task expects, and how much of it served the goal.

Nothing here guesses: where a task does not say what to look for, or an agent does not show its actions, the answer is
None, which is neither 0 nor 1.
"""

from collections import Counter
from collections.abc import Sequence

from outweigh.record.trajectory import AlignedAction
from outweigh.task.action import Action, ActionPattern
from outweigh.task.task import ExpectedStep
from outweigh.transcript.action_match import fits
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.atif import AtifStep
from outweigh.transcript.foreign import name
from outweigh.transcript.tool_calls import SeenCall, seen_calls


def shown_steps(report: AgentReport) -> tuple[AtifStep, ...] | None:
    """The trajectory of an agent that shows its tool calls; None where it keeps them to itself."""
    return None if report.tool_call_count is None else report.steps


def reached_steps(expected: Sequence[ExpectedStep], steps: Sequence[AtifStep] | None) -> frozenset[str] | None:
    """The names of the expected steps that the actions show; None where nobody can tell.

    A call that failed reaches nothing, except where it ran a command: a test that fails has been run all the same.
    """
    if steps is None or not any(step.reached_by for step in expected):
        return None
    counted = [call for call in seen_calls(steps) if call.succeeded is not False or call.action is Action.RUN]
    return frozenset(step.name for step in expected if any(_fits_any(call, step.reached_by) for call in counted))


def aligned_actions(
    goal_actions: Sequence[ActionPattern], expected: Sequence[ExpectedStep], steps: Sequence[AtifStep] | None
) -> tuple[AlignedAction, ...] | None:
    """The actions with their alignment, which is 1 for those that serve the goal or reach a step, and 0 for others.

    Equal actions are one entry whose weight is their number, so that the weighted mean is the share of all actions.
    None where the task does not describe what serves its goal, and where no action was seen.
    """
    if steps is None or not goal_actions:
        return None
    serving = [*goal_actions, *(pattern for step in expected for pattern in step.reached_by)]
    counted = Counter((name(call.tool) or "unnamed", _fits_any(call, serving)) for call in seen_calls(steps))
    if not counted:
        return None
    return tuple(
        AlignedAction(name=tool, alignment=1.0 if serves else 0.0, weight=float(times))
        for (tool, serves), times in sorted(counted.items())
    )


def _fits_any(call: SeenCall, patterns: Sequence[ActionPattern]) -> bool:
    return any(fits(call, pattern) for pattern in patterns)
