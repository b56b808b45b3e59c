"""Reads the session file that Codex keeps of a run (`sessions/YYYY/MM/DD/rollout-*.jsonl` in its home).

It knows more than the stream: version, model, every request with its tokens, the duration, and which skills and
instructions the model was given; and it exists when the run was cut off before `turn.completed`.
"""

import re
from dataclasses import replace

from outweigh.agents.codex.stream import billed_usage, codex_failure, codex_usage
from outweigh.model.bill import group_bills, request_bill
from outweigh.model.failure import Failure, parse_exit_code
from outweigh.model.json_text import JsonObject
from outweigh.model.run_record import ObservedSetup
from outweigh.model.untrusted_json import (
    bool_at,
    count_at,
    dict_at,
    int_at,
    name_at,
    parse_arguments,
    seconds_at,
    str_at,
    to_text,
    value_at,
)
from outweigh.model.usage import BilledUsage, Usage, sum_usage
from outweigh.transcript.agent_report import AgentReport, EventReader, failure_or_unfinished
from outweigh.transcript.atif import AtifMetrics
from outweigh.transcript.token_counts import is_empty_usage
from outweigh.transcript.tool_calls import used_skills
from outweigh.transcript.trajectory_builder import TrajectoryBuilder

_SKILL_LINE = re.compile(r"^- (?P<skill>[^:\s][^:\n]{0,200}): .*\(file: [^\n]*SKILL\.md\)$", re.MULTILINE)


class CodexSessionReader(EventReader):
    """Reads one session file, or several one after another: the first is the run's, the others its sub-agents'."""

    def __init__(self) -> None:
        super().__init__()
        self._version: str | None = None
        self._session: str | None = None
        self._thread: str | None = None
        self._model_of: dict[str | None, str] = {}
        self._usage_of: dict[str | None, Usage] = {}
        self._responses: set[str] = set()
        self._bills: list[BilledUsage] = []
        self._duration_seconds: float | None = None
        self._finished = False
        self._failure: Failure | None = None
        self._state: JsonObject = {}
        self._steps = TrajectoryBuilder()

    def _take(self, event: JsonObject) -> None:
        payload = dict_at(event, "payload")
        match str_at(event, "type"):
            case "session_meta":
                self._thread = name_at(payload, "id")
                self._session = self._session or self._thread
                self._version = self._version or name_at(payload, "cli_version")
            case "turn_context" if (model := name_at(payload, "model")) is not None:
                self._model_of[self._thread] = model
            case "world_state":
                known = {} if bool_at(payload, "full") else self._state
                self._state = known | dict_at(payload, "state")
            case "response_item":
                self._response_item(payload, str_at(event, "timestamp"))
            case "token_usage_record":
                self._request(payload)
            case "event_msg":
                self._message(payload, is_main=self._thread == self._session)

    def _message(self, payload: JsonObject, is_main: bool) -> None:
        match str_at(payload, "type"):
            case "task_started" if is_main:
                self._finished, self._failure = False, None
            case "token_count" if value_at(payload, "info") is not None:
                self._usage_of[self._thread] = codex_usage(dict_at(payload, "info", "total_token_usage"))
            case "item_completed":
                self._command(dict_at(payload, "item"))
            case "task_complete" if is_main:
                self._finished = True
                self._duration_seconds = seconds_at(payload, "duration_ms")
                if (message := str_at(payload, "error", "message")) is not None:
                    self._failure = codex_failure(message)

    def _response_item(self, item: JsonObject, timestamp: str | None) -> None:
        match str_at(item, "type"), str_at(item, "role"):
            case "message", "assistant":
                self._steps.say(to_text(value_at(item, "content")), timestamp)
            case "message", "user":
                self._steps.add("user", to_text(value_at(item, "content")), timestamp)
            case "message", _:
                self._steps.add("system", to_text(value_at(item, "content")), timestamp)
            case "reasoning", _:
                self._steps.think(to_text(value_at(item, "summary") or value_at(item, "content")), timestamp)
            case (("function_call" | "custom_tool_call"), _):
                arguments = parse_arguments(value_at(item, "arguments") or {"input": value_at(item, "input")})
                self._steps.call(_call_id(item), name_at(item, "name") or "unknown", arguments, timestamp)
            case (("function_call_output" | "custom_tool_call_output"), _):
                output = to_text(value_at(item, "output"))
                code = parse_exit_code(output)
                self._steps.result(_call_id(item), output, None if code is None else code != 0)

    def _command(self, item: JsonObject) -> None:
        """Add the result of a command, reported with its exit code before its output goes to the model."""
        if (exit_code := int_at(item, "exit_code")) is not None and name_at(item, "id") is not None:
            self._steps.result(_call_id(item), str_at(item, "aggregated_output") or "", exit_code != 0)

    def _request(self, payload: JsonObject) -> None:
        self._responses.add(str_at(payload, "response_id") or f"unnamed {len(self._responses)}")
        counts = dict_at(payload, "usage")
        self._usage_of[self._thread] = codex_usage(dict_at(payload, "thread_token_usage"))
        usage = billed_usage(codex_usage(counts))
        model = self._model_of.get(self._thread)
        self._bills.append(request_bill(model, usage))
        self._steps.note(
            model=self._model_of.get(self._thread),
            metrics=AtifMetrics(
                prompt_tokens=count_at(counts, "input_tokens"),
                completion_tokens=count_at(counts, "output_tokens"),
                cached_tokens=count_at(counts, "cached_input_tokens"),
            ),
        )
        self._steps.close()

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        steps = self._steps.steps()
        return AgentReport(
            version=self._version,
            model=self._model_of.get(self._session),
            session_id=self._session,
            usage=sum_usage([usage for usage in self._usage_of.values() if not is_empty_usage(usage)]),
            usage_by_model=self._usage_by_model(),
            cost_usd=None,
            duration_seconds=self._duration_seconds,
            step_count=self._steps.agent_step_count,
            tool_call_count=self._steps.tool_call_count,
            request_count=len(self._responses) or None,
            finished=self._finished,
            failure=failure_or_unfinished(self._finished, self._failure),
            final_text=self._steps.final_text,
            steps=steps,
            loaded=ObservedSetup(
                skills=self._listed_skills(),
                skills_used=used_skills(steps),
                mcp_servers=None,
                tools=None,
                memory_files=self._memory_files(),
                seen_by=("session file",),
            ),
            warnings=(*warnings, *self._steps.warnings()),
            billed=self._joined_bills(),
        )

    def _joined_bills(self) -> tuple[BilledUsage, ...]:
        """The bills of all requests, where they are the whole session."""
        usages = [billed_usage(usage) for usage in self._usage_of.values() if not is_empty_usage(usage)]
        whole = bool(usages) and sum_usage([bill.usage for bill in self._bills]) == sum_usage(usages)
        return group_bills(self._bills) if whole else ()

    def _usage_by_model(self) -> dict[str, Usage]:
        by_model: dict[str, list[Usage]] = {}
        for thread, usage in self._usage_of.items():
            if thread in self._model_of:
                by_model.setdefault(self._model_of[thread], []).append(usage)
        return {model: sum_usage(usages) for model, usages in by_model.items()}

    def _listed_skills(self) -> tuple[str, ...] | None:
        body = str_at(self._state, "host_skills", "body")
        return None if body is None else tuple(found["skill"] for found in _SKILL_LINE.finditer(body))

    def _memory_files(self) -> tuple[str, ...] | None:
        if "agents_md" not in self._state:
            return None
        directory = name_at(self._state, "agents_md", "directory")
        return () if directory is None else (f"{directory}/AGENTS.md",)


def add_session(stream: AgentReport, session: AgentReport) -> AgentReport:
    """The stream's report, completed from the session file; how the run ended comes from the stream."""
    if not session.steps:
        return stream
    return replace(
        stream,
        version=session.version,
        model=session.model,
        usage=_larger_usage(stream.usage, session.usage),
        usage_by_model=session.usage_by_model,
        duration_seconds=session.duration_seconds,
        step_count=session.step_count,
        tool_call_count=session.tool_call_count,
        request_count=session.request_count,
        steps=session.steps,
        loaded=session.loaded,
        warnings=(*stream.warnings, *session.warnings),
    )


def _larger_usage(stream: Usage, session: Usage) -> Usage:
    """The larger usage: a stream leaves out sub-agents, and a session file may be incomplete."""
    return max(session, stream, key=lambda usage: (usage.input_tokens or 0) + (usage.output_tokens or 0))


def _call_id(item: JsonObject) -> str:
    return str_at(item, "call_id") or str_at(item, "id") or "unknown"
