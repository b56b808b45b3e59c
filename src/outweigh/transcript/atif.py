"""The Agent Trajectory Interchange Format, version 1.8: the one shape in which trajectories are kept and exchanged."""

from typing import Any, Literal

import msgspec

ATIF_VERSION = "ATIF-v1.8"


class Atif(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of the format's objects: what is not known is left out of the file."""


class AtifToolCall(Atif, frozen=True, kw_only=True):
    """A tool that the agent asked for."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, Any]
    extra: dict[str, Any] | None = None


class AtifResult(Atif, frozen=True, kw_only=True):
    """What came of a tool call; `extra.is_error` where the agent says whether it failed."""

    source_call_id: str | None = None
    content: str | list[dict[str, Any]] | None = None
    subagent_trajectory_ref: list[dict[str, Any]] | None = None
    extra: dict[str, Any] | None = None


class AtifObservation(Atif, frozen=True, kw_only=True):
    """The results of a step's tool calls."""

    results: tuple[AtifResult, ...]


class AtifMetrics(Atif, frozen=True, kw_only=True):
    """Tokens and dollars of one step. `prompt_tokens` includes cached ones, as the format demands."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    extra: dict[str, Any] | None = None


class AtifStep(Atif, frozen=True, kw_only=True):
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


class AtifAgent(Atif, frozen=True, kw_only=True):
    """Who acted."""

    name: str
    version: str
    model_name: str | None = None
    tool_definitions: list[dict[str, Any]] | None = None
    extra: dict[str, Any] | None = None


class AtifFinalMetrics(Atif, frozen=True, kw_only=True):
    """Totals of a trajectory, sub-agents included."""

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = None
    extra: dict[str, Any] | None = None


class AtifTrajectory(Atif, frozen=True, kw_only=True):
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
