"""Reads what GitHub Copilot CLI writes with `--output-format json`: one event per line.

It reports no tokens and no dollars, only steps, tools, how it ended, and what was loaded.
"""

from outweigh.model.failure import Failure, FailureKind, failure_from_text
from outweigh.model.json_text import JsonObject
from outweigh.model.run_record import ObservedServer, ObservedSetup
from outweigh.model.untrusted_json import (
    bool_at,
    dict_at,
    dicts_at,
    int_at,
    name_at,
    parse_arguments,
    seconds_at,
    str_at,
    to_text,
    value_at,
)
from outweigh.model.usage import NO_USAGE
from outweigh.transcript.agent_report import AgentReport, EventReader, failure_or_unfinished
from outweigh.transcript.tool_calls import used_skills
from outweigh.transcript.trajectory_builder import TrajectoryBuilder


class CopilotReader(EventReader):
    """Reads the stream of one `copilot -p`."""

    def __init__(self) -> None:
        super().__init__()
        self._model: str | None = None
        self._skills: tuple[str, ...] | None = None
        self._servers: tuple[ObservedServer, ...] | None = None
        self._request_count = 0
        self._result: JsonObject | None = None
        self._last_error: str | None = None
        self._steps = TrajectoryBuilder()

    def _take(self, event: JsonObject) -> None:
        data, when = dict_at(event, "data"), str_at(event, "timestamp")
        match str_at(event, "type"):
            case "session.skills_loaded":
                listed = (skill for skill in dicts_at(data, "skills") if bool_at(skill, "enabled") is not False)
                self._skills = tuple(name for skill in listed if (name := name_at(skill, "name")) is not None)
            case "session.mcp_servers_loaded":
                named = ((name_at(each, "name"), str_at(each, "status")) for each in dicts_at(data, "servers"))
                self._servers = tuple(ObservedServer(name=n, state=s or "unknown") for n, s in named if n is not None)
            case "session.error":
                self._last_error = str_at(data, "message") or "an error without a message"
            case "user.message":
                self._steps.add("user", to_text(value_at(data, "content")), when)
            case "model.call_finished" if str_at(data, "outcome") == "success":
                self._request_count += 1
            case "assistant.message":
                self._message(data, when)
            case "tool.execution_complete":
                self._tool_result(data)
            case "result":
                self._result = event

    def _message(self, data: JsonObject, when: str | None) -> None:
        self._model = name_at(data, "model") or self._model
        self._steps.close()
        self._steps.say(to_text(value_at(data, "content")), when)
        self._steps.think(str_at(data, "reasoningText") or "", when)
        for call in dicts_at(data, "toolRequests"):
            call_id, tool = str_at(call, "toolCallId") or "unknown", name_at(call, "name") or "unknown"
            self._steps.call(call_id, tool, parse_arguments(value_at(call, "arguments")), when)
        self._steps.note(model=name_at(data, "model"))

    def _tool_result(self, data: JsonObject) -> None:
        output = to_text(value_at(data, "result", "content")) or str_at(data, "error", "message") or ""
        failed = bool_at(data, "success") is False or bool(int_at(data, "shellExecution", "exitCode"))
        self._steps.result(str_at(data, "toolCallId") or "unknown", output, failed)

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        steps, result = self._steps.steps(), self._result or {}
        finished = self._result is not None
        return AgentReport(
            version=None,
            model=self._model,
            session_id=name_at(result, "sessionId"),
            usage=NO_USAGE,
            usage_by_model={},
            cost_usd=None,
            duration_seconds=seconds_at(result, "usage", "sessionDurationMs"),
            step_count=self._steps.agent_step_count,
            tool_call_count=self._steps.tool_call_count,
            request_count=self._request_count,
            finished=finished,
            failure=failure_or_unfinished(finished, self._failure(result)),
            final_text=self._steps.final_text,
            steps=steps,
            loaded=ObservedSetup(
                skills=self._skills,
                skills_used=used_skills(steps),
                mcp_servers=self._servers,
                tools=None,
                memory_files=None,
                seen_by=("session events", "tool calls"),
            ),
            warnings=(*warnings, *self._steps.warnings()),
        )

    def _failure(self, result: JsonObject) -> Failure | None:
        exit_code = int_at(result, "exitCode")
        if not exit_code:
            return None
        words = self._last_error or f"it ended with the exit code {exit_code}"
        return failure_from_text(words, otherwise=FailureKind.CRASH)
