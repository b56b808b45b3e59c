"""Claude Code's messages put together again: it writes one line per content block, and repeats the rest each time."""

from collections.abc import Iterator, Mapping
from typing import Any

from outweigh.record.usage import Usage
from outweigh.transcript.atif import AtifResult, AtifStep, AtifToolCall
from outweigh.transcript.claude_code_turn import Turn, message_usage
from outweigh.transcript.content_text import content_text
from outweigh.transcript.foreign import mapping, name, sequence, text, total_usage

SYNTHETIC_MODEL = "<synthetic>"
"""What Claude Code calls the model of messages that it made up itself, such as those about errors."""

KEPT_CHARACTERS = 64 * 2**20
"""Of the texts of a run no more than this is kept; counts and tokens are complete nevertheless."""

UNNAMED_MODEL = "unknown"
_ERROR_MARKS = ("error", "is_api_error_message", "isApiErrorMessage")
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


class Conversation:
    """All messages of a run, each once, in the order in which they began; sub-agents' among them."""

    def __init__(self, kept_characters: int = KEPT_CHARACTERS) -> None:
        self._turns: list[Turn] = []
        self._by_id: dict[tuple[str, str | None], Turn] = {}
        self._by_call: dict[str, Turn] = {}
        self._seen: set[str] = set()
        self._room = kept_characters
        self._stray_results = 0

    def add(self, event: Mapping[str, Any], sub_agent: str | None) -> None:
        """Take an `assistant` or `user` event of a stream or a session file; the same event twice counts once."""
        identity = text(event.get("uuid"))
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
    def answers(self) -> list[Turn]:
        """What models said, one entry per request."""
        return [turn for turn in self._turns if turn.source == "agent"]

    @property
    def last(self) -> Turn | None:
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
        return {model: total_usage(usages) for model, usages in found.items()}

    def warnings(self) -> Iterator[str]:
        """What is missing from the trajectory."""
        if self._stray_results:
            yield f"results of tools that answer no call that was seen: {self._stray_results:,}"
        if self._room < 0:
            yield "the texts of the trajectory are not complete: there were too many to keep"

    def _add_answer(self, event: Mapping[str, Any], sub_agent: str | None) -> None:
        message = mapping(event.get("message"))
        turn = self._turn_of(message, event, sub_agent)
        if "usage" in message:
            turn.usage = message_usage(message["usage"])
        turn.stop_reason = name(message.get("stop_reason")) or turn.stop_reason
        for block in _blocks(message):
            match text(block.get("type")):
                case "text":
                    self._keep(turn.texts, text(block.get("text")))
                case "thinking":
                    self._keep(turn.thoughts, text(block.get("thinking")))
                case kind if kind in _CALLS:
                    self._add_call(turn, block)
                case str(kind) if kind.endswith("tool_result"):
                    self._add_result(block)

    def _turn_of(self, message: Mapping[str, Any], event: Mapping[str, Any], sub_agent: str | None) -> Turn:
        """The message that this line goes on with, or a new one. Without an id, every line is a message of its own."""
        identity = text(message.get("id"))
        request = text(event.get("requestId")) or text(event.get("request_id"))
        known = None if identity is None else self._by_id.get((identity, request))
        if known is not None:
            return known
        model = name(message.get("model"))
        made_up = model == SYNTHETIC_MODEL
        turn = Turn(
            source="system" if made_up else "agent",
            sub_agent=sub_agent,
            timestamp=text(event.get("timestamp")),
            model=None if made_up else model,
            is_error=made_up and any(event.get(mark) for mark in _ERROR_MARKS),
        )
        self._turns.append(turn)
        if identity is not None:
            self._by_id[identity, request] = turn
        return turn

    def _add_call(self, turn: Turn, block: Mapping[str, Any]) -> None:
        identity, function = name(block.get("id")), name(block.get("name"))
        if identity is None or function is None or identity in self._by_call:
            return
        arguments = mapping(block.get("input"))
        fits = self._fits(sum(len(value) for value in arguments.values() if isinstance(value, str)))
        turn.calls[identity] = AtifToolCall(
            tool_call_id=identity, function_name=function, arguments=arguments if fits else {}
        )
        self._by_call[identity] = turn

    def _add_result(self, block: Mapping[str, Any]) -> None:
        identity = name(block.get("tool_use_id"))
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
        turn = Turn(source="system" if made_up else "user", sub_agent=sub_agent, timestamp=text(event.get("timestamp")))
        for block in _blocks(mapping(event.get("message"))):
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
    return [mapping(block) for block in sequence(content)]
