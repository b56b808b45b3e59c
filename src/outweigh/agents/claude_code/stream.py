"""Reads Claude Code's output, `-p --output-format stream-json --verbose` or `json`, as one report.

Its first event lists what was loaded, its tool calls show which skills were used, and its last event has the
totals.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from outweigh.agents.claude_code.messages import ClaudeCodeConversation
from outweigh.agents.claude_code.result_event import (
    ModelErrors,
    cost_usd,
    duration_seconds,
    failure_from_result,
    only_model,
    read_totals,
    result_warnings,
)
from outweigh.model.failure import FailureKind, make_failure
from outweigh.model.json_text import JsonLineDecoder
from outweigh.model.run_record import ObservedServer, ObservedSetup
from outweigh.model.untrusted_json import as_dict, as_list, as_name, as_names, as_str
from outweigh.model.usage import Usage, sum_usage
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.atif import AtifStep
from outweigh.transcript.tool_calls import used_skills

_NOT_STARTED = frozenset({126, 127})
"""The exit codes of a shell for a command that it cannot start."""

READING_TOOLS = frozenset({"Read", "Bash"})
"""The tools by which Claude Code reads the SKILL.md of a skill."""


def _setup_from_init(
    init: Mapping[str, Any], steps: Iterable[AtifStep], hooks: tuple[str, ...] | None
) -> ObservedSetup:
    """The set-up that was observed in the `system/init` event, in events of hooks, and in tool calls."""
    used = used_skills(steps, READING_TOOLS)
    return ObservedSetup(
        skills=as_names(init.get("skills")),
        skills_used=used,
        mcp_servers=_servers(init.get("mcp_servers")),
        tools=as_names(init.get("tools")),
        memory_files=_memory_files(init.get("memory_paths")),
        seen_by=("init event", "tool calls") if used else ("init event",),
        agents=as_names(init.get("agents")),
        commands=as_names(init.get("slash_commands")),
        plugins=_plugins(init.get("plugins")),
        hooks=hooks,
    )


def _plugins(raw: object) -> tuple[str, ...] | None:
    return as_names([as_dict(each).get("name") for each in raw]) if isinstance(raw, list) else None


def _servers(raw: object) -> tuple[ObservedServer, ...] | None:
    if not isinstance(raw, list):
        return None
    servers = ((as_name(as_dict(each).get("name")), as_str(as_dict(each).get("status"))) for each in raw)
    return tuple(ObservedServer(name=named, state=state or "unknown") for named, state in servers if named is not None)


def _memory_files(raw: object) -> tuple[str, ...] | None:
    """Memory files, given as paths by purpose or as a list."""
    return as_names(list(raw.values())) if isinstance(raw, dict) else as_names(raw)


StreamEvent = Mapping[str, Any]


class ClaudeCodeReader:
    """Reads the output as it arrives: lines, an array of events, or a single result object.

    `shows_hooks` is whether it has an event for every hook that runs. Otherwise those that it has are not all.
    """

    def __init__(self, *, shows_hooks: bool = False) -> None:
        self._shows_hooks = shows_hooks
        self._hooks: dict[str, None] = {}
        self._failed_hooks: dict[str, None] = {}
        self._lines = JsonLineDecoder()
        self._conversation = ClaudeCodeConversation()
        self._init: StreamEvent = {}
        self._result: StreamEvent | None = None
        self._errors = ModelErrors()

    def feed(self, chunk: bytes) -> None:
        """Read the next chunk of standard output, of any size."""
        for event in self._lines.feed(chunk):
            self._take(event)

    def report(self, now_epoch_seconds: float | None = None) -> AgentReport:
        """The report so far. With `now`, a rate limit that states when it resets gives the time to wait."""
        for event in self._lines.finish():
            self._take(event)
        so_far = self._so_far()
        return so_far if self._result is None else self._concluded(so_far, self._result, now_epoch_seconds)

    def _take(self, event: StreamEvent) -> None:
        self._errors.note(event)
        match event.get("type"), event.get("subtype"):
            case (("assistant" | "user"), _):
                self._conversation.add(event, as_name(event.get("parent_tool_use_id")))
            case "system", "init":
                self._init = self._init or event  # before the agent did anything; it could print another later
            case "system", "hook_response":
                self._take_hook(event)
            case "result", _:
                self._result = event

    def _take_hook(self, event: StreamEvent) -> None:
        """A hook has ended. One whose command could not be started did not run."""
        moment = as_name(event.get("hook_event"))
        if moment is not None:
            (self._failed_hooks if event.get("exit_code") in _NOT_STARTED else self._hooks)[moment] = None

    def _so_far(self) -> AgentReport:
        """The report without a result event: there are no totals, so the messages are summed."""
        by_model = self._conversation.usage_by_model(settled=True)
        answers = self._conversation.answers
        steps = self._conversation.steps()
        streamed = bool(self._init or steps)
        return AgentReport(
            version=as_name(self._init.get("claude_code_version")),
            model=as_name(self._init.get("model")) or next((turn.model for turn in answers), None),
            session_id=as_name(self._init.get("session_id")),
            usage=sum_usage(list(by_model.values())),
            usage_by_model=by_model,
            cost_usd=None,
            duration_seconds=None,
            step_count=len(answers) if streamed else None,
            tool_call_count=self._conversation.tool_call_count if streamed else None,
            request_count=len(answers) if streamed else None,
            finished=False,
            failure=make_failure(FailureKind.NO_RESULT, "Claude Code's output ends without a result"),
            final_text=None,
            steps=steps,
            loaded=_setup_from_init(self._init, steps, self._seen_hooks()) if self._init else None,
            warnings=tuple(self._warnings()),
            billed=self._conversation.bills() if all(turn.stop_reason for turn in answers) else (),
        )

    def _seen_hooks(self) -> tuple[str, ...] | None:
        return tuple(self._hooks) if self._hooks or self._shows_hooks else None

    def _concluded(self, so_far: AgentReport, result: StreamEvent, now: float | None) -> AgentReport:
        read = read_totals(result)
        return replace(
            so_far,
            model=so_far.model or only_model(read),
            session_id=as_name(result.get("session_id")) or so_far.session_id,
            usage=read.usage,
            usage_by_model=read.by_model,
            cost_usd=cost_usd(result),
            duration_seconds=duration_seconds(result),
            request_count=so_far.request_count if _same_input(so_far.usage, read.usage) else None,
            billed=so_far.billed if _same_input(so_far.usage, read.usage) else (),
            finished=True,
            failure=failure_from_result(result, self._errors, now),
            final_text=as_str(result.get("result")),
            warnings=(*so_far.warnings, *result_warnings(result, read)),
        )

    def _warnings(self) -> Iterator[str]:
        yield from self._lines.warnings()
        yield from self._conversation.warnings()
        if self._errors.retried_requests:
            yield f"requests that failed and were tried again within the run: {self._errors.retried_requests:,}"
        for moment in self._failed_hooks:
            yield f"a hook for {moment} could not be started"
        if as_list(self._init.get("plugin_errors")):
            yield f"plugins that could not be loaded: {len(self._init['plugin_errors']):,}"


def read_claude_code(output: bytes) -> AgentReport:
    """The report on a complete output."""
    reader = ClaudeCodeReader()
    reader.feed(output)
    return reader.report()


def _same_input(of_messages: Usage, of_result: Usage) -> bool:
    """Whether the messages are all that the totals cover; the input of messages is always exact."""
    kinds = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
    seen = [getattr(of_messages, kind) for kind in kinds]
    return None not in seen and seen == [getattr(of_result, kind) for kind in kinds]
