"""Reassembles Claude Code's messages: it writes one line per content block, and repeats the rest each time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from outweigh.model.untrusted_json import as_count, as_dict, as_list, as_name, as_str
from outweigh.model.usage import Usage, sum_usage
from outweigh.transcript.atif import (
    AtifObservation,
    AtifResult,
    AtifStep,
    AtifToolCall,
    content_text,
    metrics_from_usage,
)


@dataclass(slots=True, kw_only=True)
class ClaudeCodeTurn:
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
            metrics=metrics_from_usage(self.settled_usage) if from_model and self.settled_usage else None,
            llm_call_count=1 if from_model else None,
            extra=None if self.sub_agent is None else {"sub_agent": self.sub_agent},
        )


def message_usage(raw: object) -> Usage:
    """The usage of a message or of a result; Claude's `input_tokens` is without cache already."""
    usage = as_dict(raw)
    return Usage(
        input_tokens=as_count(usage.get("input_tokens")),
        output_tokens=as_count(usage.get("output_tokens")),
        cache_read_tokens=as_count(usage.get("cache_read_input_tokens")),
        cache_write_tokens=as_count(usage.get("cache_creation_input_tokens")),
    )


SYNTHETIC_MODEL = "<synthetic>"
"""What Claude Code calls the model of messages that it made up itself, such as those about errors."""

KEPT_CHARACTER_LIMIT = 64 * 2**20
"""Of the texts of a run no more than this is kept; counts and tokens are complete nevertheless."""

UNNAMED_MODEL = "unknown"
_ERROR_MARKS = ("error", "is_api_error_message", "isApiErrorMessage")
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


class ClaudeCodeConversation:
    """All messages of a run, each once, in the order in which they began; sub-agents' among them."""

    def __init__(self, kept_characters: int = KEPT_CHARACTER_LIMIT) -> None:
        self._turns: list[ClaudeCodeTurn] = []
        self._by_id: dict[tuple[str, str | None], ClaudeCodeTurn] = {}
        self._by_call: dict[str, ClaudeCodeTurn] = {}
        self._seen: set[str] = set()
        self._room = kept_characters
        self._stray_results = 0

    def add(self, event: Mapping[str, Any], sub_agent: str | None) -> None:
        """Take an `assistant` or `user` event of a stream or a session file; the same event twice counts once."""
        identity = as_str(event.get("uuid"))
        if identity in self._seen:
            return
        if identity is not None:
            self._seen.add(identity)
        if event.get("type") == "assistant":
            self._add_answer(event, sub_agent)
        else:
            self._add_input(event, sub_agent)

    def steps(self) -> tuple[AtifStep, ...]:
        """The trajectory so far."""
        return tuple(turn.step(number) for number, turn in enumerate(self._turns, start=1))

    @property
    def answers(self) -> list[ClaudeCodeTurn]:
        """What models said, one entry per request."""
        return [turn for turn in self._turns if turn.source == "agent"]

    @property
    def last(self) -> ClaudeCodeTurn | None:
        """The last message of the main thread."""
        return next((turn for turn in reversed(self._turns) if turn.sub_agent is None), None)

    @property
    def tool_call_count(self) -> int:
        """Calls of tools, each once."""
        return len(self._by_call)

    def usage_by_model(self, *, settled: bool) -> dict[str, Usage]:
        """What the messages' own figures add up to, by model; `settled` makes placeholders unknown."""
        found: dict[str, list[Usage]] = {}
        for turn in self.answers:
            usage = turn.settled_usage if settled else turn.usage
            if usage is not None:
                found.setdefault(turn.model or UNNAMED_MODEL, []).append(usage)
        return {model: sum_usage(usages) for model, usages in found.items()}

    def warnings(self) -> Iterator[str]:
        """What is missing from the trajectory."""
        if self._stray_results:
            yield f"results of tools that answer no call that was seen: {self._stray_results:,}"
        if self._room < 0:
            yield "the texts of the trajectory are not complete: there were too many to keep"

    def _add_answer(self, event: Mapping[str, Any], sub_agent: str | None) -> None:
        message = as_dict(event.get("message"))
        turn = self._turn_of(message, event, sub_agent)
        if "usage" in message:
            turn.usage = message_usage(message["usage"])
        turn.stop_reason = as_name(message.get("stop_reason")) or turn.stop_reason
        for block in _blocks(message):
            match as_str(block.get("type")):
                case "text":
                    self._keep(turn.texts, as_str(block.get("text")))
                case "thinking":
                    self._keep(turn.thoughts, as_str(block.get("thinking")))
                case kind if kind in _CALLS:
                    self._add_call(turn, block)
                case str(kind) if kind.endswith("tool_result"):
                    self._add_result(block)

    def _turn_of(self, message: Mapping[str, Any], event: Mapping[str, Any], sub_agent: str | None) -> ClaudeCodeTurn:
        """The message that this line goes on with, or a new one. Without an id, every line is a message of its own."""
        identity = as_str(message.get("id"))
        request = as_str(event.get("requestId")) or as_str(event.get("request_id"))
        known = None if identity is None else self._by_id.get((identity, request))
        if known is not None:
            return known
        model = as_name(message.get("model"))
        made_up = model == SYNTHETIC_MODEL
        turn = ClaudeCodeTurn(
            source="system" if made_up else "agent",
            sub_agent=sub_agent,
            timestamp=as_str(event.get("timestamp")),
            model=None if made_up else model,
            is_error=made_up and any(event.get(mark) for mark in _ERROR_MARKS),
        )
        self._turns.append(turn)
        if identity is not None:
            self._by_id[identity, request] = turn
        return turn

    def _add_call(self, turn: ClaudeCodeTurn, block: Mapping[str, Any]) -> None:
        identity, function = as_name(block.get("id")), as_name(block.get("name"))
        if identity is None or function is None or identity in self._by_call:
            return
        arguments = as_dict(block.get("input"))
        fits = self._fits(sum(len(value) for value in arguments.values() if isinstance(value, str)))
        turn.calls[identity] = AtifToolCall(
            tool_call_id=identity, function_name=function, arguments=arguments if fits else {}
        )
        self._by_call[identity] = turn

    def _add_result(self, block: Mapping[str, Any]) -> None:
        identity = as_name(block.get("tool_use_id"))
        turn = None if identity is None else self._by_call.get(identity)
        if identity is None or turn is None:
            self._stray_results += 1
            return
        content = content_text(block.get("content"))
        turn.results[identity] = AtifResult(
            source_call_id=identity,
            content=content if self._fits(len(content)) else None,
            # The API's own default: a result that does not call itself an error is none.
            extra={"is_error": block.get("is_error") is True},
        )

    def _add_input(self, event: Mapping[str, Any], sub_agent: str | None) -> None:
        # What the program itself put in a user's mouth, such as the text of a skill.
        made_up = event.get("isSynthetic") is True or event.get("isMeta") is True
        turn = ClaudeCodeTurn(
            source="system" if made_up else "user", sub_agent=sub_agent, timestamp=as_str(event.get("timestamp"))
        )
        for block in _blocks(as_dict(event.get("message"))):
            if block.get("type") == "tool_result":
                self._add_result(block)
            else:
                self._keep(turn.texts, content_text([block]))
        if turn.texts:
            self._turns.append(turn)

    def _keep(self, texts: list[str], found: str | None) -> None:
        if found is not None and found.strip() and self._fits(len(found)):
            texts.append(found)

    def _fits(self, characters: int) -> bool:
        """Whether there is room for so many more, which are then taken."""
        self._room -= characters
        return self._room >= 0


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [as_dict(block) for block in as_list(content)]
