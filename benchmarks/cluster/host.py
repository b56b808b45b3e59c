"""A simulated host: its slots, images and attempts, and when it can be reached."""

from concurrent.futures import Future
from dataclasses import dataclass, field
from math import ceil, floor

from outweigh.engine.attempt import FinishedAttempt
from outweigh.engine.trial_plan import PlannedRun


@dataclass(slots=True, eq=False)
class SimulatedAttempt:
    """An attempt on a host. `began` is None until the host was told of it, `made` until its agent has ended by itself.

    `usd` is what it has cost when it has stopped. `settled` says that the lead has its result, or has given it up.
    """

    planned: PlannedRun
    number: int
    future: Future[FinishedAttempt]
    host: "SimulatedHost"
    seconds: float
    patience: float
    artifact_bytes: int
    fails: bool
    usd: float = 0.0
    began: float | None = None
    work_at_begin: float = 0.0
    stopped: bool = False
    made: FinishedAttempt | None = None
    settled: bool = False

    @property
    def runs(self) -> bool:
        """Whether its agent is at work."""
        return self.began is not None and not self.stopped


@dataclass(slots=True, eq=False)
class SimulatedHost:
    """A host exchanges with the lead at its ticks, unless it is cut off or its node is gone."""

    slots: int
    tick: float
    phase: float
    most_images: int
    free: int = 0
    gone: bool = False
    cut_since: float = 0.0
    cut_until: float = 0.0
    has_lease: bool = True
    attempts: dict[SimulatedAttempt, None] = field(default_factory=dict)
    images: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.free = self.slots

    def is_reachable(self, now: float) -> bool:
        """Whether an exchange works now."""
        return not self.gone and not self.cut_since <= now < self.cut_until

    def next_tick(self, now: float) -> float:
        """When the next exchange that works begins, as far as is known now."""
        start = self.cut_until if self.cut_since <= now < self.cut_until else now
        return self.phase + ceil((start - self.phase) / self.tick) * self.tick

    def last_tick(self, now: float) -> float:
        """When the last exchange before this moment began."""
        return self.phase + floor((now - self.phase) / self.tick) * self.tick

    def pull(self, image: str) -> bool:
        """Have the image of a task here; returns whether it had to be fetched. The oldest make room."""
        known = image in self.images
        if known:
            del self.images[image]
        self.images[image] = None
        if len(self.images) > self.most_images:
            del self.images[next(iter(self.images))]
        return not known
