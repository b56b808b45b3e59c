"""Cline, run by `cline`: its adapter, and the reader of `--json`, one event per line after a few lines for people.

The totals come with `run_result`, or so far with every `usage`; they are cumulative and count cached tokens within
input. A cost of 0 is what Cline writes for a model that it has no price for.
"""

from typing import Any

import msgspec

from outweigh.agents.command_line import CommandLineAgent, Launch, build_prompt
from outweigh.agents.model_provider import provider_of_model
from outweigh.model.arm import Arm, McpServer
from outweigh.model.failure import Failure, FailureKind, failure_from_text, make_failure
from outweigh.model.json_text import JsonObject
from outweigh.model.untrusted_json import (
    amount_at,
    bool_at,
    count_at,
    dict_at,
    dicts_at,
    name_at,
    parse_arguments,
    seconds_at,
    str_at,
    to_text,
    value_at,
)
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.ports.agents import AttemptRequest
from outweigh.ports.gateways import ModelAccess
from outweigh.transcript.agent_report import AgentReport, EventReader, failure_or_unfinished
from outweigh.transcript.token_counts import subtract_counts, usage_unless_empty
from outweigh.transcript.tool_calls import setup_from_calls
from outweigh.transcript.trajectory_builder import TrajectoryBuilder

_BY_FINISH_REASON = {"max_iterations": FailureKind.TURN_LIMIT, "aborted": FailureKind.NO_RESULT}


class ClineReader(EventReader):
    """Reads the output of one `cline --json`."""

    def __init__(self) -> None:
        super().__init__()
        self._session: str | None = None
        self._usage = NO_USAGE
        self._cost_usd: float | None = None
        self._request_count = 0
        self._result: JsonObject | None = None
        self._last_error: str | None = None
        self._steps = TrajectoryBuilder()

    def _take(self, event: JsonObject) -> None:
        self._session = name_at(event, "taskId") or self._session
        match str_at(event, "type"):
            case "agent_event":
                self._agent_event(dict_at(event, "event"), str_at(event, "ts"))
            case "run_result":
                self._result = event
                totals = dict_at(event, "aggregateUsage") or dict_at(event, "usage")
                self._usage = _usage(totals, "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
                self._cost_usd = amount_at(totals, "totalCost") or None

    def _agent_event(self, event: JsonObject, when: str | None) -> None:
        match str_at(event, "type"), str_at(event, "contentType"):
            case "iteration_start", _:
                self._steps.close()
            case "usage", _:
                self._request_count += 1
                total = ("totalInputTokens", "totalOutputTokens", "totalCacheReadTokens", "totalCacheWriteTokens")
                self._usage = _usage(event, *total)
                self._cost_usd = amount_at(event, "totalCost") or None
            case "content_end", "text":
                self._steps.say(str_at(event, "text") or "", when)
            case "content_end", "reasoning":
                self._steps.think(str_at(event, "text") or str_at(event, "reasoning") or "", when)
            case (("content_start" | "content_end"), "tool"):
                self._tool(event, when)
            case "error", _:
                self._last_error = str_at(event, "message") or to_text(value_at(event, "error"))

    def _tool(self, event: JsonObject, when: str | None) -> None:
        call_id = str_at(event, "toolCallId") or "unknown"
        if str_at(event, "type") == "content_start":
            name, arguments = name_at(event, "toolName") or "unknown", parse_arguments(value_at(event, "input"))
            self._steps.call(call_id, name, arguments, when)
            return
        refused = value_at(event, "error") is not None
        failed = refused or any(bool_at(part, "success") is False for part in dicts_at(event, "output"))
        self._steps.result(call_id, to_text(value_at(event, "error" if refused else "output")), failed)

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        steps, result = self._steps.steps(), self._result or {}
        finished, model = self._result is not None, name_at(result, "model", "id")
        return AgentReport(
            version=None,
            model=model,
            session_id=self._session,
            usage=self._usage,
            usage_by_model={},
            cost_usd=self._cost_usd,
            duration_seconds=seconds_at(result, "durationMs"),
            step_count=self._steps.agent_step_count,
            tool_call_count=self._steps.tool_call_count,
            request_count=self._request_count,
            finished=finished,
            failure=failure_or_unfinished(finished, self._failure(result)),
            final_text=str_at(result, "text") or self._steps.final_text,
            steps=steps,
            loaded=setup_from_calls(steps),
            warnings=(*warnings, *self._steps.warnings()),
        )

    def _failure(self, result: JsonObject) -> Failure | None:
        reason = str_at(result, "finishReason")
        if reason in (None, "completed"):
            return None
        words = self._last_error or str_at(result, "text") or f"it finished with the reason {reason!r}"
        if reason in _BY_FINISH_REASON:
            return make_failure(_BY_FINISH_REASON[reason], words)
        return failure_from_text(words, otherwise=FailureKind.CRASH)


def _usage(counts: JsonObject, input_key: str, output_key: str, read_key: str, written_key: str) -> Usage:
    """The totals, which leave out cache reads or writes that did not occur."""
    read, written = count_at(counts, read_key), count_at(counts, written_key)
    return usage_unless_empty(
        Usage(
            input_tokens=subtract_counts(count_at(counts, input_key), read, written or 0),
            output_tokens=count_at(counts, output_key),
            cache_read_tokens=read,
            cache_write_tokens=written,
        )
    )


_ANTHROPIC, _OPENAI_COMPATIBLE = "anthropic", "openai-compatible"
"""Its own provider for OpenAI always offers the model a search of the web, which the gateway refuses."""
_GEMINI = ("gemini", "google")
_GLOBAL_SETTINGS = {"telemetryOptOut": True, "autoUpdateEnabled": False}
_SETTINGS = ".cline/data/settings"


class ClineAgent(CommandLineAgent):
    """Reads instructions from `AGENTS.md`, rules from `.clinerules`.

    It tells its model the names of skills and not their descriptions, so that no request proves one: arms have none.
    """

    name = "cline"
    program = "cline"
    install = "npm install -g cline"
    needs_model = True
    names_provider = True
    tool_forms = ("{server}__{tool}",)
    bypass_variables = (
        *("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "CLINE_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"),
        "OPENAI_BASE_URL",
    )
    keys = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
    login_files = (f"{_SETTINGS}/providers.json",)

    def missing(self, arm: Arm) -> str | None:
        """Also what it does without a word: it asks Gemini without tools, and sends variables in headers as written."""
        if (arm.model or "").partition("/")[0] in _GEMINI:
            return f"arms.{arm.name}.model: cline offers Gemini models no tools; use a model of another provider."
        if any(server.headers for server in arm.mcp_servers.values()):
            return (
                f"arms.{arm.name}.mcp_servers: cline cannot take the headers of a server from variables, where "
                "outweigh keeps secrets; leave them out, or use another agent."
            )
        return super().missing(arm)

    def provider(self, arm: Arm) -> str | None:
        """The provider in the model's name."""
        return provider_of_model(arm.model)

    def launch(self, request: AttemptRequest, home: str) -> Launch:  # noqa: ARG002 - the base class's signature
        """`cline --json` with the prompt as its last word and events on standard output."""
        reader, (provider, model) = ClineReader(), _names(request.arm)
        # It takes no prompt from a file. The new line keeps one from being taken for an option or a command.
        return Launch(
            arguments=(
                "--json",
                "--auto-approve",
                "true",
                "--provider",
                provider,
                "--model",
                model,
                f"\n{build_prompt(request)}",
            ),
            on_output=reader.feed,
            report=lambda _: reader.report(),
            files=_files(request),
        )


def _names(arm: Arm) -> tuple[str, str]:
    """Cline's name of the provider, and the model's name without one."""
    provider, _, model = (arm.model or "").partition("/")
    return _ANTHROPIC if provider == _ANTHROPIC else _OPENAI_COMPATIBLE, model


def _files(request: AttemptRequest) -> dict[str, bytes]:
    servers = {name: _server_settings(server) for name, server in request.arm.mcp_servers.items()}
    files = {
        f"{_SETTINGS}/cline_mcp_settings.json": msgspec.json.encode({"mcpServers": servers}),
        f"{_SETTINGS}/global-settings.json": msgspec.json.encode(_GLOBAL_SETTINGS),
    }
    if request.model_access is not None:
        files[f"{_SETTINGS}/providers.json"] = msgspec.json.encode(_providers(request.arm, request.model_access))
    return files


def _providers(arm: Arm, access: ModelAccess) -> dict[str, Any]:
    provider, model = _names(arm)
    settings = {"provider": provider, "apiKey": access.key, "model": model, "baseUrl": f"{access.base_url}/v1"}
    entry = {"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
    return {"version": 1, "lastUsedProvider": provider, "modes": {}, "providers": {provider: entry}}


def _server_settings(server: McpServer) -> dict[str, Any]:
    if server.url is not None:
        return {"type": "streamableHttp", "url": server.url}
    program, *arguments = server.command
    return {"type": "stdio", "command": program, "args": arguments, "env": server.environment}
