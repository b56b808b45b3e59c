"""OpenCode, run by `opencode run`: its adapter, and the reader of `--format json`.

A step is a request, with tokens and dollars of its own: they are summed. Input is without the cache, output without
reasoning. Dollars come from the prices in OpenCode's configuration, so 0 means that it has none. The stream names
neither model nor version, and has no closing event: a run ends with a step that wants no more tools, or with an
error.
"""

from dataclasses import replace
from typing import Any

import msgspec

from outweigh.agents.command_line import CommandLineAgent, Launch, build_prompt
from outweigh.agents.model_provider import provider_of_model
from outweigh.agents.server_headers import header_variables
from outweigh.agents.server_start import start_limit_seconds
from outweigh.model.arm import Arm, McpServer
from outweigh.model.failure import (
    Failure,
    FailureKind,
    failure_from_http,
    failure_from_text,
    make_failure,
    parse_retry_after,
)
from outweigh.model.json_text import JsonObject
from outweigh.model.untrusted_json import (
    amount_at,
    count_at,
    dict_at,
    int_at,
    name_at,
    str_at,
    timestamp_at,
    to_text,
    value_at,
)
from outweigh.model.usage import NO_USAGE, Usage, sum_usage
from outweigh.ports.agents import AttemptRequest
from outweigh.ports.gateways import ModelAccess
from outweigh.transcript.agent_report import AgentReport, EventReader, failure_or_unfinished
from outweigh.transcript.atif import step_metrics
from outweigh.transcript.token_counts import add_counts, sum_costs, usage_unless_empty
from outweigh.transcript.tool_calls import setup_from_calls
from outweigh.transcript.trajectory_builder import TrajectoryBuilder

_CONTINUING_REASONS = frozenset({"tool-calls", "unknown"})
"""Reasons to end a step after which another follows."""

UNCOUNTED_TITLE_REQUEST = (
    "opencode asks a model for a title of the session, and counts neither that request nor its tokens"
)

_BY_NAME = {
    "ContextOverflowError": FailureKind.CONTEXT_OVERFLOW,
    "ProviderAuthError": FailureKind.UNAUTHORIZED,
    "ProviderModelNotFoundError": FailureKind.UNKNOWN_MODEL,
    "ContentFilterError": FailureKind.REFUSAL,
}


class OpenCodeReader(EventReader):
    """Reads the stream of one `opencode run`."""

    def __init__(self) -> None:
        super().__init__()
        self._session: str | None = None
        self._usages: list[Usage] = []
        self._costs_usd: list[float | None] = []
        self._finished = False
        self._failure: Failure | None = None
        self._steps = TrajectoryBuilder()

    def _take(self, event: JsonObject) -> None:
        self._session = name_at(event, "sessionID") or self._session
        part, when = dict_at(event, "part"), timestamp_at(event, "timestamp", units_per_second=1000)
        match str_at(event, "type"):
            case "step_start":
                self._finished, self._failure = False, None
                self._steps.close()
            case "text":
                self._steps.say(str_at(part, "text") or "", when)
            case "reasoning":
                self._steps.think(str_at(part, "text") or "", when)
            case "tool_use":
                self._tool(part, when)
            case "step_finish":
                self._step_finish(part)
            case "error":
                self._finished, self._failure = True, _failure(dict_at(event, "error"))

    def _tool(self, part: JsonObject, when: str | None) -> None:
        """Add a tool call and its result; a failed command is recognised by its exit code, not by its state."""
        call_id, state = str_at(part, "callID") or "unknown", dict_at(part, "state")
        self._steps.call(call_id, name_at(part, "tool") or "unknown", dict_at(state, "input"), when)
        exit_code = int_at(state, "metadata", "exit")
        failed = str_at(state, "status") == "error" or bool(exit_code)
        self._steps.result(call_id, to_text(value_at(state, "output")) or str_at(state, "error") or "", failed)

    def _step_finish(self, part: JsonObject) -> None:
        usage, cost_usd = _usage(dict_at(part, "tokens")), amount_at(part, "cost")
        self._usages.append(usage)
        self._costs_usd.append(None if usage == NO_USAGE else cost_usd)
        self._steps.note(metrics=step_metrics(usage, cost_usd))
        self._steps.close()
        reason = str_at(part, "reason") or "unknown"
        self._finished = reason not in _CONTINUING_REASONS
        if reason == "content-filter":
            self._failure = make_failure(FailureKind.REFUSAL, "the model's answer was withheld by a content filter")
        if reason == "length":
            self._failure = make_failure(
                FailureKind.CONTEXT_OVERFLOW, "the last answer reached the limit of its length"
            )

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        steps = self._steps.steps()
        return AgentReport(
            version=None,
            model=None,
            session_id=self._session,
            usage=sum_usage(self._usages),
            usage_by_model={},
            cost_usd=sum_costs(self._costs_usd),
            duration_seconds=None,
            step_count=self._steps.agent_step_count,
            tool_call_count=self._steps.tool_call_count,
            request_count=len(self._usages),
            finished=self._finished,
            failure=failure_or_unfinished(self._finished, self._failure),
            final_text=self._steps.final_text,
            steps=steps,
            loaded=setup_from_calls(steps),
            warnings=(*warnings, *((UNCOUNTED_TITLE_REQUEST,) if self._usages else ()), *self._steps.warnings()),
        )


def _usage(tokens: JsonObject) -> Usage:
    return usage_unless_empty(
        Usage(
            input_tokens=count_at(tokens, "input"),
            output_tokens=add_counts(count_at(tokens, "output"), count_at(tokens, "reasoning")),
            cache_read_tokens=count_at(tokens, "cache", "read"),
            cache_write_tokens=count_at(tokens, "cache", "write"),
        )
    )


def _failure(error: JsonObject) -> Failure:
    name, message = str_at(error, "name") or "error", str_at(error, "data", "message") or ""
    if (status := count_at(error, "data", "statusCode")) is not None:
        wait = str_at(error, "data", "responseHeaders", "retry-after")
        return failure_from_http(status, message, parse_retry_after(f"retry after {wait}" if wait else message))
    if name in _BY_NAME:
        return make_failure(_BY_NAME[name], message)
    return failure_from_text(f"{name}: {message}", otherwise=FailureKind.CRASH)


_PROVIDER_PACKAGES = {"anthropic": "@ai-sdk/anthropic", "openai": "@ai-sdk/openai", "google": "@ai-sdk/google"}
_DEFAULT_PACKAGE = "@ai-sdk/openai-compatible"
_API_VERSIONS = {"google": "v1beta"}


class OpenCodeAgent(CommandLineAgent):
    """Reads skills from `.agents/skills`, instructions from `AGENTS.md`, settings from `opencode.json`."""

    name = "opencode"
    program = "opencode"
    install = "npm install -g opencode-ai"
    tool_forms = ("{server}_{tool}",)
    needs_model = True
    names_provider = True
    bypass_variables = ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "OPENAI_API_KEY")
    background_models = ("*haiku*", "*flash*", "*nano*")
    keys = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
    login_files = (".local/share/opencode/auth.json",)

    def provider(self, arm: Arm) -> str | None:
        """The provider in the model's name."""
        return provider_of_model(arm.model)

    def launch(self, request: AttemptRequest, home: str) -> Launch:  # noqa: ARG002 - the base class's signature
        """`opencode run` with the prompt on standard input and events on standard output."""
        reader = OpenCodeReader()
        return Launch(
            arguments=("run", "--format", "json", "--model", request.arm.model or ""),
            stdin=build_prompt(request).encode(),
            on_output=reader.feed,
            report=lambda _: reader.report(),
            files={".config/opencode/opencode.json": msgspec.json.encode(_settings(request))},
            defaults={"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
        )

    def resume(self, request: AttemptRequest, home: str, session: str, message: str) -> Launch:
        """`opencode run --session` with what the user says on standard input."""
        first = self.launch(request, home)
        return replace(first, arguments=(*first.arguments, "--session", session), stdin=message.encode())


def _settings(request: AttemptRequest) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "autoupdate": False,
        "share": "disabled",
        "permission": "allow",
        "mcp": {
            name: _server_settings(server, header_variables(request.arm, name))
            for name, server in request.arm.mcp_servers.items()
        },
    }
    if request.model_access is not None:
        provider, _, model = (request.arm.model or "").partition("/")
        settings["provider"] = {provider: _provider(provider, model, request.model_access)}
    return settings


def _provider(name: str, model: str, access: ModelAccess) -> dict[str, Any]:
    return {
        "npm": _PROVIDER_PACKAGES.get(name, _DEFAULT_PACKAGE),
        "options": {"baseURL": f"{access.base_url}/{_API_VERSIONS.get(name, 'v1')}", "apiKey": access.key},
        "models": {model: {}},
    }


def _server_settings(server: McpServer, headers: dict[str, str]) -> dict[str, Any]:
    timeout = {"timeout": int(start_limit_seconds(server) * 1000)}
    if server.url is not None:
        taken = {header: f"{{env:{variable}}}" for header, variable in headers.items()}
        return {"type": "remote", "url": server.url, **timeout, **({"headers": taken, "oauth": False} if taken else {})}
    return {"type": "local", "command": server.command, "environment": server.environment, **timeout}
