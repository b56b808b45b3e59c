"""What an agent's own output says about a run, and the base class of the readers that extract it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from outweigh.model.failure import Failure, FailureKind, make_failure
from outweigh.model.json_text import JsonLineDecoder, JsonObject
from outweigh.model.run_record import ObservedSetup
from outweigh.model.untrusted_json import as_amount, as_name
from outweigh.model.usage import Usage
from outweigh.transcript.atif import AtifStep
from outweigh.transcript.token_counts import storable_usage


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReport:
    """One agent's word, in our units: input tokens without cache, seconds, dollars. What it does not say is None.

    `cost_usd` is what the agent believes; it is no fact when the model was reached under another address.
    `finished` is whether the output ends as a finished run's does: what breaks off has failed, whatever came before.
    `request_count` is how many requests to a model the figures cover, where that can be told.
    `warnings` are sentences about what cannot be trusted.
    """

    version: str | None
    model: str | None
    session_id: str | None
    usage: Usage
    usage_by_model: Mapping[str, Usage]
    cost_usd: float | None
    duration_seconds: float | None
    step_count: int | None
    tool_call_count: int | None
    request_count: int | None
    finished: bool
    failure: Failure | None
    final_text: str | None
    steps: tuple[AtifStep, ...]
    loaded: ObservedSetup | None
    warnings: tuple[str, ...]


UNFINISHED = make_failure(FailureKind.NO_RESULT, "the agent's output ends without its closing event")
"""What it means when a stream breaks off: nobody knows how the run would have ended."""


class TranscriptReader(Protocol):
    """Anything that is fed an agent's output and reports on it."""

    def feed(self, chunk: bytes) -> None:
        """Take the next piece of the output."""

    def report(self) -> AgentReport:
        """What the output says so far."""


class EventReader(ABC):
    """Reads lines of JSON as they come. `report` may be asked for at any time and tells what is known by then."""

    def __init__(self) -> None:
        self._lines = JsonLineDecoder()

    def feed(self, chunk: bytes) -> None:
        """Take the next piece of the output."""
        for event in self._lines.feed(chunk):
            self._take(event)

    def report(self) -> AgentReport:
        """What the output says so far."""
        for event in self._lines.finish():
            self._take(event)
        summary = self._summary(self._lines.warnings())
        return replace(
            summary,
            usage=storable_usage(summary.usage),
            usage_by_model={
                model: storable_usage(of) for model, of in summary.usage_by_model.items() if as_name(model) == model
            },
            cost_usd=as_amount(summary.cost_usd),
        )

    @abstractmethod
    def _take(self, event: JsonObject) -> None:
        """Learn from one event."""

    @abstractmethod
    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        """The report; `warnings` are about the lines."""


def failure_or_unfinished(finished: bool, known: Failure | None) -> Failure | None:
    """The failure of a run: what is known, else that it did not end."""
    return known if known is not None or finished else UNFINISHED
