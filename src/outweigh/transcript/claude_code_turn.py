"""One message of a Claude Code run, put together from the lines that it was written in."""

from dataclasses import dataclass, field
from typing import Literal

import msgspec

from outweigh.record.usage import Usage
from outweigh.transcript.atif import AtifObservation, AtifResult, AtifStep, AtifToolCall
from outweigh.transcript.atif_usage import metrics_of_usage
from outweigh.transcript.foreign import count, mapping


@dataclass(slots=True, kw_only=True)
class Turn:
    """A message as far as it is known.

    `usage` is the last that was written for it; until it has a stop reason, its output tokens are a placeholder.
    `is_error` marks what Claude Code itself says when the model's API fails.
    """

    source: Literal["system", "user", "agent"]
    sub_agent: str | None
    timestamp: str | None
    model: str | None = None
    usage: Usage | None = None
    stop_reason: str | None = None
    is_error: bool = False
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: dict[str, AtifToolCall] = field(default_factory=dict)
    results: dict[str, AtifResult] = field(default_factory=dict)

    @property
    def settled_usage(self) -> Usage | None:
        """The usage, its output unknown where it is a placeholder."""
        if self.usage is None or self.stop_reason is not None:
            return self.usage
        return msgspec.structs.replace(self.usage, output_tokens=None)

    @property
    def waits_for_tools(self) -> bool:
        """Whether a tool that it called has not answered."""
        return self.calls.keys() != self.results.keys()

    def step(self, number: int) -> AtifStep:
        """The message as a step of a trajectory."""
        from_model = self.source == "agent"
        return AtifStep(
            step_id=number,
            source=self.source,
            message="\n".join(self.texts),
            timestamp=self.timestamp,
            model_name=self.model,
            reasoning_content="\n".join(self.thoughts) or None,
            tool_calls=tuple(self.calls.values()) or None,
            observation=AtifObservation(results=tuple(self.results.values())) if self.results else None,
            # Only models have metrics; what Claude Code makes up carries zeros.
            metrics=metrics_of_usage(self.settled_usage) if from_model and self.settled_usage else None,
            llm_call_count=1 if from_model else None,
            extra=None if self.sub_agent is None else {"sub_agent": self.sub_agent},
        )


def message_usage(raw: object) -> Usage:
    """The usage of a message or of a result; Claude's `input_tokens` is without cache already."""
    usage = mapping(raw)
    return Usage(
        input_tokens=count(usage.get("input_tokens")),
        output_tokens=count(usage.get("output_tokens")),
        cache_read_tokens=count(usage.get("cache_read_input_tokens")),
        cache_write_tokens=count(usage.get("cache_creation_input_tokens")),
    )
