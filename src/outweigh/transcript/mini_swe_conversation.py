"""The messages of a mini-swe-agent trajectory, turned into steps and token counts."""

import re

from outweigh.record.usage import Usage
from outweigh.transcript.atif import AtifMetrics
from outweigh.transcript.fields import (
    amount_at,
    as_text,
    at,
    count_at,
    moment_at,
    name_at,
    number_at,
    table_at,
    tables_at,
    text_at,
)
from outweigh.transcript.json_lines import Event
from outweigh.transcript.provider_usage import provider_usage
from outweigh.transcript.step_list import StepList

TOOL = "bash"
NOT_EXECUTED = "action was not executed"
"""Stands beside the command that submits the work, which ends the run instead of being run."""

_COMMAND = re.compile(r"```(?:bash|mswea_bash_command)\s*\n(.*?)\n```", re.DOTALL)
_RETURN_CODE = re.compile(r"<returncode>\s*(-?\d{1,9})\s*(?:</returncode>|\n)")


class MiniSweConversation:
    """The conversation, message by message."""

    def __init__(self) -> None:
        self.steps = StepList()
        self.usages: list[Usage] = []
        self.last_words = ""
        self._open_calls: list[str] = []

    def take(self, message: Event) -> None:
        """Learn from one message."""
        extra = table_at(message, "extra")
        content = as_text(at(message, "content"))
        when = moment_at(extra, "timestamp")
        self.last_words = content
        if text_at(message, "object") == "response":
            self._answer(message, message, _texts_of_response(message), when)
        elif text_at(message, "role") == "assistant":
            self._answer(message, table_at(extra, "response"), content, when)
        elif (code := number_at(extra, "returncode")) is not None or text_at(message, "role") == "tool":
            self._result(message, code)
        elif (found := _RETURN_CODE.search(content)) is not None and self._open_calls:
            self.steps.result(self._open_calls.pop(0), content, int(found[1]) != 0)
        elif text_at(message, "role") != "exit":
            self._words(message, content, when)

    def _words(self, message: Event, content: str, when: str | None) -> None:
        """Somebody's words; those about an answer that could not be used carry that answer with them."""
        response = table_at(message, "extra", "response")
        if response:
            self._answer({}, response, _texts_of_completion(response) or _texts_of_response(response), when)
        self.steps.add("system" if text_at(message, "role") == "system" else "user", content, when)

    def _answer(self, message: Event, response: Event, content: str, when: str | None) -> None:
        self.steps.close()
        self._open_calls = []
        self.steps.say(content, when)
        self.steps.think(text_at(message, "reasoning_content") or _thoughts_of_response(response), when)
        actions = tables_at(message, "extra", "actions") if message else []
        if message and "actions" not in table_at(message, "extra"):
            actions = [{"command": command} for command in _COMMAND.findall(content)]
        for action in actions:
            call_id = name_at(action, "tool_call_id") or f"call_{self.steps.tool_call_count + 1}"
            self._open_calls.append(call_id)
            self.steps.call(call_id, TOOL, {"command": text_at(action, "command") or ""}, when)
        self._count(response, amount_at(message, "extra", "cost"))

    def _count(self, response: Event, cost_usd: float | None) -> None:
        usage = provider_usage(table_at(response, "usage"))
        self.usages.append(usage)
        counts = table_at(response, "usage")
        self.steps.note(
            model=name_at(response, "model"),
            metrics=AtifMetrics(
                prompt_tokens=count_at(counts, "prompt_tokens") or count_at(counts, "input_tokens"),
                completion_tokens=usage.output_tokens,
                cached_tokens=usage.cache_read_tokens,
                cost_usd=cost_usd or None,  # a price is never 0 here, so 0 means that none is known
            ),
        )

    def _result(self, message: Event, code: int | None) -> None:
        known = name_at(message, "tool_call_id") or name_at(message, "call_id")
        call_id = known or (self._open_calls.pop(0) if self._open_calls else "nobody's")
        unknown = code is None or text_at(message, "extra", "exception_info") == NOT_EXECUTED
        content = at(message, "extra", "raw_output")
        output = as_text(content if content is not None else at(message, "content"))
        self.steps.result(call_id, output, None if unknown else code != 0)


def _texts_of_completion(response: Event) -> str:
    return "\n".join(text_at(choice, "message", "content") or "" for choice in tables_at(response, "choices"))


def _texts_of_response(response: Event) -> str:
    items = (item for item in tables_at(response, "output") if text_at(item, "type") == "message")
    return "\n".join(as_text(at(item, "content")) for item in items)


def _thoughts_of_response(response: Event) -> str:
    items = (item for item in tables_at(response, "output") if text_at(item, "type") == "reasoning")
    return "\n".join(as_text(at(item, "summary")) for item in items)
