"""Builds the steps of a trajectory from events as they arrive."""

from dataclasses import dataclass, field
from typing import Any, Literal

from outweigh.transcript.atif import AtifMetrics, AtifObservation, AtifResult, AtifStep, AtifToolCall

TRAJECTORY_TEXT_LIMIT = 64 * 2**20
"""Characters of all steps together; later texts are dropped, so that no agent can exhaust the memory."""

Speaker = Literal["system", "user", "agent"]


@dataclass(slots=True, kw_only=True)
class _StepDraft:
    source: Speaker
    message: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: dict[str, AtifToolCall] = field(default_factory=dict)
    results: list[AtifResult] = field(default_factory=list)
    timestamp: str | None = None
    model: str | None = None
    metrics: AtifMetrics | None = None
    sub_agent: str | None = None


class TrajectoryBuilder:
    """Collects messages, tool calls and results, in order.

    What an agent says and calls belongs to one step until `close` or another speaker's message ends it. A result
    belongs to the step that made the call, whenever it arrives.
    """

    def __init__(self, text_limit: int = TRAJECTORY_TEXT_LIMIT) -> None:
        self._drafts: list[_StepDraft] = []
        self._step_of_call: dict[str, _StepDraft] = {}
        self._answered: set[str] = set()
        self._open = False
        self._text_left = text_limit
        self.text_was_dropped = False

    def add(self, source: Speaker, message: str, timestamp: str | None = None) -> None:
        """Add a whole step."""
        self._drafts.append(_StepDraft(source=source, message=[self._kept(message)], timestamp=timestamp))
        self._open = False

    def say(self, piece: str, timestamp: str | None = None) -> None:
        """Add a piece of the agent's message."""
        self._agent(timestamp).message.append(self._kept(piece))

    def think(self, piece: str, timestamp: str | None = None) -> None:
        """Add a piece of the agent's reasoning."""
        self._agent(timestamp).reasoning.append(self._kept(piece))

    def call(self, call_id: str, name: str, arguments: dict[str, Any], timestamp: str | None = None) -> None:
        """Add a tool call, or update one that was added before."""
        draft = self._step_of_call.get(call_id) or self._agent(timestamp)
        self._step_of_call[call_id] = draft
        draft.calls[call_id] = AtifToolCall(tool_call_id=call_id, function_name=name, arguments=arguments)

    def result(self, call_id: str, content: str, is_error: bool | None) -> None:
        """Add the result of a call; only the first counts. A result without a call becomes a separate step."""
        if call_id in self._answered:
            return
        self._answered.add(call_id)
        draft = self._step_of_call.get(call_id)
        found = AtifResult(
            source_call_id=None if draft is None else call_id,
            content=self._kept(content),
            extra=None if is_error is None else {"is_error": is_error},
        )
        (draft or self._agent(None)).results.append(found)

    def note(
        self, *, model: str | None = None, metrics: AtifMetrics | None = None, sub_agent: str | None = None
    ) -> None:
        """Add details to the agent's last step; `sub_agent` is the call that started the sub-agent that took it."""
        last = next((draft for draft in reversed(self._drafts) if draft.source == "agent"), None)
        if last is not None:
            last.model = model or last.model
            last.metrics = metrics or last.metrics
            last.sub_agent = sub_agent or last.sub_agent

    def close(self) -> None:
        """End the current step."""
        self._open = False

    @property
    def agent_step_count(self) -> int:
        """The number of the agent's steps."""
        return sum(draft.source == "agent" for draft in self._drafts)

    @property
    def tool_call_count(self) -> int:
        """The number of tool calls."""
        return len(self._step_of_call)

    @property
    def final_text(self) -> str | None:
        """The agent's last message."""
        messages = ("".join(draft.message) for draft in reversed(self._drafts) if draft.source == "agent")
        return next((message for message in messages if message), None)

    def steps(self) -> tuple[AtifStep, ...]:
        """All steps, numbered from 1."""
        return tuple(_step(number, draft) for number, draft in enumerate(self._drafts, start=1))

    def warnings(self) -> tuple[str, ...]:
        """What is missing from the steps."""
        return (
            ("the trajectory is too long to be kept whole: later texts are dropped",) if self.text_was_dropped else ()
        )

    def _agent(self, timestamp: str | None) -> _StepDraft:
        if not self._open:
            self._drafts.append(_StepDraft(source="agent", timestamp=timestamp))
            self._open = True
        return self._drafts[-1]

    def _kept(self, text: str) -> str:
        if len(text) > self._text_left:
            self.text_was_dropped = True
            return ""
        self._text_left -= len(text)
        return text


def _step(number: int, draft: _StepDraft) -> AtifStep:
    return AtifStep(
        step_id=number,
        source=draft.source,
        message="".join(draft.message),
        timestamp=draft.timestamp,
        model_name=draft.model,
        reasoning_content="".join(draft.reasoning) or None,
        tool_calls=tuple(draft.calls.values()) or None,
        observation=AtifObservation(results=tuple(draft.results)) if draft.results else None,
        metrics=draft.metrics,
        extra=None if draft.sub_agent is None else {"sub_agent": draft.sub_agent},
    )
