"""OpenCode, by its own `opencode run`."""

from typing import Any

import msgspec

from outweigh.adapters.agents.asked_provider import asked_provider
from outweigh.adapters.agents.command_line import CommandLineAgent
from outweigh.adapters.agents.launch import Launch
from outweigh.adapters.agents.prompt import prompt
from outweigh.ports.agents import AttemptRequest
from outweigh.ports.gateways import ModelAccess
from outweigh.task.arm import Arm, McpServer
from outweigh.transcript.opencode import OpenCodeReader

_SPEAKING = {"anthropic": "@ai-sdk/anthropic", "openai": "@ai-sdk/openai", "google": "@ai-sdk/google"}
_SPEAKING_ELSE = "@ai-sdk/openai-compatible"
_VERSION_OF = {"google": "v1beta"}


class OpenCode(CommandLineAgent):
    """Reads skills from `.agents/skills`, words from `AGENTS.md`, settings from `opencode.json`."""

    name = "opencode"
    program = "opencode"
    install = "npm install -g opencode-ai"
    needs_model = True
    own_ways = ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "OPENAI_API_KEY")
    keys = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
    logins = (".local/share/opencode/auth.json",)

    def missing(self, arm: Arm) -> str | None:
        """Its models are named with their provider."""
        if arm.model is not None and "/" not in arm.model:
            return f"arms.{arm.name}.model: {self.name} wants a provider before the name, as in openai/{arm.model}."
        return super().missing(arm)

    def provider(self, arm: Arm) -> str | None:
        """That of the model, which is named with it."""
        return asked_provider(arm.model)

    def launch(self, request: AttemptRequest, home: str) -> Launch:  # noqa: ARG002 - the driver's signature
        """`opencode run` with the prompt on standard input and events on standard output."""
        reader = OpenCodeReader()
        return Launch(
            arguments=("run", "--format", "json", "--model", request.arm.model or ""),
            stdin=prompt(request).encode(),
            listen=reader.feed,
            report=lambda _: reader.report(),
            files={".config/opencode/opencode.json": msgspec.json.encode(_settings(request))},
            defaults={"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
        )


def _settings(request: AttemptRequest) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "autoupdate": False,
        "share": "disabled",
        "permission": "allow",
        "mcp": {name: _server(server) for name, server in request.arm.mcp_servers.items()},
    }
    if request.model_access is not None:
        provider, _, model = (request.arm.model or "").partition("/")
        settings["provider"] = {provider: _provider(provider, model, request.model_access)}
    return settings


def _provider(name: str, model: str, access: ModelAccess) -> dict[str, Any]:
    return {
        "npm": _SPEAKING.get(name, _SPEAKING_ELSE),
        "options": {"baseURL": f"{access.base_url}/{_VERSION_OF.get(name, 'v1')}", "apiKey": access.key},
        "models": {model: {}},
    }


def _server(server: McpServer) -> dict[str, Any]:
    if server.url is not None:
        return {"type": "remote", "url": server.url}
    return {"type": "local", "command": server.command, "environment": server.environment}
