"""What GitHub Copilot CLI writes with `--output-format json`: one event per line.

It reports no tokens and no dollars at all; what it tells are steps, tools, how it ended, and what was loaded.
"""

from outweigh.record.loaded import Loaded, LoadedServer
from outweigh.record.usage import NO_USAGE
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.event_reader import EventReader, ended
from outweigh.transcript.failure import Failure, FailureKind
from outweigh.transcript.failure_text import failure_of_text
from outweigh.transcript.fields import (
    arguments_of,
    as_text,
    at,
    flag_at,
    name_at,
    number_at,
    seconds_at,
    table_at,
    tables_at,
    text_at,
)
from outweigh.transcript.json_lines import Event
from outweigh.transcript.skill_use import used_skills
from outweigh.transcript.step_list import StepList


class CopilotReader(EventReader):
    """Reads the stream of one `copilot -p`."""

    def __init__(self) -> None:
        super().__init__()
        self._model: str | None = None
        self._skills: tuple[str, ...] | None = None
        self._servers: tuple[LoadedServer, ...] | None = None
        self._request_count = 0
        self._result: Event | None = None
        self._last_error: str | None = None
        self._steps = StepList()

    def _take(self, event: Event) -> None:
        data, when = table_at(event, "data"), text_at(event, "timestamp")
        match text_at(event, "type"):
            case "session.skills_loaded":
                listed = (skill for skill in tables_at(data, "skills") if flag_at(skill, "enabled") is not False)
                self._skills = tuple(name for skill in listed if (name := name_at(skill, "name")) is not None)
            case "session.mcp_servers_loaded":
                named = ((name_at(each, "name"), text_at(each, "status")) for each in tables_at(data, "servers"))
                self._servers = tuple(LoadedServer(name=n, state=s or "unknown") for n, s in named if n is not None)
            case "session.error":
                self._last_error = text_at(data, "message") or "an error without words"
            case "user.message":
                self._steps.add("user", as_text(at(data, "content")), when)
            case "model.call_finished" if text_at(data, "outcome") == "success":
                self._request_count += 1
            case "assistant.message":
                self._message(data, when)
            case "tool.execution_complete":
                self._tool_result(data)
            case "result":
                self._result = event

    def _message(self, data: Event, when: str | None) -> None:
        self._model = name_at(data, "model") or self._model
        self._steps.close()
        self._steps.say(as_text(at(data, "content")), when)
        self._steps.think(text_at(data, "reasoningText") or "", when)
        for call in tables_at(data, "toolRequests"):
            call_id, tool = text_at(call, "toolCallId") or "unknown", name_at(call, "name") or "unknown"
            self._steps.call(call_id, tool, arguments_of(at(call, "arguments")), when)
        self._steps.note(model=name_at(data, "model"))

    def _tool_result(self, data: Event) -> None:
        output = as_text(at(data, "result", "content")) or text_at(data, "error", "message") or ""
        failed = flag_at(data, "success") is False or bool(number_at(data, "shellExecution", "exitCode"))
        self._steps.result(text_at(data, "toolCallId") or "unknown", output, failed)

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
            failure=ended(finished, self._failure(result)),
            final_text=self._steps.last_words,
            steps=steps,
            loaded=Loaded(
                skills=self._skills,
                skills_used=used_skills(steps),
                mcp_servers=self._servers,
                tools=None,
                memory_files=None,
                seen_by=("session events", "tool calls"),
            ),
            warnings=(*warnings, *self._steps.warnings()),
        )

    def _failure(self, result: Event) -> Failure | None:
        exit_code = number_at(result, "exitCode")
        if not exit_code:
            return None
        words = self._last_error or f"it ended with the exit code {exit_code}"
        return failure_of_text(words, otherwise=FailureKind.CRASH)
