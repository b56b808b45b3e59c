"""GitHub Copilot CLI, run by `copilot`: its adapter, and the reader of `--output-format json`, one event per line.

The events have no tokens and no dollars, only steps, tools, how it ended, and what was loaded. The tokens are in the
file of `--usage-output-file`: input with what the cache held, output with reasoning.
"""

from dataclasses import replace
from typing import Any

import msgspec

from outweigh.agents.command_line import CommandLineAgent, Launch, build_prompt
from outweigh.agents.exchanges import ReportScope
from outweigh.agents.home_files import HomeArtifacts
from outweigh.agents.model_provider import litellm_provider, stated_hosts
from outweigh.agents.server_headers import header_variables
from outweigh.model.arm import Arm, McpServer
from outweigh.model.failure import Failure, FailureKind, failure_from_text
from outweigh.model.json_text import JsonObject, try_decode_json
from outweigh.model.run_record import ObservedServer, ObservedSetup
from outweigh.model.untrusted_json import (
    bool_at,
    count_at,
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
from outweigh.model.usage import NO_USAGE, Usage, sum_usage
from outweigh.ports.agents import AttemptRequest
from outweigh.transcript.agent_report import AgentReport, EventReader, failure_or_unfinished
from outweigh.transcript.token_counts import is_empty_usage, subtract_counts
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
        self._usage_by_model: dict[str, Usage] = {}
        self._steps = TrajectoryBuilder()

    def take_usage(self, content: bytes) -> None:
        """Add the tokens of the usage file; empty where a run was stopped before it was written."""
        written = try_decode_json(content)
        metrics = dict_at(written, "modelMetrics") if isinstance(written, dict) else {}
        self._usage_by_model = {
            model: usage for model in metrics if not is_empty_usage(usage := _usage(dict_at(metrics, model, "usage")))
        }

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
            usage=sum_usage(list(self._usage_by_model.values())) if self._usage_by_model else NO_USAGE,
            usage_by_model=self._usage_by_model,
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


def _usage(counts: JsonObject) -> Usage:
    cached, written = count_at(counts, "cacheReadTokens"), count_at(counts, "cacheWriteTokens")
    return Usage(
        input_tokens=subtract_counts(count_at(counts, "inputTokens"), cached, written),
        output_tokens=count_at(counts, "outputTokens"),
        cache_read_tokens=cached,
        cache_write_tokens=written,
    )


_USAGE_ARTIFACT, _USAGE_FILE = "usage.json", ".copilot/outweigh-usage.json"
_HOSTS = ("api.githubcopilot.com", "api.github.com")
"""Where it finds the models of a Copilot plan."""


class CopilotAgent(CommandLineAgent):
    """Reads skills from `.agents/skills` and `.github/skills`, instructions from `AGENTS.md`."""

    name = "copilot"
    program = "copilot"
    install = "npm install -g @github/copilot"
    needs_model = True
    tool_forms = ("{server}-{tool}",)
    bypass_variables = (
        *("COPILOT_GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_API_KEY_COMMAND"),
        *("COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_BEARER_TOKEN", "COPILOT_PROVIDER_TRANSPORT"),
    )
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
    direct_keys = ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")

    def provider(self, arm: Arm) -> str | None:
        """The provider in the model's name, or that of its family."""
        return _provider(arm)

    def hosts(self, arm: Arm) -> tuple[str, ...]:
        """Those of a Copilot plan, unless the arm names another address."""
        return stated_hosts(arm.environment) or _HOSTS

    def launch(self, request: AttemptRequest, home: str) -> Launch:
        """`copilot` with the prompt on standard input and events on standard output."""
        reader = CopilotReader()
        return Launch(
            arguments=(
                *(
                    "--output-format",
                    "json",
                    "--allow-all",
                    "--no-ask-user",
                    "--no-auto-update",
                    "--disable-builtin-mcps",
                ),
                *("--usage-output-file", f"{home}/{_USAGE_FILE}"),
            ),
            stdin=build_prompt(request).encode(),
            on_output=reader.feed,
            report=lambda artifacts: _report(reader, artifacts),
            files={".copilot/mcp-config.json": msgspec.json.encode({"mcpServers": _servers(request.arm)})},
            # With exactly "true" it trusts the folder, without which it reads no skills and no hooks of the workspace.
            defaults={"COPILOT_ALLOW_ALL": "true", "COPILOT_MODEL": _model(request.arm), **_wire_api(request)},
            gateway_variables=_access(request),
            artifacts={_USAGE_ARTIFACT: _USAGE_FILE},
            report_scope=ReportScope.TOTALS,
        )

    def resume(self, request: AttemptRequest, home: str, session: str, message: str) -> Launch:
        """`copilot --resume` with what the user says on standard input."""
        first = self.launch(request, home)
        return replace(first, arguments=(*first.arguments, f"--resume={session}"), stdin=message.encode())


def _report(reader: CopilotReader, artifacts: HomeArtifacts) -> AgentReport:
    reader.take_usage(artifacts.get(_USAGE_ARTIFACT, b""))
    return reader.report()


def _model(arm: Arm) -> str:
    """The model without a provider before it."""
    named = arm.model or ""
    return named.partition("/")[2] or named


def _provider(arm: Arm) -> str:
    """Anthropic's API for Claude; all others are reached by OpenAI's, because Copilot knows no third."""
    return "anthropic" if litellm_provider(arm.model) == "anthropic" else "openai"


def _wire_api(request: AttemptRequest) -> dict[str, str]:
    """The API that Copilot recommends for a model; an arm may choose the other one."""
    api = "responses" if _model(request.arm).startswith("gpt-5") else "completions"
    return {} if request.model_access is None else {"COPILOT_PROVIDER_WIRE_API": api}


def _access(request: AttemptRequest) -> dict[str, str]:
    access, provider = request.model_access, _provider(request.arm)
    if access is None:
        return {}
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_TYPE": provider,
        "COPILOT_PROVIDER_BASE_URL": f"{access.base_url}/v1" if provider == "openai" else access.base_url,
        "COPILOT_PROVIDER_API_KEY": access.key,
    }


def _servers(arm: Arm) -> dict[str, Any]:
    return {name: _server_settings(server, header_variables(arm, name)) for name, server in arm.mcp_servers.items()}


def _server_settings(server: McpServer, headers: dict[str, str]) -> dict[str, Any]:
    if server.url is not None:
        taken = {header: f"${{{variable}}}" for header, variable in headers.items()}
        return {"type": "http", "url": server.url, "headers": taken, "tools": ["*"]}
    program, *arguments = server.command
    return {"type": "local", "command": program, "args": arguments, "env": server.environment, "tools": ["*"]}
