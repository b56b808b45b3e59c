"""What `opencode run --format json` writes: one event per line.

A step is a request, with tokens and dollars of its own: they are summed. Input is without the cache, output without
reasoning. Dollars come from the prices in OpenCode's configuration, so 0 means that it has none. The stream names
neither model nor version, and has no closing event: a run ends with a step that wants no more tools, or with an error.
"""

from outweigh.record.usage import NO_USAGE, Usage
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.atif import AtifMetrics
from outweigh.transcript.event_reader import EventReader, ended
from outweigh.transcript.failure import Failure, FailureKind, failure, failure_of_http
from outweigh.transcript.failure_text import failure_of_text, retry_after
from outweigh.transcript.fields import (
    amount_at,
    as_text,
    at,
    count_at,
    moment_at,
    name_at,
    number_at,
    table_at,
    text_at,
)
from outweigh.transcript.foreign import total_usage
from outweigh.transcript.json_lines import Event
from outweigh.transcript.skill_use import seen_in_calls
from outweigh.transcript.step_list import StepList
from outweigh.transcript.token_counts import together, unless_empty

GOES_ON = frozenset({"tool-calls", "unknown"})
"""Reasons for which a step ended and another follows."""

UNCOUNTED = "opencode asks a model for a title of the session, and counts neither that request nor its tokens"

_BY_NAME = {
    "ContextOverflowError": FailureKind.CONTEXT_OVERFLOW,
    "ProviderAuthError": FailureKind.UNAUTHORIZED,
    "ProviderModelNotFoundError": FailureKind.UNKNOWN_MODEL,
    "ContentFilterError": FailureKind.REFUSAL,
}


class OpenCodeReader(EventReader):
    """Reads the stream of one `opencode run`."""

    def __init__(self) -> None:
        super().__init__()
        self._session: str | None = None
        self._usages: list[Usage] = []
        self._costs_usd: list[float | None] = []
        self._finished = False
        self._failure: Failure | None = None
        self._steps = StepList()

    def _take(self, event: Event) -> None:
        self._session = name_at(event, "sessionID") or self._session
        part, when = table_at(event, "part"), moment_at(event, "timestamp", units_per_second=1000)
        match text_at(event, "type"):
            case "step_start":
                self._finished, self._failure = False, None
                self._steps.close()
            case "text":
                self._steps.say(text_at(part, "text") or "", when)
            case "reasoning":
                self._steps.think(text_at(part, "text") or "", when)
            case "tool_use":
                self._tool(part, when)
            case "step_finish":
                self._step_finish(part)
            case "error":
                self._finished, self._failure = True, _failure(table_at(event, "error"))

    def _tool(self, part: Event, when: str | None) -> None:
        """A tool call and what came of it; of a command the exit code tells, since its state is the same either way."""
        call_id, state = text_at(part, "callID") or "unknown", table_at(part, "state")
        self._steps.call(call_id, name_at(part, "tool") or "unknown", table_at(state, "input"), when)
        exit_code = number_at(state, "metadata", "exit")
        failed = text_at(state, "status") == "error" or bool(exit_code)
        self._steps.result(call_id, as_text(at(state, "output")) or text_at(state, "error") or "", failed)

    def _step_finish(self, part: Event) -> None:
        usage, cost_usd = _usage(table_at(part, "tokens")), amount_at(part, "cost")
        self._usages.append(usage)
        self._costs_usd.append(None if usage == NO_USAGE else cost_usd)
        self._steps.note(metrics=_metrics(usage, cost_usd))
        self._steps.close()
        reason = text_at(part, "reason") or "unknown"
        self._finished = reason not in GOES_ON
        if reason == "content-filter":
            self._failure = failure(FailureKind.REFUSAL, "the model's answer was withheld by a content filter")
        if reason == "length":
            self._failure = failure(FailureKind.CONTEXT_OVERFLOW, "the last answer reached the limit of its length")

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        steps = self._steps.steps()
        return AgentReport(
            version=None,
            model=None,
            session_id=self._session,
            usage=total_usage(self._usages),
            usage_by_model={},
            cost_usd=self._cost_usd(),
            duration_seconds=None,
            step_count=self._steps.agent_step_count,
            tool_call_count=self._steps.tool_call_count,
            request_count=len(self._usages),
            finished=self._finished,
            failure=ended(self._finished, self._failure),
            final_text=self._steps.last_words,
            steps=steps,
            loaded=seen_in_calls(steps),
            warnings=(*warnings, *((UNCOUNTED,) if self._usages else ()), *self._steps.warnings()),
        )

    def _cost_usd(self) -> float | None:
        known = [cost_usd for cost_usd in self._costs_usd if cost_usd is not None]
        return (sum(known) or None) if len(known) == len(self._costs_usd) else None


def _usage(tokens: Event) -> Usage:
    return unless_empty(
        Usage(
            input_tokens=count_at(tokens, "input"),
            output_tokens=together(count_at(tokens, "output"), count_at(tokens, "reasoning")),
            cache_read_tokens=count_at(tokens, "cache", "read"),
            cache_write_tokens=count_at(tokens, "cache", "write"),
        )
    )


def _metrics(usage: Usage, cost_usd: float | None) -> AtifMetrics:
    return AtifMetrics(
        prompt_tokens=together(usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens),
        completion_tokens=usage.output_tokens,
        cached_tokens=usage.cache_read_tokens,
        cost_usd=cost_usd or None,
    )


def _failure(error: Event) -> Failure:
    name, message = text_at(error, "name") or "error", text_at(error, "data", "message") or ""
    if (status := count_at(error, "data", "statusCode")) is not None:
        wait = text_at(error, "data", "responseHeaders", "retry-after")
        return failure_of_http(status, message, retry_after(f"retry after {wait}" if wait else message))
    if name in _BY_NAME:
        return failure(_BY_NAME[name], message)
    return failure_of_text(f"{name}: {message}", otherwise=FailureKind.CRASH)
