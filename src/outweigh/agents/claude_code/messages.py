"""Reassembles Claude Code's messages: it writes one line per content block, and repeats the rest each time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from outweigh.model.bill import group_bills, request_bill
from outweigh.model.untrusted_json import as_count, as_dict, as_list, as_name, as_str
from outweigh.model.usage import BilledUsage, Usage, sum_usage
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

    `usage` is the last one written for it; until it has a stop reason, its output tokens are a placeholder. `bills` is
    what it states about its bill.
    `is_error` marks messages of Claude Code itself about a failure of the model's API.
    """

    source: Literal["system", "user", "agent"]
    sub_agent: str | None
    timestamp: str | None
    model: str | None = None
    usage: Usage | None = None
    bills: tuple[BilledUsage, ...] = ()
    stop_reason: str | None = None
    is_error: bool = False
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: dict[str, AtifToolCall] = field(default_factory=dict)
    results: dict[str, AtifResult] = field(default_factory=dict)

    @property
    def settled_usage(self) -> Usage | None:
        """The usage, with unknown output where that is a placeholder."""
        if self.usage is None or self.stop_reason is not None:
            return self.usage
        return msgspec.structs.replace(self.usage, output_tokens=None)

    @property
    def waits_for_tools(self) -> bool:
        """Whether a tool call has no result yet."""
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
            # Only models have metrics; messages of Claude Code itself have zeros.
            metrics=metrics_from_usage(self.settled_usage) if from_model and self.settled_usage else None,
            llm_call_count=1 if from_model else None,
            extra=None if self.sub_agent is None else {"sub_agent": self.sub_agent},
        )


def message_usage(raw: object) -> Usage:
    """The usage of a message or of a result; Claude's `input_tokens` is without cache already.

    A summary that the server makes is billed beside the counts of the message, so it is added.
    """
    usage = as_dict(raw)
    return sum_usage([_counts(usage), *map(_counts, _summaries(usage))])


def message_bills(raw: object, model: str | None) -> tuple[BilledUsage, ...]:
    """What the usage of a message states about its bill: one entry for each time that a model was sampled."""
    usage = as_dict(raw)
    searches = as_count(as_dict(usage.get("server_tool_use")).get("web_search_requests"))
    return tuple(
        msgspec.structs.replace(
            request_bill(as_name(part.get("model")) or model, _counts(part)),
            hour_write_tokens=as_count(as_dict(part.get("cache_creation")).get("ephemeral_1h_input_tokens")) or 0,
            service_tier=as_name(usage.get("service_tier")),
            speed=as_name(usage.get("speed")),
            region=as_name(usage.get("inference_geo")),
            hosted_uses={"web_search": searches} if searches and part is usage else {},
        )
        for part in (usage, *_summaries(usage))
    )


def _summaries(usage: Mapping[str, Any]) -> list[dict[str, Any]]:
    parts = (as_dict(part) for part in as_list(usage.get("iterations")))
    return [part for part in parts if part.get("type") not in ("message", "fallback_message")]


def _counts(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=as_count(usage.get("input_tokens")),
        output_tokens=as_count(usage.get("output_tokens")),
        cache_read_tokens=as_count(usage.get("cache_read_input_tokens")),
        cache_write_tokens=as_count(usage.get("cache_creation_input_tokens")),
    )


SYNTHETIC_MODEL = "<synthetic>"
"""The model name of messages that Claude Code itself writes, such as those about errors."""

KEPT_CHARACTER_LIMIT = 64 * 2**20
"""How many characters of a run's texts are kept; counts and tokens are always complete."""

UNNAMED_MODEL = "unknown"
_ERROR_MARKS = ("error", "is_api_error_message", "isApiErrorMessage")
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


class ClaudeCodeConversation:
    """All messages of a run, including sub-agents', each once, in the order in which they started."""

    def __init__(self, kept_characters: int = KEPT_CHARACTER_LIMIT) -> None:
        self._turns: list[ClaudeCodeTurn] = []
        self._by_id: dict[tuple[str, str | None], ClaudeCodeTurn] = {}
        self._by_call: dict[str, ClaudeCodeTurn] = {}
        self._seen: set[str] = set()
        self._remaining_characters = kept_characters
        self._stray_results = 0

    def add(self, event: Mapping[str, Any], sub_agent: str | None) -> None:
        """Add an `assistant` or `user` event of a stream or a session file; a repeated event counts once."""
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
        """The models' messages, one per request."""
        return [turn for turn in self._turns if turn.source == "agent"]

    @property
    def last(self) -> ClaudeCodeTurn | None:
        """The last message of the main thread."""
        return next((turn for turn in reversed(self._turns) if turn.sub_agent is None), None)

    @property
    def tool_call_count(self) -> int:
        """The number of tool calls, each counted once."""
        return len(self._by_call)

    def usage_by_model(self, *, settled: bool) -> dict[str, Usage]:
        """The sum of the messages' usage by model; `settled` makes placeholders unknown."""
        found: dict[str, list[Usage]] = {}
        for turn in self.answers:
            usage = turn.settled_usage if settled else turn.usage
            if usage is not None:
                found.setdefault(turn.model or UNNAMED_MODEL, []).append(usage)
        return {model: sum_usage(usages) for model, usages in found.items()}

    def bills(self) -> tuple[BilledUsage, ...]:
        """What the messages state about their bills."""
        return group_bills(bill for turn in self.answers for bill in turn.bills)

    def warnings(self) -> Iterator[str]:
        """What is missing from the trajectory."""
        if self._stray_results:
            yield f"results of tools that answer no call that was seen: {self._stray_results:,}"
        if self._remaining_characters < 0:
            yield "the texts of the trajectory are not complete: there were too many to keep"

    def _add_answer(self, event: Mapping[str, Any], sub_agent: str | None) -> None:
        message = as_dict(event.get("message"))
        turn = self._turn_of(message, event, sub_agent)
        if "usage" in message:
            turn.usage = message_usage(message["usage"])
            turn.bills = message_bills(message["usage"], turn.model)
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
        """The message that this line continues, or a new one. Without an id, every line is a separate message."""
        identity = as_str(message.get("id"))
        request = as_str(event.get("requestId")) or as_str(event.get("request_id"))
        known = None if identity is None else self._by_id.get((identity, request))
        if known is not None:
            return known
        model = as_name(message.get("model"))
        is_synthetic = model == SYNTHETIC_MODEL
        turn = ClaudeCodeTurn(
            source="system" if is_synthetic else "agent",
            sub_agent=sub_agent,
            timestamp=as_str(event.get("timestamp")),
            model=None if is_synthetic else model,
            is_error=is_synthetic and any(event.get(mark) for mark in _ERROR_MARKS),
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
            # The API's default: a result without an error mark is no error.
            extra={"is_error": block.get("is_error") is True},
        )

    def _add_input(self, event: Mapping[str, Any], sub_agent: str | None) -> None:
        # Messages that the program itself adds as the user, such as the text of a skill.
        is_synthetic = event.get("isSynthetic") is True or event.get("isMeta") is True
        turn = ClaudeCodeTurn(
            source="system" if is_synthetic else "user", sub_agent=sub_agent, timestamp=as_str(event.get("timestamp"))
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
        """Count characters against the limit; returns whether they fit."""
        self._remaining_characters -= characters
        return self._remaining_characters >= 0


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [as_dict(block) for block in as_list(content)]
