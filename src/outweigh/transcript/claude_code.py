"""Claude Code's own output, `-p --output-format stream-json --verbose` or `json`, as one report."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from outweigh.record.usage import Usage
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.claude_code_conversation import Conversation
from outweigh.transcript.claude_code_failure import Troubles, failure_of_result
from outweigh.transcript.claude_code_loaded import loaded_at_start
from outweigh.transcript.claude_code_result import (
    cost_usd,
    duration_seconds,
    only_model,
    result_warnings,
    totals,
)
from outweigh.transcript.failure import FailureKind, failure
from outweigh.transcript.foreign import count, name, sequence, text, total_usage
from outweigh.transcript.json_lines import JsonLines

Event = Mapping[str, Any]


class ClaudeCodeReader:
    """Takes the output as it comes. Lines, an array of events and the single result object are all understood."""

    def __init__(self) -> None:
        self._lines = JsonLines()
        self._conversation = Conversation()
        self._init: Event = {}
        self._result: Event | None = None
        self._troubles = Troubles()

    def feed(self, chunk: bytes) -> None:
        """Take the next piece of standard output, of any size."""
        for event in self._lines.feed(chunk):
            self._take(event)

    def report(self, now_epoch_seconds: float | None = None) -> AgentReport:
        """What has been said so far. With `now`, a rate limit that names the moment of its reset tells how long."""
        for event in self._lines.rest():
            self._take(event)
        so_far = self._so_far()
        return so_far if self._result is None else self._concluded(so_far, self._result, now_epoch_seconds)

    def _take(self, event: Event) -> None:
        self._troubles.note(event)
        match event.get("type"), event.get("subtype"):
            case (("assistant" | "user"), _):
                self._conversation.add(event, name(event.get("parent_tool_use_id")))
            case "system", "init":
                self._init = event
            case "result", _:
                self._result = event

    def _so_far(self) -> AgentReport:
        """Without a result there are no totals: what the messages say for themselves is all there is."""
        by_model = self._conversation.usage_by_model(settled=True)
        answers = self._conversation.answers
        steps = self._conversation.steps()
        streamed = bool(self._init or steps)
        return AgentReport(
            version=name(self._init.get("claude_code_version")),
            model=name(self._init.get("model")) or next((turn.model for turn in answers), None),
            session_id=name(self._init.get("session_id")),
            usage=total_usage(list(by_model.values())),
            usage_by_model=by_model,
            cost_usd=None,
            duration_seconds=None,
            step_count=len(answers) if streamed else None,
            tool_call_count=self._conversation.tool_call_count if streamed else None,
            request_count=len(answers) if streamed else None,
            finished=False,
            failure=failure(FailureKind.NO_RESULT, "Claude Code's output ends without a result"),
            final_text=None,
            steps=steps,
            loaded=loaded_at_start(self._init, steps) if self._init else None,
            warnings=tuple(self._warnings()),
        )

    def _concluded(self, so_far: AgentReport, result: Event, now: float | None) -> AgentReport:
        read = totals(result)
        return replace(
            so_far,
            model=so_far.model or only_model(read),
            session_id=name(result.get("session_id")) or so_far.session_id,
            usage=read.usage,
            usage_by_model=read.by_model,
            cost_usd=cost_usd(result),
            duration_seconds=duration_seconds(result),
            step_count=count(result.get("num_turns")) if so_far.step_count is None else so_far.step_count,
            request_count=so_far.request_count if _same_input(so_far.usage, read.usage) else None,
            finished=True,
            failure=failure_of_result(result, self._troubles, now),
            final_text=text(result.get("result")),
            warnings=(*so_far.warnings, *result_warnings(result, read)),
        )

    def _warnings(self) -> Iterator[str]:
        yield from self._lines.warnings()
        yield from self._conversation.warnings()
        if self._troubles.retried_requests:
            yield f"requests that failed and were tried again within the run: {self._troubles.retried_requests:,}"
        if sequence(self._init.get("plugin_errors")):
            yield f"plugins that could not be loaded: {len(self._init['plugin_errors']):,}"


def read_claude_code(output: bytes) -> AgentReport:
    """The report of an output that is there as a whole."""
    reader = ClaudeCodeReader()
    reader.feed(output)
    return reader.report()


def _same_input(of_messages: Usage, of_result: Usage) -> bool:
    """Whether the messages that were seen are all that the totals cover: their input is exact from the start."""
    kinds = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
    seen = [getattr(of_messages, kind) for kind in kinds]
    return None not in seen and seen == [getattr(of_result, kind) for kind in kinds]
