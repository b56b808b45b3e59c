"""What the engine says while it works: to a progress display, to a file, to nobody."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class EventKind(StrEnum):
    """The moments worth telling."""

    STARTED = "started"
    FINISHED = "finished"
    RETRYING = "retrying"
    PAUSED = "paused"
    STOPPED = "stopped"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One moment. `detail` is for people; the rest is for programs."""

    kind: EventKind
    run_id: str | None
    task_id: str | None
    arm: str | None
    repeat: int | None
    status: str | None
    passed: bool | None
    cost_usd: float | None
    detail: str


Listener = Callable[[Event], None]


def note(detail: str, kind: EventKind = EventKind.NOTE) -> Event:
    """An event that is about no single run."""
    return Event(
        kind=kind,
        run_id=None,
        task_id=None,
        arm=None,
        repeat=None,
        status=None,
        passed=None,
        cost_usd=None,
        detail=detail,
    )
