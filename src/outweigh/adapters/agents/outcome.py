"""Outcomes from what an agent knows: whatever it does not mention is unknown."""

from dataclasses import replace
from typing import Any

from outweigh.ports.agents import AttemptOutcome
from outweigh.ports.sandboxes import Completed, Ending
from outweigh.record.cost import UNKNOWN_COST
from outweigh.record.run_record import AgentIdentity
from outweigh.record.status import Status
from outweigh.record.usage import NO_USAGE


def outcome(
    identity: AgentIdentity, status: Status = Status.COMPLETED, detail: str | None = None, **known: Any
) -> AttemptOutcome:
    """An outcome of which only the given fields are known."""
    blank = AttemptOutcome(
        status=status,
        status_detail=detail,
        agent=identity,
        duration_seconds=None,
        usage=NO_USAGE,
        cost=UNKNOWN_COST,
        step_count=None,
        tool_call_count=None,
        steps=None,
        components=None,
        actions=None,
        reached_steps=None,
        failure=None,
        retry_after_seconds=None,
        request_count=None,
        loaded=None,
        warnings=(),
        artifacts={},
    )
    return replace(blank, **known)


def early_end(done: Completed) -> tuple[Status, str] | None:
    """How a command was ended from outside, or None when it ended by itself."""
    if done.ending is Ending.TIMED_OUT:
        return Status.TIMEOUT, f"stopped after {done.duration_seconds:.1f} s"
    if done.ending is Ending.CANCELLED:
        return Status.NOT_RUN, "cancelled before it had ended"
    return None
