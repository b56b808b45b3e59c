"""Reads the trajectory file of mini-swe-agent: one JSON document, written again after every step.

It holds the models' own answers, chat completions or responses, each with its usage; all are summed, those included
that the agent could not use. Formats 1 (commands within the text) and 1.1 (tool calls, commands in `extra`) are
read.
"""

import re

from outweigh.model.failure import Failure, FailureKind, failure_from_text, make_failure
from outweigh.model.json_text import JsonObject
from outweigh.model.untrusted_json import (
    amount_at,
    count_at,
    dict_at,
    dicts_at,
    int_at,
    name_at,
    str_at,
    timestamp_at,
    to_text,
    value_at,
)
from outweigh.model.usage import Usage, sum_usage
from outweigh.transcript.agent_report import AgentReport, EventReader, failure_or_unfinished
from outweigh.transcript.atif import AtifMetrics
from outweigh.transcript.token_counts import read_provider_usage
from outweigh.transcript.tool_calls import setup_from_calls
from outweigh.transcript.trajectory_builder import TrajectoryBuilder

_SHELL_TOOL = "bash"
_NOT_EXECUTED = "action was not executed"
"""The note on the command that submits the work: it ends the run and is not executed."""

_COMMAND = re.compile(r"```(?:bash|mswea_bash_command)\s*\n(.*?)\n```", re.DOTALL)
_RETURN_CODE = re.compile(r"<returncode>\s*(-?\d{1,9})\s*(?:</returncode>|\n)")


class MiniSweConversation:
    """The conversation, message by message."""

    def __init__(self) -> None:
        self.steps = TrajectoryBuilder()
        self.usages: list[Usage] = []
        self.final_text = ""
        self._open_calls: list[str] = []

    def take(self, message: JsonObject) -> None:
        """Read one message."""
        extra = dict_at(message, "extra")
        content = to_text(value_at(message, "content"))
        when = timestamp_at(extra, "timestamp")
        self.final_text = content
        if str_at(message, "object") == "response":
            self._answer(message, message, _texts_of_response(message), when)
        elif str_at(message, "role") == "assistant":
            self._answer(message, dict_at(extra, "response"), content, when)
        elif (code := int_at(extra, "returncode")) is not None or str_at(message, "role") == "tool":
            self._result(message, code)
        elif (found := _RETURN_CODE.search(content)) is not None and self._open_calls:
            self.steps.result(self._open_calls.pop(0), content, int(found[1]) != 0)
        elif str_at(message, "role") != "exit":
            self._words(message, content, when)

    def _words(self, message: JsonObject, content: str, when: str | None) -> None:
        """Add a message; one about an unusable answer contains that answer."""
        response = dict_at(message, "extra", "response")
        if response:
            self._answer({}, response, _texts_of_completion(response) or _texts_of_response(response), when)
        self.steps.add("system" if str_at(message, "role") == "system" else "user", content, when)

    def _answer(self, message: JsonObject, response: JsonObject, content: str, when: str | None) -> None:
        self.steps.close()
        self._open_calls = []
        self.steps.say(content, when)
        self.steps.think(str_at(message, "reasoning_content") or _thoughts_of_response(response), when)
        actions = dicts_at(message, "extra", "actions") if message else []
        if message and "actions" not in dict_at(message, "extra"):
            actions = [{"command": command} for command in _COMMAND.findall(content)]
        for action in actions:
            call_id = name_at(action, "tool_call_id") or f"call_{self.steps.tool_call_count + 1}"
            self._open_calls.append(call_id)
            self.steps.call(call_id, _SHELL_TOOL, {"command": str_at(action, "command") or ""}, when)
        self._count(response, amount_at(message, "extra", "cost"))

    def _count(self, response: JsonObject, cost_usd: float | None) -> None:
        usage = read_provider_usage(dict_at(response, "usage"))
        self.usages.append(usage)
        counts = dict_at(response, "usage")
        self.steps.note(
            model=name_at(response, "model"),
            metrics=AtifMetrics(
                prompt_tokens=count_at(counts, "prompt_tokens") or count_at(counts, "input_tokens"),
                completion_tokens=usage.output_tokens,
                cached_tokens=usage.cache_read_tokens,
                cost_usd=cost_usd or None,  # a price is never 0 here, so 0 means that none is known
            ),
        )

    def _result(self, message: JsonObject, code: int | None) -> None:
        known = name_at(message, "tool_call_id") or name_at(message, "call_id")
        call_id = known or (self._open_calls.pop(0) if self._open_calls else "unknown")
        unknown = code is None or str_at(message, "extra", "exception_info") == _NOT_EXECUTED
        content = value_at(message, "extra", "raw_output")
        output = to_text(content if content is not None else value_at(message, "content"))
        self.steps.result(call_id, output, None if unknown else code != 0)


def _texts_of_completion(response: JsonObject) -> str:
    return "\n".join(str_at(choice, "message", "content") or "" for choice in dicts_at(response, "choices"))


def _texts_of_response(response: JsonObject) -> str:
    items = (item for item in dicts_at(response, "output") if str_at(item, "type") == "message")
    return "\n".join(to_text(value_at(item, "content")) for item in items)


def _thoughts_of_response(response: JsonObject) -> str:
    items = (item for item in dicts_at(response, "output") if str_at(item, "type") == "reasoning")
    return "\n".join(to_text(value_at(item, "summary")) for item in items)


class MiniSweAgentReader(EventReader):
    """Reads one trajectory file."""

    def __init__(self) -> None:
        super().__init__()
        self._document: JsonObject = {}

    def _take(self, event: JsonObject) -> None:
        self._document = event

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        info = dict_at(self._document, "info")
        conversation = MiniSweConversation()
        for message in dicts_at(self._document, "messages"):
            conversation.take(message)
        finished = name_at(info, "exit_status") is not None
        model = name_at(info, "config", "model", "model_name")
        usage = sum_usage(conversation.usages)
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
            failure=failure_or_unfinished(finished, _failure(info, conversation.final_text)),
            final_text=str_at(info, "submission") or conversation.steps.final_text,
            steps=steps,
            loaded=setup_from_calls(steps),
            warnings=(*warnings, *cost_warnings, *conversation.steps.warnings()),
        )


def _cost(info: JsonObject) -> tuple[float | None, tuple[str, ...]]:
    """The cost and warnings; 0 means that no price is known, and a sum may lack requests without a price."""
    cost_usd = amount_at(info, "model_stats", "instance_cost")
    if not cost_usd:
        return None, ()
    if str_at(info, "config", "model", "cost_tracking") == "ignore_errors":
        return cost_usd, ("mini-swe-agent ignores requests that it cannot price, so its cost may be too low",)
    return cost_usd, ()


def _failure(info: JsonObject, final_text: str) -> Failure | None:
    match name_at(info, "exit_status"):
        case None | "Submitted":
            return None
        case "LimitsExceeded":
            return _limit(info)
        case "TimeExceeded":
            return make_failure(FailureKind.TIMEOUT, "the agent's own limit of time was reached")
        case "RepeatedFormatError":
            return make_failure(FailureKind.NO_RESULT, "the model's answers held no command, several times in a row")
        case exception:
            return _exception(exception, final_text)


def _limit(info: JsonObject) -> Failure:
    """The limit that was reached: steps and dollars share one exit status, and the figures show which it was."""
    calls, limits = count_at(info, "model_stats", "api_calls"), dict_at(info, "config", "agent")
    step_limit = count_at(limits, "step_limit")
    if step_limit and calls is not None and calls >= step_limit:
        return make_failure(FailureKind.TURN_LIMIT, f"the limit of {step_limit:,} steps was reached")
    return make_failure(FailureKind.BUDGET_REACHED, f"the limit of ${amount_at(limits, 'cost_limit')} was reached")


def _exception(kind: str, words: str) -> Failure:
    """The failure of an exception that a request to the model raised."""
    if words.startswith("Error calculating cost"):
        return make_failure(FailureKind.UNKNOWN_MODEL, f"mini-swe-agent has no price for this model: {words}")
    if words.startswith("Global cost/call limit exceeded"):
        return make_failure(FailureKind.BUDGET_REACHED, words)
    return failure_from_text(f"{kind}: {words}", otherwise=FailureKind.CRASH)
