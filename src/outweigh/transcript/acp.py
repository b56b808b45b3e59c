"""What an agent says over the Agent Client Protocol: JSON-RPC messages, one per line, as the agent wrote them.

Its answers are known by their shape: who it is (`agentInfo`), which session and model it opened, and how the prompt
ended (`stopReason`). The usage that comes with the end is of the last request alone in the agents seen so far,
whatever the protocol says, so it counts only where nothing but one request can have been made. The cost of
`usage_update` is of the whole session.
"""

from outweigh.record.usage import NO_USAGE
from outweigh.transcript.acp_tools import call_arguments, call_failed, call_output, tool_name
from outweigh.transcript.acp_usage import acp_usage
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.event_reader import EventReader, ended
from outweigh.transcript.failure import Failure, FailureKind, failure, failure_of_http
from outweigh.transcript.failure_text import failure_of_text
from outweigh.transcript.fields import amount_at, as_text, at, name_at, number_at, table_at, tables_at, text_at
from outweigh.transcript.json_lines import Event
from outweigh.transcript.skill_use import seen_in_calls
from outweigh.transcript.step_list import StepList

AUTHENTICATION_REQUIRED = -32000
PARTIAL_USAGE = "the tokens that the agent tells may be those of its last request alone, and are left out"
ENDED_STATES = frozenset({"completed", "failed"})

_BY_STOP_REASON = {
    "max_tokens": failure(FailureKind.CONTEXT_OVERFLOW, "the last answer reached the limit of its length"),
    "max_turn_requests": failure(FailureKind.TURN_LIMIT, "the limit of requests in a turn was reached"),
    "refusal": failure(FailureKind.REFUSAL, "the agent refused to go on"),
    "cancelled": failure(FailureKind.NO_RESULT, "the prompt was cancelled"),
}


class AcpReader(EventReader):
    """Reads what an agent writes to its client, from `initialize` to the end of one prompt."""

    def __init__(self) -> None:
        super().__init__()
        self._agent: Event = {}
        self._session: str | None = None
        self._model: str | None = None
        self._usage = NO_USAGE
        self._cost_usd: float | None = None
        self._finished = False
        self._failure: Failure | None = None
        self._message_id: str | None = None
        self._calls: dict[str, Event] = {}
        self._steps = StepList()

    def _take(self, event: Event) -> None:
        if text_at(event, "method") == "session/update":
            self._update(table_at(event, "params", "update"))
        elif "method" not in event and isinstance(event.get("result"), dict):
            self._answer(event["result"])
        elif "method" not in event and isinstance(event.get("error"), dict):
            self._finished, self._failure = True, _failure(event["error"])

    def _answer(self, result: Event) -> None:
        self._agent = table_at(result, "agentInfo") or self._agent
        self._session = name_at(result, "sessionId") or self._session
        self._model = _model(result) or self._model
        if (reason := text_at(result, "stopReason")) is not None:
            self._finished, self._failure = True, _BY_STOP_REASON.get(reason)
            self._usage = acp_usage(table_at(result, "usage"))

    def _update(self, update: Event) -> None:
        match text_at(update, "sessionUpdate"):
            case "agent_message_chunk":
                self._begin(update)
                self._steps.say(_text(update))
            case "agent_thought_chunk":
                self._begin(update)
                self._steps.think(_text(update))
            case "user_message_chunk":
                self._steps.add("user", _text(update))
            case "tool_call" | "tool_call_update":
                self._tool(update)
            case "usage_update" if text_at(update, "cost", "currency") == "USD":
                self._cost_usd = amount_at(update, "cost", "amount") or None

    def _begin(self, update: Event) -> None:
        """Chunks of one message share an id, where the agent gives them one."""
        message_id = text_at(update, "messageId")
        if message_id != self._message_id:
            self._steps.close()
        self._message_id = message_id

    def _tool(self, update: Event) -> None:
        """A call, or news about one: each tells only what has changed."""
        call_id = text_at(update, "toolCallId") or "unknown"
        known = {key: value for key, value in update.items() if value is not None}
        call = self._calls[call_id] = self._calls.get(call_id, {}) | known
        self._steps.call(call_id, tool_name(call), call_arguments(call))
        if text_at(call, "status") in ENDED_STATES:
            self._steps.result(call_id, call_output(call), call_failed(call))
            self._steps.close()

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        steps = self._steps.steps()
        usage = NO_USAGE if self._calls else self._usage
        partial = (PARTIAL_USAGE,) if usage != self._usage else ()
        return AgentReport(
            version=name_at(self._agent, "version"),
            model=self._model,
            session_id=self._session,
            usage=usage,
            usage_by_model={} if self._model is None or usage == NO_USAGE else {self._model: usage},
            cost_usd=self._cost_usd,
            duration_seconds=None,
            step_count=self._steps.agent_step_count,
            tool_call_count=self._steps.tool_call_count,
            request_count=None if usage == NO_USAGE else 1,
            finished=self._finished,
            failure=ended(self._finished, self._failure),
            final_text=self._steps.last_words,
            steps=steps,
            loaded=seen_in_calls(steps),
            warnings=(*warnings, *partial, *self._steps.warnings()),
        )


def _text(update: Event) -> str:
    content = at(update, "content")
    return text_at(content, "text") or ("" if text_at(content, "type") == "text" else as_text(content))


def _model(result: Event) -> str | None:
    """The model a session was opened with, in either of the places where agents tell it."""
    options = (option for option in tables_at(result, "configOptions") if text_at(option, "id") == "model")
    chosen = next((name_at(option, "currentValue") for option in options), None)
    return chosen or name_at(result, "models", "currentModelId")


def _failure(error: Event) -> Failure:
    code, message = number_at(error, "code"), text_at(error, "message") or "an error without words"
    if code is not None and 400 <= code < 600:
        return failure_of_http(code, message)
    if code == AUTHENTICATION_REQUIRED:
        return failure(FailureKind.UNAUTHORIZED, message)
    return failure_of_text(message, otherwise=FailureKind.CRASH)
