"""aider's analytics log (`--analytics-log`): one event per line, exact where what it prints is rounded.

`prompt_tokens` are all tokens sent, cached ones among them, and nothing says how many: input without cache is unknown.
Names of models are blacked out. What was not answered is logged with an estimate and no tokens received.
"""

from dataclasses import replace

from outweigh.record.usage import NO_USAGE, Usage
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.aider import ROUNDED, UNCOUNTED
from outweigh.transcript.event_reader import EventReader, ended
from outweigh.transcript.failure import Failure, FailureKind
from outweigh.transcript.failure_text import failure_of_text
from outweigh.transcript.fields import amount_at, count_at, table_at, text_at
from outweigh.transcript.json_lines import Event
from outweigh.transcript.token_counts import together

CACHE_NOT_TOLD = "aider counts cached tokens as input and does not say how many there were: {sent:,} tokens were sent"


class AiderLogReader(EventReader):
    """Reads one analytics log."""

    def __init__(self) -> None:
        super().__init__()
        self._received: list[int | None] = []
        self._sent = 0
        self._cost_usd: float | None = None
        self._finished = False
        self._failure: Failure | None = None

    def _take(self, event: Event) -> None:
        properties = table_at(event, "properties")
        match text_at(event, "event"):
            case "message_send":
                self._answer(properties)
            case "message_send_exception":
                words = text_at(properties, "exception") or "an exception without words"
                self._failure = failure_of_text(words, otherwise=FailureKind.CRASH)
            case "exit":
                self._finished = True

    def _answer(self, properties: Event) -> None:
        received = count_at(properties, "completion_tokens")
        if received != 0:
            self._failure = None
            self._received.append(received)
            self._sent += count_at(properties, "prompt_tokens") or 0
        # The last total counts; it is 0 where aider knows no price.
        self._cost_usd = amount_at(properties, "total_cost") or None

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        output = together(*self._received) if self._received else None
        told = (UNCOUNTED, CACHE_NOT_TOLD.format(sent=self._sent)) if self._received else ()
        return AgentReport(
            version=None,
            model=None,
            session_id=None,
            usage=Usage(input_tokens=None, output_tokens=output, cache_read_tokens=None, cache_write_tokens=None),
            usage_by_model={},
            cost_usd=self._cost_usd,
            duration_seconds=None,
            step_count=len(self._received),
            tool_call_count=None,
            request_count=len(self._received),
            finished=self._finished,
            failure=ended(self._finished, self._failure),
            final_text=None,
            steps=(),
            loaded=None,
            warnings=(*warnings, *told),
        )


def with_log(printed: AgentReport, log: AgentReport) -> AgentReport:
    """What was printed, with the figures and the end from the log; the reason of a failure is printed alone."""
    known = printed.failure if printed.failure and printed.failure.kind is not FailureKind.NO_RESULT else log.failure
    rest = tuple(warning for warning in printed.warnings if warning not in (UNCOUNTED, ROUNDED))
    return replace(
        printed,
        usage=NO_USAGE if log.usage.output_tokens is None else log.usage,
        cost_usd=log.cost_usd,
        step_count=log.step_count,
        request_count=log.request_count,
        finished=log.finished,
        failure=ended(log.finished, known),
        warnings=(*rest, *log.warnings),
    )
