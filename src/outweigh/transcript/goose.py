"""What `goose run` writes: `--output-format stream-json` (one message per line) or `json` (one document at the end).

The totals come with the end and count cached tokens within input; versions that do not say how many were cached leave
the input unknown. goose exits with 0 although it failed, and tells of it in words, as if the model had said them.
"""

from outweigh.record.usage import NO_USAGE, Usage
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.event_reader import EventReader, ended
from outweigh.transcript.failure import Failure, FailureKind, failure
from outweigh.transcript.failure_text import failure_of_text
from outweigh.transcript.fields import (
    arguments_of,
    as_text,
    at,
    count_at,
    flag_at,
    moment_at,
    name_at,
    table_at,
    tables_at,
    text_at,
)
from outweigh.transcript.json_lines import Event
from outweigh.transcript.skill_use import seen_in_calls
from outweigh.transcript.step_list import StepList
from outweigh.transcript.token_counts import unless_empty, without

UNCOUNTED = "goose asks a model for a title of the session, and counts neither that request nor its tokens"
CACHE_NOT_TOLD = "goose counts cached tokens as input and does not say how many there were: {sent:,} tokens were sent"

_TURN_LIMIT = "I've reached the maximum number of actions I can do without user input."
# How goose begins and ends what it says in the model's place.
_OWN_WORDS = (
    ("Ran into this error", "transient or recoverable error."),
    ("Ran into this error trying to compact", "create a new session"),
    ("Network error", "try again."),
    ("Credits exhausted", ""),
    ("Unable to continue: Context limit still exceeded", ""),
    ("The model returned an empty response", ""),
    (_TURN_LIMIT, ""),
)


class GooseReader(EventReader):
    """Reads the output of one `goose run`, in either format."""

    def __init__(self) -> None:
        super().__init__()
        self._usage = NO_USAGE
        self._sent: int | None = None
        self._finished = False
        self._error: str | None = None
        self._model: str | None = None
        self._message_id: str | None = None
        self._answers: set[str] = set()
        self._steps = StepList()

    def _take(self, event: Event) -> None:
        match text_at(event, "type"):
            case "message":
                self._message(table_at(event, "message"))
            case "error":
                self._finished, self._error = True, text_at(event, "error") or "an error without words"
            case "complete":
                self._finished = True
                self._count(event)
            case None if "messages" in event:
                for message in tables_at(event, "messages"):
                    self._message(message)
                self._finished = "metadata" in event
                self._count(table_at(event, "metadata"))

    def _message(self, message: Event) -> None:
        """A message, or the next piece of one: pieces of an answer share its id."""
        message_id, role = text_at(message, "id"), text_at(message, "role")
        when = moment_at(message, "created")
        if message_id != self._message_id or role != "assistant":
            self._steps.close()
        self._message_id = message_id
        if at(message, "metadata", "inference") is not None:
            self._answers.add(message_id or f"unnamed {len(self._answers)}")
            self._model = name_at(message, "metadata", "inference", "requestedModel")
        for block in tables_at(message, "content"):
            self._block(block, role == "assistant", when)
        if role == "assistant":
            self._steps.note(model=name_at(message, "metadata", "inference", "requestedModel"))

    def _block(self, block: Event, is_agent: bool, when: str | None) -> None:
        match text_at(block, "type"):
            case "text" if is_agent:
                self._said(text_at(block, "text") or "", when)
            case "text":
                self._steps.add("user", text_at(block, "text") or "", when)
            case "thinking":
                self._steps.think(text_at(block, "thinking") or "", when)
            case "toolRequest":
                call = table_at(block, "toolCall", "value")
                name, arguments = name_at(call, "name") or "unknown", arguments_of(at(call, "arguments"))
                self._steps.call(text_at(block, "id") or "unknown", name, arguments, when)
            case "toolResponse":
                self._result(text_at(block, "id") or "unknown", table_at(block, "toolResult"))
            case "error":
                self._error = text_at(block, "message") or "an error without words"

    def _said(self, words: str, when: str | None) -> None:
        """What the model says, or goose in its place; when the model speaks again, whatever happened was overcome."""
        if _is_own(words):
            self._error = words
            self._steps.add("system", words, when)
        else:
            self._error = None
            self._steps.say(words, when)

    def _result(self, call_id: str, result: Event) -> None:
        refused = text_at(result, "status") == "error"
        content = at(result, "error") if refused else at(result, "value", "content")
        self._steps.result(call_id, as_text(content), refused or flag_at(result, "value", "isError"))

    def _count(self, totals: Event) -> None:
        read, written = count_at(totals, "cache_read_input_tokens"), count_at(totals, "cache_write_input_tokens")
        self._sent = count_at(totals, "input_tokens")
        self._usage = unless_empty(
            Usage(
                input_tokens=without(self._sent, read, written),
                output_tokens=count_at(totals, "output_tokens"),
                cache_read_tokens=read,
                cache_write_tokens=written,
            )
        )

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        steps = self._steps.steps()
        return AgentReport(
            version=None,
            model=self._model,
            session_id=None,
            usage=self._usage,
            usage_by_model={},
            cost_usd=None,
            duration_seconds=None,
            step_count=self._steps.agent_step_count,
            tool_call_count=self._steps.tool_call_count,
            request_count=len(self._answers) or None,
            finished=self._finished,
            failure=ended(self._finished, self._failure()),
            final_text=self._steps.last_words,
            steps=steps,
            loaded=seen_in_calls(steps),
            warnings=(*warnings, *self._own_warnings(), *self._steps.warnings()),
        )

    def _failure(self) -> Failure | None:
        if self._error is None:
            return None
        if self._error.startswith(_TURN_LIMIT):
            return failure(FailureKind.TURN_LIMIT, self._error)
        return failure_of_text(self._error, otherwise=FailureKind.CRASH)

    def _own_warnings(self) -> tuple[str, ...]:
        if self._usage == NO_USAGE:
            return ()
        if self._usage.input_tokens is None and self._sent:
            return (UNCOUNTED, CACHE_NOT_TOLD.format(sent=self._sent))
        return (UNCOUNTED,)


def _is_own(words: str) -> bool:
    return any(words.startswith(first) and last in words for first, last in _OWN_WORDS)
