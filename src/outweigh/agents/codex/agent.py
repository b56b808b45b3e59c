"""The adapter of Codex, run by `codex exec`."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from outweigh.agents.codex.session import CodexSessionReader, add_session
from outweigh.agents.codex.stream import CodexReader
from outweigh.agents.command_line import CommandLineAgent, HomeArtifacts, Launch, build_prompt, read_whole
from outweigh.model.arm import Arm, McpServer
from outweigh.ports.agents import AttemptRequest
from outweigh.ports.gateways import ModelAccess
from outweigh.transcript.agent_report import AgentReport

TomlValue = bool | int | float | str | Sequence[str]


def toml_value(value: TomlValue) -> str:
    """A boolean, a number, a string or a list of strings, written as in JSON, whose ways are TOML's but for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


_SETTINGS = {
    "check_for_update_on_startup": False,
    "analytics.enabled": False,
    "features.apps": False,
    "features.plugins": False,
}
_KEY = "OUTWEIGH_MODEL_KEY"
_SESSION = "session.jsonl"
_TRUST_HOOKS = "--dangerously-bypass-hook-trust"


class CodexAgent(CommandLineAgent):
    """Reads skills from `.agents/skills`, words from `AGENTS.md`, hooks and settings from `.codex/`."""

    name = "codex"
    program = "codex"
    install = "npm install -g @openai/codex"
    bypass_variables = ("CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "OPENAI_API_KEY", "OPENAI_BASE_URL")
    keys = ("OPENAI_API_KEY",)
    direct_keys = ("CODEX_API_KEY",)
    login_files = (".codex/auth.json",)

    def provider(self, arm: Arm) -> str | None:  # noqa: ARG002 - the driver's signature
        """Always the same."""
        return "openai"

    def launch(self, request: AttemptRequest, home: str) -> Launch:
        """`codex exec` with the prompt on standard input and events on standard output."""
        stream = CodexReader()
        return Launch(
            arguments=(
                *("exec", "--json", "--skip-git-repo-check", "--color", "never"),
                "--dangerously-bypass-approvals-and-sandbox",
                *((_TRUST_HOOKS,) if _brings_settings(request.arm) else ()),
            ),
            stdin=build_prompt(request).encode(),
            on_output=stream.feed,
            report=lambda left: _read_report(stream.report(), left),
            files={".codex/config.toml": "".join(f"{line}\n" for line in _settings(request)).encode()},
            defaults={"CODEX_HOME": f"{home}/.codex", **_direct_key(request)},
            gateway_variables={} if request.model_access is None else {_KEY: request.model_access.key},
            artifacts={_SESSION: ".codex/sessions/*/*/*/rollout-*.jsonl"},
        )


def _read_report(stream: AgentReport, left: HomeArtifacts) -> AgentReport:
    """With the session file; that it was told to trust hooks is no news."""
    known = add_session(stream, read_whole(CodexSessionReader(), left.get(_SESSION, b"")))
    return replace(known, warnings=tuple(warning for warning in known.warnings if _TRUST_HOOKS not in warning))


def _brings_settings(arm: Arm) -> bool:
    """Hooks that the arm lays into the workspace are meant; without the flag they would wait for somebody's nod."""
    return any(file.path in (".codex/hooks.json", ".codex/config.toml") for file in arm.overlay)


def _direct_key(request: AttemptRequest) -> dict[str, str]:
    """Without a login, Codex takes a key from a variable that nothing else uses."""
    key = request.environment.get("OPENAI_API_KEY")
    return {} if key is None or request.model_access is not None else {"CODEX_API_KEY": key}


def _settings(request: AttemptRequest) -> Iterator[str]:
    yield from (f"{name} = {toml_value(value)}" for name, value in _SETTINGS.items())
    if request.arm.model is not None:
        yield f"model = {toml_value(request.arm.model)}"
    if request.model_access is not None:
        yield from _provider(request.model_access)
    for name, server in request.arm.mcp_servers.items():
        yield from _server(name, server)


def _provider(access: ModelAccess) -> Iterator[str]:
    yield 'model_provider = "outweigh"'
    yield f"model_providers.outweigh.name = {toml_value('outweigh')}"
    yield f"model_providers.outweigh.base_url = {toml_value(f'{access.base_url}/v1')}"
    yield f"model_providers.outweigh.env_key = {toml_value(_KEY)}"
    yield 'model_providers.outweigh.wire_api = "responses"'


def _server(name: str, server: McpServer) -> Iterator[str]:
    key = f"mcp_servers.{toml_value(name)}"
    if server.url is not None:
        yield f"{key}.url = {toml_value(server.url)}"
        return
    program, *arguments = server.command
    yield f"{key}.command = {toml_value(program)}"
    yield f"{key}.args = {toml_value(arguments)}"
    yield from (f"{key}.env.{variable} = {toml_value(value)}" for variable, value in server.environment.items())
