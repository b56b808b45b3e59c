"""The adapter of Codex, run by `codex exec`."""

from dataclasses import replace
from typing import Any

from outweigh.agents.codex.session import CodexSessionReader, add_session
from outweigh.agents.codex.stream import CodexReader
from outweigh.agents.command_line import CommandLineAgent, Launch, build_prompt, read_whole
from outweigh.agents.exchanges import ReportScope
from outweigh.agents.home_files import HomeArtifacts
from outweigh.agents.server_headers import header_variables
from outweigh.agents.server_start import start_limit_seconds
from outweigh.model.arm import Arm, McpServer
from outweigh.model.toml_writer import write_toml
from outweigh.ports.agents import AttemptRequest
from outweigh.ports.gateways import ModelAccess
from outweigh.transcript.agent_report import AgentReport

_KEY = "OUTWEIGH_MODEL_KEY"
_PROVIDER = "outweigh"
_SESSION = "session.jsonl"
_TRUST_HOOKS = "--dangerously-bypass-hook-trust"


class CodexAgent(CommandLineAgent):
    """Reads skills from `.agents/skills`, instructions from `AGENTS.md`, hooks and settings from `.codex/`."""

    name = "codex"
    program = "codex"
    install = "npm install -g @openai/codex"
    server_names = r"[A-Za-z0-9_-]+"
    tool_forms = ("mcp__{server}", "mcp__{server}__{tool}")
    bypass_variables = ("CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "OPENAI_API_KEY", "OPENAI_BASE_URL")
    keys = ("OPENAI_API_KEY",)
    direct_keys = ("CODEX_API_KEY",)
    login_files = (".codex/auth.json",)
    login_api = "openai"

    def provider(self, arm: Arm) -> str | None:  # noqa: ARG002 - the base class's signature
        """The provider, which is always the same."""
        return "openai"

    def launch(self, request: AttemptRequest, home: str) -> Launch:
        """`codex exec` with the prompt on standard input and events on standard output."""
        stream, secrets = CodexReader(), self.secrets_of_servers(request)
        return Launch(
            arguments=(
                *("exec", "--json", "--skip-git-repo-check", "--color", "never"),
                "--dangerously-bypass-approvals-and-sandbox",
                *((_TRUST_HOOKS,) if _has_settings(request.arm) else ()),
            ),
            stdin=build_prompt(request).encode(),
            on_output=stream.feed,
            report=lambda artifacts: _read_report(stream.report(), artifacts),
            files={".codex/config.toml": write_toml(_settings(request, secrets)).encode()},
            defaults={"CODEX_HOME": f"{home}/.codex", **_direct_key(request)},
            gateway_variables={} if request.model_access is None else {_KEY: request.model_access.key},
            artifacts={_SESSION: ".codex/sessions/*/*/*/rollout-*.jsonl"},
            report_scope=ReportScope.SESSION,
        )

    def resume(self, request: AttemptRequest, home: str, session: str, message: str) -> Launch:
        """`codex exec resume` with what the user says on standard input."""
        first = self.launch(request, home)
        return replace(first, arguments=(*first.arguments, "resume", session, "-"), stdin=message.encode())


def _read_report(stream: AgentReport, artifacts: HomeArtifacts) -> AgentReport:
    """Add the session file to the report, without the warning about the flag that we pass."""
    known = add_session(stream, read_whole(CodexSessionReader(), artifacts.get(_SESSION, b"")))
    return replace(known, warnings=tuple(warning for warning in known.warnings if _TRUST_HOOKS not in warning))


def _has_settings(arm: Arm) -> bool:
    """Whether the arm has hooks or settings; without the flag, Codex would wait for approval of its hooks."""
    return any(file.path in (".codex/hooks.json", ".codex/config.toml") for file in arm.overlay)


def _direct_key(request: AttemptRequest) -> dict[str, str]:
    """Without a login, Codex takes the key from a variable of its own."""
    key = request.environment.get("OPENAI_API_KEY")
    return {} if key is None or request.model_access is not None else {"CODEX_API_KEY": key}


def _settings(request: AttemptRequest, secrets: tuple[str, ...]) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "check_for_update_on_startup": False,
        "analytics": {"enabled": False},
        "features": {"apps": False, "plugins": False},
    }
    if request.arm.model is not None:
        settings["model"] = request.arm.model
    if request.model_access is not None:
        # The provider searches, not the sandbox; the gateway refuses every request that offers it.
        settings["web_search"] = "live" if "web_search" in request.model_access.allow else "disabled"
        settings["model_provider"] = _PROVIDER
        settings["model_providers"] = {_PROVIDER: _provider_settings(request.model_access)}
    if request.arm.mcp_servers:
        settings["mcp_servers"] = {
            name: _server_settings(server, secrets, header_variables(request.arm, name))
            for name, server in request.arm.mcp_servers.items()
        }
    return settings


def _provider_settings(access: ModelAccess) -> dict[str, Any]:
    return {"name": _PROVIDER, "base_url": f"{access.base_url}/v1", "env_key": _KEY, "wire_api": "responses"}


def _server_settings(server: McpServer, secrets: tuple[str, ...], headers: dict[str, str]) -> dict[str, Any]:
    """A server's table. Codex gives a server only the variables that its table names.

    It waits only for servers that are required, and ends before it asks its model if one of them does not start.
    """
    limits = {"startup_timeout_sec": start_limit_seconds(server), "required": True}
    if server.url is not None:
        return {"url": server.url, **limits, **({"env_http_headers": headers} if headers else {})}
    program, *arguments = server.command
    return {
        "command": program,
        "args": arguments,
        **limits,
        **({"env": server.environment} if server.environment else {}),
        **({"env_vars": list(secrets)} if secrets else {}),
    }
