"""Reads what `codex exec --json` writes: one event per line.

`turn.completed` carries the totals of the whole thread, so the last one counts and nothing is summed. Its input
includes what the cache held, its output includes reasoning. The stream names neither version nor model, counts no
requests and shows no prompt; the session file does.
"""

from msgspec.structs import replace

from outweigh.model.failure import Failure, FailureKind, failure_from_text
from outweigh.model.json_text import JsonObject
from outweigh.model.untrusted_json import count_at, dict_at, dicts_at, int_at, name_at, str_at, to_text, value_at
from outweigh.model.usage import NO_USAGE, BilledUsage, Usage
from outweigh.transcript.agent_report import AgentReport, EventReader, failure_or_unfinished
from outweigh.transcript.token_counts import subtract_counts, usage_unless_empty
from outweigh.transcript.tool_calls import setup_from_calls
from outweigh.transcript.trajectory_builder import TrajectoryBuilder

_FAILED_STATES = frozenset({"failed", "declined"})


class CodexReader(EventReader):
    """Reads the stream of one `codex exec`."""

    def __init__(self) -> None:
        super().__init__()
        self._thread: str | None = None
        self._usage = NO_USAGE
        self._searches: set[str] = set()
        self._steps = TrajectoryBuilder()
        self._finished = False
        self._failure: Failure | None = None
        self._last_error: str | None = None
        self._notices: list[str] = []

    def _take(self, event: JsonObject) -> None:
        match str_at(event, "type"):
            case "thread.started":
                self._thread = name_at(event, "thread_id")
            case "turn.started":
                self._finished, self._failure = False, None
            case "turn.completed":
                self._finished, self._failure = True, None
                self._usage = codex_usage(dict_at(event, "usage"))
            case "turn.failed":
                self._finished = True
                self._failure = codex_failure(str_at(event, "error", "message") or "the turn failed")
            case "error":
                self._last_error = str_at(event, "message")
            case "item.started" | "item.updated":
                self._item(dict_at(event, "item"), done=False)
            case "item.completed":
                self._item(dict_at(event, "item"), done=True)

    def _item(self, item: JsonObject, done: bool) -> None:
        """Read one item; each is a step, because the stream does not show where requests begin."""
        self._last_error = None  # it continued, so the error was overcome
        match str_at(item, "type"):
            case "agent_message" if done:
                self._steps.say(str_at(item, "text") or "")
                self._steps.close()
            case "reasoning" if done:
                self._steps.think(str_at(item, "text") or "")
            case "error" if done:
                self._notices.append(str_at(item, "message") or "codex reports an error without a message")
            case "command_execution" | "file_change" | "mcp_tool_call" | "collab_tool_call" | "web_search":
                self._tool(item, done)

    def _tool(self, item: JsonObject, done: bool) -> None:
        call_id = str_at(item, "id") or f"item_{self._steps.tool_call_count}"
        self._steps.call(call_id, tool_name(item), tool_arguments(item))
        if done:
            self._steps.result(call_id, tool_output(item), tool_failed(item))
            self._steps.close()
        if done and str_at(item, "type") == "web_search" and is_search(item):
            self._searches.add(call_id)

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        known = self._failure
        if not self._finished and self._last_error is not None:
            known = codex_failure(self._last_error)
        steps = self._steps.steps()
        return AgentReport(
            version=None,
            model=None,
            session_id=self._thread,
            usage=self._usage,
            usage_by_model={},
            cost_usd=None,
            duration_seconds=None,
            step_count=self._steps.agent_step_count,
            tool_call_count=self._steps.tool_call_count,
            request_count=None,
            finished=self._finished,
            failure=failure_or_unfinished(self._finished, known),
            final_text=self._steps.final_text,
            steps=steps,
            loaded=setup_from_calls(steps),
            warnings=(*warnings, *(f"codex: {notice}" for notice in self._notices), *self._steps.warnings()),
            billed=self._bills(),
        )

    def _bills(self) -> tuple[BilledUsage, ...]:
        """One bill of all requests: the stream states neither their number nor their model."""
        if self._usage == NO_USAGE:
            return ()
        uses = {"web_search": len(self._searches)} if self._searches else {}
        return (BilledUsage(model=None, usage=billed_usage(self._usage), requests=None, hosted_uses=uses),)


def codex_usage(counts: JsonObject) -> Usage:
    """Codex's token counts in our units."""
    read, written = count_at(counts, "cached_input_tokens"), count_at(counts, "cache_write_input_tokens")
    return usage_unless_empty(
        Usage(
            # Versions that do not report cache writes count them as ordinary input.
            input_tokens=subtract_counts(count_at(counts, "input_tokens"), read, written or 0),
            output_tokens=count_at(counts, "output_tokens"),
            cache_read_tokens=read,
            cache_write_tokens=written,
        )
    )


def billed_usage(usage: Usage) -> Usage:
    """The counts to price: versions that do not report cache writes count them as ordinary input."""
    return usage if usage.cache_write_tokens is not None else replace(usage, cache_write_tokens=0)


def is_search(item: JsonObject) -> bool:
    """Whether a call of the web search made a search, which is billed, and did not read a page that it had found."""
    return (str_at(item, "action", "type") or "search") in ("search", "other")


def codex_failure(message: str) -> Failure:
    """The failure that a final error of Codex means; an unknown one is a crash of the agent."""
    return failure_from_text(message, otherwise=FailureKind.CRASH)


def tool_name(item: JsonObject) -> str:
    """The tool's name as the model knows it, or the kind of item where there is only one tool of its kind."""
    if (server := str_at(item, "server")) is not None:
        return f"{server}.{str_at(item, 'tool') or 'unknown'}"
    return name_at(item, "tool") or name_at(item, "type") or "unknown"


def tool_arguments(item: JsonObject) -> JsonObject:
    """The arguments of a tool call."""
    match str_at(item, "type"):
        case "command_execution":
            return {"command": str_at(item, "command") or ""}
        case "file_change":
            return {"changes": dicts_at(item, "changes")}
        case "web_search":
            return {"query": str_at(item, "query") or ""}
        case "collab_tool_call":
            return {"prompt": str_at(item, "prompt") or ""}
        case _:
            arguments = value_at(item, "arguments")
            return arguments if isinstance(arguments, dict) else {}


def tool_output(item: JsonObject) -> str:
    """The output of a tool call."""
    if (message := str_at(item, "error", "message")) is not None:
        return message
    if (output := str_at(item, "aggregated_output")) is not None:
        return output
    return to_text(value_at(item, "result", "content"))


def tool_failed(item: JsonObject) -> bool | None:
    """Whether it failed; unknown where the item has neither a state nor an exit code."""
    if (exit_code := int_at(item, "exit_code")) is not None:
        return exit_code != 0
    state = str_at(item, "status")
    return None if state is None else state in _FAILED_STATES
