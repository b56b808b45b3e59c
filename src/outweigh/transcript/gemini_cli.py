"""What Gemini CLI writes: `--output-format stream-json` (one event per line) or `json` (one document at the end).

Both count thoughts apart from the answer and cached tokens within the prompt. The stream has no figure for thoughts,
only a total they are part of; the document has one, and counts requests, but shows no steps. Neither names the version.
"""

from outweigh.record.usage import Usage
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.event_reader import EventReader, ended
from outweigh.transcript.failure import Failure, FailureKind, failure
from outweigh.transcript.failure_text import exit_code_told, failure_of_text
from outweigh.transcript.fields import as_text, at, count_at, name_at, seconds_at, table_at, text_at
from outweigh.transcript.foreign import name, total_usage
from outweigh.transcript.json_lines import Event
from outweigh.transcript.skill_use import seen_in_calls
from outweigh.transcript.step_list import StepList
from outweigh.transcript.token_counts import is_empty, together, unless_empty, without


class GeminiCliReader(EventReader):
    """Reads the output of one `gemini -p`, in either format."""

    def __init__(self) -> None:
        super().__init__()
        self._session: str | None = None
        self._model: str | None = None
        self._stats: Event = {}
        self._usage_of: dict[str, Usage] = {}
        self._requests: int | None = None
        self._finished = False
        self._failure: Failure | None = None
        self._last_error: str | None = None
        self._steps = StepList()
        self._shows_steps = False
        self._notices: list[str] = []

    def _take(self, event: Event) -> None:
        self._session = name_at(event, "session_id") or self._session
        self._shows_steps |= "type" in event
        match text_at(event, "type"):
            case "init":
                self._model = name_at(event, "model")
            case "message":
                self._message(event)
            case "tool_use":
                call_id, tool = text_at(event, "tool_id") or "unknown", name_at(event, "tool_name") or "unknown"
                self._steps.call(call_id, tool, table_at(event, "parameters"), text_at(event, "timestamp"))
            case "tool_result":
                self._result(event)
            case "error":
                self._error(event)
            case "result":
                self._end(event, ok=text_at(event, "status") == "success")
                self._usage_of = {m: _streamed_usage(c) for m, c in table_at(self._stats, "models").items()}
            case None if "stats" in event or "error" in event:
                self._document(event)

    def _message(self, event: Event) -> None:
        content, when = as_text(at(event, "content")), text_at(event, "timestamp")
        if text_at(event, "role") == "assistant":
            self._steps.say(content, when)
        else:
            self._steps.add("user", content, when)

    def _result(self, event: Event) -> None:
        """A shell command that failed counts as a success for Gemini CLI; its output tells otherwise."""
        output = as_text(at(event, "output")) or text_at(event, "error", "message") or ""
        failed = text_at(event, "status") != "success" or bool(exit_code_told(output))
        self._steps.result(text_at(event, "tool_id") or "unknown", output, failed)
        self._steps.close()

    def _error(self, event: Event) -> None:
        message = text_at(event, "message") or "an error without words"
        if text_at(event, "severity") == "warning":
            self._notices.append(message)
        else:
            self._last_error = message

    def _document(self, event: Event) -> None:
        self._end(event, ok="error" not in event)
        models = table_at(self._stats, "models")
        self._model = name(next(iter(models), None))
        self._usage_of = {model: _counted_usage(table_at(of, "tokens")) for model, of in models.items()}
        answered = (
            without(count_at(of, "api", "totalRequests"), count_at(of, "api", "totalErrors")) for of in models.values()
        )
        self._requests = together(*answered) if models else None
        if (response := name_at(event, "response")) is not None:
            self._steps.say(response)

    def _end(self, event: Event, ok: bool) -> None:
        self._finished = True
        self._stats = table_at(event, "stats")
        if not ok:
            kind, words = text_at(event, "error", "type"), text_at(event, "error", "message")
            self._failure = _failure(kind, words or self._last_error or "it ended with an error and no words")

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        steps = self._steps.steps()
        return AgentReport(
            version=None,
            model=self._model,
            session_id=self._session,
            usage=unless_empty(total_usage(list(self._usage_of.values()))),
            usage_by_model={model: usage for model, usage in self._usage_of.items() if not is_empty(usage)},
            cost_usd=None,
            duration_seconds=seconds_at(self._stats, "duration_ms") or None,
            step_count=self._steps.agent_step_count if self._shows_steps else None,
            tool_call_count=self._tool_call_count(),
            request_count=self._requests,
            finished=self._finished,
            failure=ended(self._finished, self._failure),
            final_text=self._steps.last_words,
            steps=steps,
            loaded=seen_in_calls(steps) if self._shows_steps else None,
            warnings=(*warnings, *(f"gemini: {notice}" for notice in self._notices), *self._steps.warnings()),
        )

    def _tool_call_count(self) -> int | None:
        return self._steps.tool_call_count if self._shows_steps else count_at(self._stats, "tools", "totalCalls")


def _streamed_usage(counts: Event) -> Usage:
    """A model's figures in the stream. What the total has beyond the prompt is the answer and its thoughts."""
    prompt, read = count_at(counts, "input_tokens"), count_at(counts, "cached")
    return _usage(without(prompt, read), without(count_at(counts, "total_tokens"), prompt), read)


def _counted_usage(counts: Event) -> Usage:
    """A model's figures in the document. Results of built-in tools are prompt too, and counted apart."""
    read = count_at(counts, "cached")
    prompt = together(count_at(counts, "prompt"), count_at(counts, "tool"))
    output = together(count_at(counts, "candidates"), count_at(counts, "thoughts"))
    return _usage(without(prompt, read), output, read)


def _usage(input_tokens: int | None, output_tokens: int | None, read: int | None) -> Usage:
    """The API caches on its own and has no count of what it writes: all of the prompt is either read or new."""
    return Usage(input_tokens=input_tokens, output_tokens=output_tokens, cache_read_tokens=read, cache_write_tokens=0)


def _failure(kind: str | None, words: str) -> Failure:
    if kind == "FatalTurnLimitedError" or "max session turns" in words.lower():
        return failure(FailureKind.TURN_LIMIT, words)
    return failure_of_text(words, otherwise=FailureKind.CRASH)
