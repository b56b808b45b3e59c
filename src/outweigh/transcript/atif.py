"""The Agent Trajectory Interchange Format (ATIF), version 1.8, in which trajectories are kept and exchanged.

ATIF counts cached tokens within the prompt and records do not; the conversion between them is here.
"""

from typing import Any, Literal

import msgspec

from outweigh.model.untrusted_json import as_count, as_dict, as_list, as_str
from outweigh.model.usage import Usage

ATIF_VERSION = "ATIF-v1.8"


class AtifObject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of the format's objects; unknown values are left out of the file."""


class AtifToolCall(AtifObject, frozen=True, kw_only=True):
    """A tool call of the agent."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, Any]
    extra: dict[str, Any] | None = None


class AtifResult(AtifObject, frozen=True, kw_only=True):
    """The result of a tool call; `extra.is_error` where the agent reports whether it failed."""

    source_call_id: str | None = None
    content: str | list[dict[str, Any]] | None = None
    subagent_trajectory_ref: list[dict[str, Any]] | None = None
    extra: dict[str, Any] | None = None


class AtifObservation(AtifObject, frozen=True, kw_only=True):
    """The results of a step's tool calls."""

    results: tuple[AtifResult, ...]


class AtifMetrics(AtifObject, frozen=True, kw_only=True):
    """Tokens and dollars of one step. `prompt_tokens` includes cached ones, as the format requires."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    extra: dict[str, Any] | None = None


class AtifStep(AtifObject, frozen=True, kw_only=True):
    """One turn of a system, user or agent; `extra.sub_agent` names the call that started a sub-agent it belongs to."""

    step_id: int
    source: Literal["system", "user", "agent"]
    message: str | list[dict[str, Any]]
    timestamp: str | None = None
    model_name: str | None = None
    reasoning_effort: str | float | None = None
    reasoning_content: str | None = None
    tool_calls: tuple[AtifToolCall, ...] | None = None
    observation: AtifObservation | None = None
    metrics: AtifMetrics | None = None
    is_copied_context: bool | None = None
    llm_call_count: int | None = None
    extra: dict[str, Any] | None = None

    @property
    def sub_agent(self) -> Any:
        """The call that started the sub-agent whose step it is; None for a step of the agent itself."""
        return (self.extra or {}).get("sub_agent")


class AtifAgent(AtifObject, frozen=True, kw_only=True):
    """The agent of a trajectory."""

    name: str
    version: str
    model_name: str | None = None
    tool_definitions: list[dict[str, Any]] | None = None
    extra: dict[str, Any] | None = None


class AtifFinalMetrics(AtifObject, frozen=True, kw_only=True):
    """Totals of a trajectory, sub-agents included."""

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = None
    extra: dict[str, Any] | None = None


class AtifTrajectory(AtifObject, frozen=True, kw_only=True):
    """A whole trajectory."""

    schema_version: str
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: AtifAgent
    steps: tuple[AtifStep, ...]
    notes: str | None = None
    final_metrics: AtifFinalMetrics | None = None
    continued_trajectory_ref: str | None = None
    extra: dict[str, Any] | None = None
    subagent_trajectories: list[dict[str, Any]] | None = None


CACHE_WRITE_KEY = "cache_creation_input_tokens"
"""The key for tokens written to the cache; the format has no field for them."""


def metrics_from_usage(usage: Usage) -> AtifMetrics:
    """The metrics of a step; its prompt tokens are unknown where any part of them is."""
    return AtifMetrics(
        prompt_tokens=prompt_tokens(usage),
        completion_tokens=usage.output_tokens,
        cached_tokens=usage.cache_read_tokens,
        extra=None if usage.cache_write_tokens is None else {CACHE_WRITE_KEY: usage.cache_write_tokens},
    )


def step_metrics(usage: Usage, cost_usd: float | None) -> AtifMetrics:
    """The metrics of one request, for agents that write a cost of 0 where they know no price."""
    return AtifMetrics(
        prompt_tokens=prompt_tokens(usage),
        completion_tokens=usage.output_tokens,
        cached_tokens=usage.cache_read_tokens,
        cost_usd=cost_usd or None,
    )


def usage_from_metrics(metrics: AtifMetrics) -> Usage:
    """The inverse. Where cache writes are not reported, all tokens that were not read from the cache are input."""
    written = as_count(as_dict(metrics.extra).get(CACHE_WRITE_KEY))
    return Usage(
        input_tokens=_rest(as_count(metrics.prompt_tokens), as_count(metrics.cached_tokens), written),
        output_tokens=as_count(metrics.completion_tokens),
        cache_read_tokens=as_count(metrics.cached_tokens),
        cache_write_tokens=written,
    )


def prompt_tokens(usage: Usage) -> int | None:
    """All tokens that a model was given to read."""
    parts = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _rest(prompt: int | None, cached: int | None, written: int | None) -> int | None:
    if prompt is None or (rest := prompt - (cached or 0) - (written or 0)) < 0:
        return None
    return rest


def content_text(content: object) -> str:
    """Texts joined by line breaks; other blocks are named in brackets, such as [image]."""
    if isinstance(content, str):
        return content
    return "\n".join(_block_text(as_dict(block)) for block in as_list(content))


def _block_text(block: dict[str, object]) -> str:
    found = as_str(block.get("text"))
    return found if found is not None else f"[{block.get('type') or 'unreadable'}]"
