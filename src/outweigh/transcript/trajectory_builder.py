"""Builds the steps of a trajectory from events as they arrive."""

from dataclasses import dataclass, field
from typing import Any, Literal

from outweigh.transcript.atif import AtifMetrics, AtifObservation, AtifResult, AtifStep, AtifToolCall

TRAJECTORY_TEXT_LIMIT = 64 * 2**20
"""Characters of all steps together; what is said beyond is dropped, so that no agent can fill the memory."""

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
    """Takes what is said, called and answered, in order.

    What an agent says and calls belongs to one step until `close` or somebody else's words end it. A result belongs to
    the step that made the call, whenever it comes.
    """

    def __init__(self, text_limit: int = TRAJECTORY_TEXT_LIMIT) -> None:
        self._drafts: list[_StepDraft] = []
        self._step_of_call: dict[str, _StepDraft] = {}
        self._answered: set[str] = set()
        self._open = False
        self._text_left = text_limit
        self.text_was_dropped = False

    def add(self, source: Speaker, message: str, timestamp: str | None = None) -> None:
        """A whole step."""
        self._drafts.append(_StepDraft(source=source, message=[self._kept(message)], timestamp=timestamp))
        self._open = False

    def say(self, piece: str, timestamp: str | None = None) -> None:
        """A piece of what the agent says."""
        self._agent(timestamp).message.append(self._kept(piece))

    def think(self, piece: str, timestamp: str | None = None) -> None:
        """A piece of what the agent thinks."""
        self._agent(timestamp).reasoning.append(self._kept(piece))

    def call(self, call_id: str, name: str, arguments: dict[str, Any], timestamp: str | None = None) -> None:
        """A tool call, or what is now known about one that was told before."""
        draft = self._step_of_call.get(call_id) or self._agent(timestamp)
        self._step_of_call[call_id] = draft
        draft.calls[call_id] = AtifToolCall(tool_call_id=call_id, function_name=name, arguments=arguments)

    def result(self, call_id: str, content: str, is_error: bool | None) -> None:
        """What came of a call; only the first answer counts. One to a call nobody made is a step of its own."""
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
        """What is known about the agent's last step; `sub_agent` is the call that started who took it."""
        last = next((draft for draft in reversed(self._drafts) if draft.source == "agent"), None)
        if last is not None:
            last.model = model or last.model
            last.metrics = metrics or last.metrics
            last.sub_agent = sub_agent or last.sub_agent

    def close(self) -> None:
        """What the agent does next is another step."""
        self._open = False

    @property
    def agent_step_count(self) -> int:
        """How many steps the agent took."""
        return sum(draft.source == "agent" for draft in self._drafts)

    @property
    def tool_call_count(self) -> int:
        """How many tools were called."""
        return len(self._step_of_call)

    @property
    def final_text(self) -> str | None:
        """What the agent said last."""
        said = ("".join(draft.message) for draft in reversed(self._drafts) if draft.source == "agent")
        return next((words for words in said if words), None)

    def steps(self) -> tuple[AtifStep, ...]:
        """All of them, numbered from 1."""
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

    def _kept(self, words: str) -> str:
        if len(words) > self._text_left:
            self.text_was_dropped = True
            return ""
        self._text_left -= len(words)
        return words


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
