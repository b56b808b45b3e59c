"""The trajectory file of mini-swe-agent: one JSON document, written again after every step.

It holds the models' own answers, chat completions or responses, each with its usage; all are summed, those included
that the agent could not use. Formats 1 (commands within the text) and 1.1 (tool calls, commands in `extra`) are read.
"""

from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.event_reader import EventReader, ended
from outweigh.transcript.failure import Failure, FailureKind, failure
from outweigh.transcript.failure_text import failure_of_text
from outweigh.transcript.fields import amount_at, count_at, name_at, table_at, tables_at, text_at
from outweigh.transcript.foreign import total_usage
from outweigh.transcript.json_lines import Event
from outweigh.transcript.mini_swe_conversation import MiniSweConversation
from outweigh.transcript.skill_use import seen_in_calls


class MiniSweAgentReader(EventReader):
    """Reads one trajectory file."""

    def __init__(self) -> None:
        super().__init__()
        self._document: Event = {}

    def _take(self, event: Event) -> None:
        self._document = event

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        info = table_at(self._document, "info")
        conversation = MiniSweConversation()
        for message in tables_at(self._document, "messages"):
            conversation.take(message)
        finished = name_at(info, "exit_status") is not None
        model = name_at(info, "config", "model", "model_name")
        usage = total_usage(conversation.usages)
        cost_usd, cost_warnings = _cost(info)
        steps = conversation.steps.steps()
        return AgentReport(
            version=name_at(info, "mini_version"),
            model=model,
            session_id=None,
            usage=usage,
            usage_by_model={} if model is None or not conversation.usages else {model: usage},
            cost_usd=cost_usd,
            duration_seconds=None,
            step_count=conversation.steps.agent_step_count,
            tool_call_count=conversation.steps.tool_call_count,
            request_count=len(conversation.usages) if finished or conversation.usages else None,
            finished=finished,
            failure=ended(finished, _failure(info, conversation.last_words)),
            final_text=text_at(info, "submission") or conversation.steps.last_words,
            steps=steps,
            loaded=seen_in_calls(steps),
            warnings=(*warnings, *cost_warnings, *conversation.steps.warnings()),
        )


def _cost(info: Event) -> tuple[float | None, tuple[str, ...]]:
    """Dollars; 0 is what is written where no price is known, and part of a sum may be missing the same way."""
    cost_usd = amount_at(info, "model_stats", "instance_cost")
    if not cost_usd:
        return None, ()
    if text_at(info, "config", "model", "cost_tracking") == "ignore_errors":
        return cost_usd, ("mini-swe-agent ignores requests that it cannot price, so its cost may be too low",)
    return cost_usd, ()


def _failure(info: Event, last_words: str) -> Failure | None:
    match name_at(info, "exit_status"):
        case None | "Submitted":
            return None
        case "LimitsExceeded":
            return _limit(info)
        case "TimeExceeded":
            return failure(FailureKind.TIMEOUT, "the agent's own limit of time was reached")
        case "RepeatedFormatError":
            return failure(FailureKind.NO_RESULT, "the model's answers held no command, several times in a row")
        case exception:
            return _exception(exception, last_words)


def _limit(info: Event) -> Failure:
    """Steps and dollars share one exit status; the figures tell which it was."""
    calls, limits = count_at(info, "model_stats", "api_calls"), table_at(info, "config", "agent")
    step_limit = count_at(limits, "step_limit")
    if step_limit and calls is not None and calls >= step_limit:
        return failure(FailureKind.TURN_LIMIT, f"the limit of {step_limit:,} steps was reached")
    return failure(FailureKind.BUDGET_REACHED, f"the limit of ${amount_at(limits, 'cost_limit')} was reached")


def _exception(kind: str, words: str) -> Failure:
    """Whatever was raised while the model was asked."""
    if words.startswith("Error calculating cost"):
        return failure(FailureKind.UNKNOWN_MODEL, f"mini-swe-agent has no price for this model: {words}")
    if words.startswith("Global cost/call limit exceeded"):
        return failure(FailureKind.BUDGET_REACHED, words)
    return failure_of_text(f"{kind}: {words}", otherwise=FailureKind.CRASH)
