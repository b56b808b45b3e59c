"""What an agent's own output says about a run."""

from collections.abc import Mapping
from dataclasses import dataclass

from outweigh.record.loaded import Loaded
from outweigh.record.usage import Usage
from outweigh.transcript.atif import AtifStep
from outweigh.transcript.failure import Failure


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
    loaded: Loaded | None
    warnings: tuple[str, ...]
