"""goose, by its own `goose run`."""

from typing import Any

import msgspec

from outweigh.adapters.agents.asked_provider import asked_provider
from outweigh.adapters.agents.command_line import CommandLineAgent, TurnOptions
from outweigh.adapters.agents.launch import Launch
from outweigh.adapters.agents.prompt import prompt
from outweigh.ports.agents import AttemptRequest
from outweigh.task.arm import Arm, McpServer
from outweigh.transcript.goose import GooseReader

_ACCESS = {
    "anthropic": ("ANTHROPIC_HOST", "ANTHROPIC_API_KEY"),
    "google": ("GOOGLE_HOST", "GOOGLE_API_KEY"),
    "openai": ("OPENAI_HOST", "OPENAI_API_KEY"),
}
_PATIENCE_SECONDS = 300


class Goose(CommandLineAgent):
    """Reads skills from `.agents/skills`, words from `AGENTS.md` and `.goosehints`."""

    name = "goose"
    program = "goose"
    install = "https://block.github.io/goose"
    options = TurnOptions
    needs_model = True
    own_ways = tuple(variable for pair in _ACCESS.values() for variable in pair)
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
    direct_keys = ("GOOGLE_API_KEY",)
    logins = (".config/goose/secrets.yaml",)

    def missing(self, arm: Arm) -> str | None:
        """Its models are named with their provider."""
        if arm.model is not None and "/" not in arm.model:
            return f"arms.{arm.name}.model: {self.name} wants a provider before the name, as in openai/{arm.model}."
        return super().missing(arm)

    def provider(self, arm: Arm) -> str | None:
        """That of the model, which is named with it."""
        return asked_provider(arm.model)

    def launch(self, request: AttemptRequest, home: str) -> Launch:  # noqa: ARG002 - the driver's signature
        """`goose run` with the prompt on standard input and events on standard output."""
        provider, _, model = (request.arm.model or "").partition("/")
        turns, reader = self.options_of(request.arm).max_turns, GooseReader()
        return Launch(
            arguments=(
                *("run", "-i", "-", "--no-session", "--quiet", "--output-format", "stream-json"),
                *(() if turns is None else ("--max-turns", str(turns))),
            ),
            stdin=prompt(request).encode(),
            listen=reader.feed,
            report=lambda _: reader.report(),
            files={".config/goose/config.yaml": msgspec.json.encode(_settings(request.arm))},
            defaults={
                "GOOSE_PROVIDER": provider,
                "GOOSE_MODEL": model,
                "GOOSE_MODE": "auto",
                "GOOSE_DISABLE_KEYRING": "1",
                "GOOSE_TELEMETRY_ENABLED": "false",
            },
            access=_access(provider, request),
        )


def _access(provider: str, request: AttemptRequest) -> dict[str, str]:
    """Through the gateway, every provider but Anthropic and Google is spoken to as OpenAI is."""
    if request.model_access is None:
        return {}
    spoken = provider if provider in _ACCESS else "openai"
    host, key = _ACCESS[spoken]
    return {"GOOSE_PROVIDER": spoken, host: request.model_access.base_url, key: request.model_access.key}


def _settings(arm: Arm) -> dict[str, Any]:
    """In YAML's own subset, which is JSON."""
    extensions: dict[str, Any] = {
        "developer": {"enabled": True, "type": "platform", "name": "developer"},
        "skills": {"enabled": True, "type": "platform", "name": "skills"},
    }
    for name, server in arm.mcp_servers.items():
        extensions[name] = {"enabled": True, "name": name, "timeout": _PATIENCE_SECONDS, **_server(server)}
    return {"extensions": extensions}


def _server(server: McpServer) -> dict[str, Any]:
    if server.url is not None:
        return {"type": "streamable_http", "uri": server.url}
    program, *arguments = server.command
    return {"type": "stdio", "cmd": program, "args": arguments, "envs": server.environment}
