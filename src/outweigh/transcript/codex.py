"""What `codex exec --json` writes: one event per line.

`turn.completed` carries the totals of the whole thread, so the last one counts and nothing is summed. Its input
includes what the cache held, its output includes reasoning. The stream names neither version nor model, counts no
requests and shows no prompt; the session file does (`codex_session`).
"""

from outweigh.record.usage import NO_USAGE, Usage
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.event_reader import EventReader, ended
from outweigh.transcript.failure import Failure, FailureKind
from outweigh.transcript.failure_text import failure_of_text
from outweigh.transcript.fields import as_text, at, count_at, name_at, number_at, table_at, tables_at, text_at
from outweigh.transcript.json_lines import Event
from outweigh.transcript.skill_use import seen_in_calls
from outweigh.transcript.step_list import StepList
from outweigh.transcript.token_counts import unless_empty, without

FAILED_STATES = frozenset({"failed", "declined"})


class CodexReader(EventReader):
    """Reads the stream of one `codex exec`."""

    def __init__(self) -> None:
        super().__init__()
        self._thread: str | None = None
        self._usage = NO_USAGE
        self._steps = StepList()
        self._finished = False
        self._failure: Failure | None = None
        self._last_error: str | None = None
        self._notices: list[str] = []

    def _take(self, event: Event) -> None:
        match text_at(event, "type"):
            case "thread.started":
                self._thread = name_at(event, "thread_id")
            case "turn.started":
                self._finished, self._failure = False, None
            case "turn.completed":
                self._finished, self._failure = True, None
                self._usage = codex_usage(table_at(event, "usage"))
            case "turn.failed":
                self._finished = True
                self._failure = codex_failure(text_at(event, "error", "message") or "the turn failed")
            case "error":
                self._last_error = text_at(event, "message")
            case "item.started" | "item.updated":
                self._item(table_at(event, "item"), done=False)
            case "item.completed":
                self._item(table_at(event, "item"), done=True)

    def _item(self, item: Event, done: bool) -> None:
        """One thing the agent did; each is a step, since the stream does not show where requests begin."""
        self._last_error = None  # it went on, so whatever happened was overcome
        match text_at(item, "type"):
            case "agent_message" if done:
                self._steps.say(text_at(item, "text") or "")
                self._steps.close()
            case "reasoning" if done:
                self._steps.think(text_at(item, "text") or "")
            case "error" if done:
                self._notices.append(text_at(item, "message") or "codex tells of an error without words")
            case "command_execution" | "file_change" | "mcp_tool_call" | "collab_tool_call" | "web_search":
                self._tool(item, done)

    def _tool(self, item: Event, done: bool) -> None:
        call_id = text_at(item, "id") or f"item_{self._steps.tool_call_count}"
        self._steps.call(call_id, tool_name(item), tool_arguments(item))
        if done:
            self._steps.result(call_id, tool_output(item), tool_failed(item))
            self._steps.close()

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
            failure=ended(self._finished, known),
            final_text=self._steps.last_words,
            steps=steps,
            loaded=seen_in_calls(steps),
            warnings=(*warnings, *(f"codex: {notice}" for notice in self._notices), *self._steps.warnings()),
        )


def codex_usage(counts: Event) -> Usage:
    """Codex's token counts in our units."""
    read, written = count_at(counts, "cached_input_tokens"), count_at(counts, "cache_write_input_tokens")
    return unless_empty(
        Usage(
            # Versions that know no cache writes count them, if any, as ordinary input.
            input_tokens=without(count_at(counts, "input_tokens"), read, written or 0),
            output_tokens=count_at(counts, "output_tokens"),
            cache_read_tokens=read,
            cache_write_tokens=written,
        )
    )


def codex_failure(message: str) -> Failure:
    """What a closing error of Codex means; one that names nothing known is the agent's own breakdown."""
    return failure_of_text(message, otherwise=FailureKind.CRASH)


def tool_name(item: Event) -> str:
    """The tool's name as the model knows it, or the kind of item where there is only one tool of its kind."""
    if (server := text_at(item, "server")) is not None:
        return f"{server}.{text_at(item, 'tool') or 'unknown'}"
    return name_at(item, "tool") or name_at(item, "type") or "unknown"


def tool_arguments(item: Event) -> Event:
    """What the tool was asked."""
    match text_at(item, "type"):
        case "command_execution":
            return {"command": text_at(item, "command") or ""}
        case "file_change":
            return {"changes": tables_at(item, "changes")}
        case "web_search":
            return {"query": text_at(item, "query") or ""}
        case "collab_tool_call":
            return {"prompt": text_at(item, "prompt") or ""}
        case _:
            arguments = at(item, "arguments")
            return arguments if isinstance(arguments, dict) else {}


def tool_output(item: Event) -> str:
    """What came of it."""
    if (message := text_at(item, "error", "message")) is not None:
        return message
    if (output := text_at(item, "aggregated_output")) is not None:
        return output
    return as_text(at(item, "result", "content"))


def tool_failed(item: Event) -> bool | None:
    """Whether it failed; unknown where the item has neither a state nor an exit code."""
    if (exit_code := number_at(item, "exit_code")) is not None:
        return exit_code != 0
    state = text_at(item, "status")
    return None if state is None else state in FAILED_STATES
