"""The frame of every reader of an agent's stream: bytes in, events taken one by one, a report out."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Protocol

from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.failure import Failure, FailureKind, failure
from outweigh.transcript.foreign import amount, name
from outweigh.transcript.json_lines import Event, JsonLines
from outweigh.transcript.token_counts import storable

NO_END = failure(FailureKind.NO_RESULT, "the agent's output ends without its closing event")
"""What it means when a stream breaks off: nobody knows how the run would have ended."""


class Reader(Protocol):
    """Anything that is fed an agent's output and reports on it."""

    def feed(self, chunk: bytes) -> None:
        """Take the next piece of the output."""

    def report(self) -> AgentReport:
        """What the output says so far."""


class EventReader(ABC):
    """Reads lines of JSON as they come. `report` may be asked for at any time and tells what is known by then."""

    def __init__(self) -> None:
        self._lines = JsonLines()

    def feed(self, chunk: bytes) -> None:
        """Take the next piece of the output."""
        for event in self._lines.feed(chunk):
            self._take(event)

    def report(self) -> AgentReport:
        """What the output says so far."""
        for event in self._lines.rest():
            self._take(event)
        summary = self._summary(self._lines.warnings())
        return replace(
            summary,
            usage=storable(summary.usage),
            usage_by_model={
                model: storable(of) for model, of in summary.usage_by_model.items() if name(model) == model
            },
            cost_usd=amount(summary.cost_usd),
        )

    @abstractmethod
    def _take(self, event: Event) -> None:
        """Learn from one event."""

    @abstractmethod
    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        """The report; `warnings` are about the lines."""


def ended(finished: bool, known: Failure | None) -> Failure | None:
    """The failure of a run: what is known, else that it did not end."""
    return known if known is not None or finished else NO_END
