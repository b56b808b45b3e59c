"""What an agent's own output says about a run, and the base class of the readers that extract it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from outweigh.model.failure import Failure, FailureKind, make_failure
from outweigh.model.json_text import JsonLineDecoder, JsonObject
from outweigh.model.run_record import ObservedSetup
from outweigh.model.untrusted_json import as_amount, as_name
from outweigh.model.usage import BilledUsage, Usage
from outweigh.transcript.atif import AtifStep
from outweigh.transcript.token_counts import storable_usage


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReport:
    """What one agent reports, in our units: input tokens without cache, seconds, dollars. Unknown values are None.

    `cost_usd` is the agent's own figure, which may be wrong where the model was reached through another address.
    `finished` is whether the output ends as that of a finished run; an incomplete output is a failure.
    `request_count` is how many requests to a model the figures cover, where that is known.
    `warnings` are sentences about what cannot be trusted. `billed` is what the transcript states about the bills of its
    requests, where it states more than `usage`.
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
    billed: tuple[BilledUsage, ...] = ()


UNFINISHED = make_failure(FailureKind.NO_RESULT, "the agent's output ends without its closing event")
"""The failure of a run whose output is incomplete."""


class TranscriptReader(Protocol):
    """Reads an agent's output and reports on it."""

    def feed(self, chunk: bytes) -> None:
        """Read the next chunk of the output."""

    def report(self) -> AgentReport:
        """The report on the output so far."""


class EventReader(ABC):
    """Reads lines of JSON as they arrive. `report` may be called at any time and covers what has arrived so far."""

    def __init__(self) -> None:
        self._lines = JsonLineDecoder()

    def feed(self, chunk: bytes) -> None:
        """Read the next chunk of the output."""
        for event in self._lines.feed(chunk):
            self._take(event)

    def report(self) -> AgentReport:
        """The report on the output so far."""
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
        """Read one event."""

    @abstractmethod
    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        """The report; `warnings` are about unreadable lines."""


def failure_or_unfinished(finished: bool, known: Failure | None) -> Failure | None:
    """The known failure of a run, else that it is unfinished where it is."""
    return known if known is not None or finished else UNFINISHED
