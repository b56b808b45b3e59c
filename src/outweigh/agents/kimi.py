"""Kimi Code CLI, run by `kimi -p`: its adapter, and the reader of `--output-format stream-json`, one message per line.

The messages have no tokens. These are in the logs of its session, one for each agent of it, with one record for every
request: input without the cache, output with reasoning. The logs go on when a session is resumed.
"""

from dataclasses import replace
from itertools import chain
from typing import Any

import msgspec

from outweigh.agents.command_line import CommandLineAgent, Launch, build_prompt
from outweigh.agents.exchanges import ReportScope
from outweigh.agents.home_files import HomeArtifacts
from outweigh.agents.model_provider import provider_of_model
from outweigh.agents.server_start import start_limit_seconds
from outweigh.model.arm import Arm, McpServer
from outweigh.model.failure import Failure, FailureKind, failure_from_text
from outweigh.model.json_text import JsonLineDecoder, JsonObject
from outweigh.model.toml_writer import write_toml
from outweigh.model.untrusted_json import (
    count_at,
    dict_at,
    dicts_at,
    name_at,
    parse_arguments,
    str_at,
    to_text,
    value_at,
)
from outweigh.model.usage import NO_USAGE, Usage, sum_usage
from outweigh.ports.agents import AttemptRequest
from outweigh.ports.gateways import ModelAccess
from outweigh.transcript.agent_report import AgentReport, EventReader, failure_or_unfinished
from outweigh.transcript.token_counts import usage_unless_empty
from outweigh.transcript.tool_calls import setup_from_calls
from outweigh.transcript.trajectory_builder import TrajectoryBuilder


class KimiReader(EventReader):
    """Reads the stream of one `kimi -p`, and the logs of its session."""

    def __init__(self) -> None:
        super().__init__()
        self._version: str | None = None
        self._session: str | None = None
        self._last_error: str | None = None
        self._usages: list[Usage] = []
        self._steps = TrajectoryBuilder()

    def take_logs(self, content: bytes) -> None:
        """Add the tokens of the session's logs, and the error that ended it, which is in no message.

        A run that was stopped may have no tokens for its last request.
        """
        decoder = JsonLineDecoder()
        self._usages = []
        for record in chain(decoder.feed(content), decoder.finish()):
            match str_at(record, "type"):
                case "usage.record":
                    self._usages.append(_usage(dict_at(record, "usage")))
                case "turn.ended" if str_at(record, "reason") == "failed":
                    self._last_error = str_at(record, "error", "message") or "an error without a message"

    def _take(self, event: JsonObject) -> None:
        match str_at(event, "role"):
            case "assistant":
                self._answer(event)
            case "tool":
                call_id, output = str_at(event, "tool_call_id") or "unknown", to_text(value_at(event, "content"))
                self._steps.result(call_id, output, None)
            case "meta":
                self._note(event)

    def _note(self, event: JsonObject) -> None:
        match str_at(event, "type"):
            case "system.version":
                self._version = name_at(event, "version")
            case "session.resume_hint":  # the last line of a session that ended by itself
                self._session = name_at(event, "session_id")
            case "turn.step.retrying":
                self._last_error = str_at(event, "error_message") or "an error without a message"

    def _answer(self, message: JsonObject) -> None:
        self._last_error = None
        self._steps.close()
        self._steps.say(to_text(value_at(message, "content")), None)
        for call in dicts_at(message, "tool_calls"):
            call_id, tool = str_at(call, "id") or "unknown", name_at(call, "function", "name") or "unknown"
            self._steps.call(call_id, tool, parse_arguments(value_at(call, "function", "arguments")), None)

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        steps, finished = self._steps.steps(), self._session is not None
        return AgentReport(
            version=self._version,
            model=None,
            session_id=self._session,
            usage=sum_usage(self._usages) if self._usages else NO_USAGE,
            usage_by_model={},
            cost_usd=None,
            duration_seconds=None,
            step_count=self._steps.agent_step_count,
            tool_call_count=self._steps.tool_call_count,
            request_count=len(self._usages) or None,
            finished=finished,
            failure=failure_or_unfinished(finished, self._failure()),
            final_text=self._steps.final_text,
            steps=steps,
            loaded=setup_from_calls(steps),
            warnings=(*warnings, *self._steps.warnings()),
        )

    def _failure(self) -> Failure | None:
        return None if self._last_error is None else failure_from_text(self._last_error, otherwise=FailureKind.CRASH)


def _usage(counts: JsonObject) -> Usage:
    return usage_unless_empty(
        Usage(
            input_tokens=count_at(counts, "inputOther"),
            output_tokens=count_at(counts, "output"),
            cache_read_tokens=count_at(counts, "inputCacheRead"),
            cache_write_tokens=count_at(counts, "inputCacheCreation"),
        )
    )


_APIS = {"anthropic": ("anthropic", ""), "gemini": ("google-genai", ""), "openai": ("openai", "/v1")}
"""Kimi's name of each API that the gateway has, with what it expects at the end of its address."""
_DIRECT_APIS = {"anthropic": "anthropic", "moonshot": "kimi"}
_ALIAS, _GATEWAY, _LOGS = "arm", "gateway", "kimi-session.jsonl"
_CONTEXT_TOKENS = 200_000
"""It must be told how much a model can take, and shortens the conversation before that."""


class KimiAgent(CommandLineAgent):
    """Reads skills from `.agents/skills` and `.kimi-code/skills`, instructions from `AGENTS.md`."""

    name = "kimi"
    program = "kimi"
    install = "npm install -g @moonshot-ai/kimi-code"
    needs_model = True
    names_provider = True
    tool_forms = ("mcp__{server}__{tool}",)
    bypass_variables = ("KIMI_MODEL_API_KEY", "KIMI_MODEL_BASE_URL", "KIMI_MODEL_NAME", "KIMI_MODEL_PROVIDER_TYPE")
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
    direct_keys = ("KIMI_MODEL_API_KEY",)

    def missing(self, arm: Arm) -> str | None:
        """Also that it takes the headers of a server from its settings alone."""
        if any(server.headers for server in arm.mcp_servers.values()):
            return (
                f"arms.{arm.name}.mcp_servers: kimi cannot take the headers of a server from variables, where "
                "outweigh keeps secrets; leave them out, or use another agent."
            )
        return super().missing(arm)

    def provider(self, arm: Arm) -> str | None:
        """The provider in the model's name."""
        return provider_of_model(arm.model)

    def launch(self, request: AttemptRequest, home: str) -> Launch:  # noqa: ARG002 - the base class's signature
        """`kimi -p` with the prompt as its last word and messages on standard output."""
        reader = KimiReader()
        return Launch(
            arguments=("--output-format", "stream-json", f"--prompt={build_prompt(request)}"),
            on_output=reader.feed,
            report=lambda artifacts: _report(reader, artifacts),
            files=_files(request),
            defaults={"KIMI_CODE_NO_AUTO_UPDATE": "1", "KIMI_DISABLE_TELEMETRY": "1", **_direct_model(request)},
            artifacts={_LOGS: ".kimi-code/sessions/*/*/agents/*/wire.jsonl"},
            report_scope=ReportScope.TOTALS,
        )

    def resume(self, request: AttemptRequest, home: str, session: str, message: str) -> Launch:
        """`kimi -p --session` with what the user says."""
        first = self.launch(request, home)
        return replace(first, arguments=(*first.arguments[:-1], "--session", session, f"--prompt={message}"))


def _report(reader: KimiReader, artifacts: HomeArtifacts) -> AgentReport:
    reader.take_logs(artifacts.get(_LOGS, b""))
    return reader.report()


def _files(request: AttemptRequest) -> dict[str, bytes]:
    servers = {name: _server_settings(server) for name, server in request.arm.mcp_servers.items()}
    files = {".kimi-code/mcp.json": msgspec.json.encode({"mcpServers": servers})}
    if request.model_access is not None:
        files[".kimi-code/config.toml"] = write_toml(_settings(request.arm, request.model_access)).encode()
    return files


def _settings(arm: Arm, access: ModelAccess) -> dict[str, Any]:
    api, path = _APIS[provider_of_model(arm.model)]
    provider = {"type": api, "base_url": f"{access.base_url}{path}", "api_key": access.key}
    model = {"provider": _GATEWAY, "model": _model(arm), "max_context_size": _CONTEXT_TOKENS}
    return {
        "default_model": _ALIAS,
        "telemetry": False,
        "providers": {_GATEWAY: provider},
        "models": {_ALIAS: model},
    }


def _model(arm: Arm) -> str:
    return (arm.model or "").partition("/")[2]


def _direct_model(request: AttemptRequest) -> dict[str, str]:
    """Without a gateway, it takes its model from variables, with `KIMI_MODEL_API_KEY` among the arm's secrets."""
    if request.model_access is not None:
        return {}
    named = (request.arm.model or "").partition("/")[0]
    api = _DIRECT_APIS.get(named, "openai")
    return {"KIMI_MODEL_NAME": _model(request.arm), "KIMI_MODEL_PROVIDER_TYPE": api}


def _server_settings(server: McpServer) -> dict[str, Any]:
    limit = {"startupTimeoutMs": int(start_limit_seconds(server) * 1000)}
    if server.url is not None:
        return {"url": server.url, **limit}
    program, *arguments = server.command
    return {"command": program, "args": arguments, "env": server.environment, **limit}
