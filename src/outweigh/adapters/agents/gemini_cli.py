"""Gemini CLI, by its own `gemini`."""

from typing import Any

import msgspec

from outweigh.adapters.agents.command_line import CommandLineAgent, TurnOptions
from outweigh.adapters.agents.launch import Launch
from outweigh.adapters.agents.prompt import prompt
from outweigh.adapters.agents.tool_servers import tool_servers
from outweigh.ports.agents import AttemptRequest
from outweigh.task.arm import Arm
from outweigh.transcript.failure import FailureKind
from outweigh.transcript.gemini_cli import GeminiCliReader

EXIT_CODES = {41: FailureKind.UNAUTHORIZED, 53: FailureKind.TURN_LIMIT}
"""Those of its fatal errors that say why it stopped; programs that were made from it have them too."""


class GeminiCli(CommandLineAgent):
    """Reads skills from `.gemini/skills`, words from `GEMINI.md`, hooks and settings from `.gemini/settings.json`."""

    name = "gemini-cli"
    program = "gemini"
    install = "npm install -g @google/gemini-cli"
    options = TurnOptions
    own_ways = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_GCA", "GOOGLE_GENAI_USE_VERTEXAI")
    keys = ("GEMINI_API_KEY",)
    direct_keys = ("GOOGLE_API_KEY",)
    logins = (".gemini/oauth_creds.json",)

    def provider(self, arm: Arm) -> str | None:  # noqa: ARG002 - the driver's signature
        """Always the same."""
        return "gemini"

    def launch(self, request: AttemptRequest, home: str) -> Launch:
        """`gemini` with the prompt on standard input and events on standard output."""
        model, access, reader = request.arm.model, request.model_access, GeminiCliReader()
        return Launch(
            arguments=(
                *("--output-format", "stream-json", "--yolo"),
                *(() if model is None else ("--model", model)),
            ),
            stdin=prompt(request).encode(),
            listen=reader.feed,
            report=lambda _: reader.report(),
            exit_codes=EXIT_CODES,
            files={".gemini/settings.json": msgspec.json.encode(self._settings(request))},
            defaults={
                "GEMINI_CLI_HOME": home,
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
                "GEMINI_CLI_NO_RELAUNCH": "true",  # a second process of itself would only cost time
            },
            access=(
                {} if access is None else {"GOOGLE_GEMINI_BASE_URL": access.base_url, "GEMINI_API_KEY": access.key}
            ),
        )

    def _settings(self, request: AttemptRequest) -> dict[str, Any]:
        turns = self.options_of(request.arm).max_turns
        return {
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "mcpServers": tool_servers(request.arm, address_key="httpUrl"),
            **({} if turns is None else {"model": {"maxSessionTurns": turns}}),
        }
