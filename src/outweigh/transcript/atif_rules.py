"""The rules of the trajectory format that its shape alone does not show."""

from datetime import datetime

from outweigh.transcript.atif import AtifStep, AtifTrajectory

_ONLY_OF_AGENTS = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")


def broken_rule(trajectory: AtifTrajectory) -> str | None:
    """The first rule that a trajectory breaks, with its place; None where it keeps them all."""
    if not trajectory.steps:
        return "there is no step"
    for number, step in enumerate(trajectory.steps, start=1):
        if step.step_id != number:
            return f"step {number} has the id {step.step_id}, where ids count from 1 without gaps"
        fault = _fault_of_step(step)
        if fault is not None:
            return f"step {number} {fault}"
    return None


def _fault_of_step(step: AtifStep) -> str | None:
    if step.source != "agent":
        told = [field for field in _ONLY_OF_AGENTS if getattr(step, field) is not None]
        if told:
            return f"is a {step.source}'s and has {', '.join(told)}, which only an agent's can have"
    called = {call.tool_call_id for call in step.tool_calls or ()}
    for result in step.observation.results if step.observation else ():
        if result.source_call_id is not None and result.source_call_id not in called:
            return f"has a result of the call {result.source_call_id!r}, which it does not make"
    if step.timestamp is not None and not is_moment(step.timestamp):
        return f"has the timestamp {step.timestamp!r}, which is not ISO 8601"
    return None


def is_moment(timestamp: str) -> bool:
    """Whether a text is a moment as the format writes them."""
    try:
        datetime.fromisoformat(timestamp)
    except ValueError:
        return False
    return True
