"""Running agents that share a provider's tokens per minute: all become slower alike where they want more."""

from heapq import heappop, heappush
from itertools import count
from typing import Generic, TypeVar

from benchmarks.cluster.inputs import NEVER, ClusterInputs

Agent = TypeVar("Agent")


class TokenShare(Generic[Agent]):
    """Says which agent ends next, and when.

    `_work` is how many seconds of work an agent that began at time 0 would have done by now: where the limit is
    reached, it grows more slowly than time. An agent ends after a certain amount of it, so ends stay in one order
    however often the speed changes. `_risk` does the same for agents that give up after too many refused requests.
    """

    def __init__(self, inputs: ClusterInputs) -> None:
        self._inputs = inputs
        self._tokens_per_second = inputs.tokens_per_trial / inputs.trial_seconds
        self._requests_per_second = inputs.requests_per_trial / inputs.trial_seconds
        self._running = 0
        self._speed = 1.0
        self._hazard = 0.0
        self._work = 0.0
        self._risk = 0.0
        self._numbers = count()
        self._ends: list[tuple[float, int, Agent]] = []
        self._gives_up: list[tuple[float, int, Agent]] = []

    @property
    def work(self) -> float:
        """Seconds of work that an agent which never stopped has done."""
        return self._work

    @property
    def waiting(self) -> float:
        """The share of their time that agents wait for tokens now."""
        return 1.0 - self._speed

    @property
    def tokens_per_minute(self) -> float:
        """What all that run take from the provider now."""
        return 60 * self._running * self._tokens_per_second * self._speed

    def add(self, agent: Agent, seconds: float, patience: float) -> None:
        """An agent begins, which has so many seconds of work, and gives up when its risk has reached its patience."""
        heappush(self._ends, (self._work + seconds, next(self._numbers), agent))
        if self._inputs.agents_give_up:
            heappush(self._gives_up, (self._risk + patience, next(self._numbers), agent))
        self._set_running(self._running + 1)

    def remove_one(self) -> None:
        """An agent has ended, whichever way; its entries stay until they come up."""
        self._set_running(self._running - 1)

    def seconds_to_next(self) -> float:
        """Until the next agent ends or gives up, if nothing else happens."""
        end = (self._ends[0][0] - self._work) / self._speed if self._ends else NEVER
        gives_up = (self._gives_up[0][0] - self._risk) / self._hazard if self._gives_up and self._hazard else NEVER
        return max(0.0, min(end, gives_up))

    def pass_seconds(self, seconds: float) -> None:
        """Let time pass, at most until the next agent ends."""
        self._work += seconds * self._speed
        self._risk += seconds * self._hazard

    def take_next(self) -> tuple[Agent, bool]:
        """The agent whose time has come, and whether it gives up."""
        end = (self._ends[0][0] - self._work) / self._speed if self._ends else NEVER
        gives_up = (self._gives_up[0][0] - self._risk) / self._hazard if self._gives_up and self._hazard else NEVER
        gave_up = gives_up < end
        return heappop(self._gives_up if gave_up else self._ends)[2], gave_up

    def _set_running(self, running: int) -> None:
        self._running = running
        wanted = 60 * running * self._tokens_per_second
        self._speed = min(1.0, self._inputs.tokens_per_minute / wanted) if wanted else 1.0
        refused = 1.0 - self._speed
        self._hazard = self._requests_per_second * refused**self._inputs.refusals_before_giving_up
