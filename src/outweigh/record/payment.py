"""What an attempt was paid for: whatever became of it, it is on the bill."""

from outweigh.record.run_record import RunRecord
from outweigh.record.status import Status

REUSED = "reused"
"""Where a record says that it is a copy of one from an earlier experiment."""


def was_paid_here(run: RunRecord) -> bool:
    """Whether anybody was paid: not if it broke before the agent was asked, or was taken over from elsewhere.

    Only the engine, whose runs have a place in its plan, is known to write down a set-up before it asks anybody.
    """
    set_up = run.position is None or run.started_at is None or run.setup_seconds is not None
    unmade = run.status is Status.INFRA_ERROR and not set_up
    never_asked = run.cost.usd is None and (unmade or run.status is Status.NOT_RUN)
    return not never_asked and REUSED not in run.extra


def paid_for(run: RunRecord) -> float | None:
    """What an attempt came to: nothing where nobody was paid, unknown when nobody says."""
    return run.cost.usd if was_paid_here(run) else 0.0
