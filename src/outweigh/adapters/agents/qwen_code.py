"""Qwen Code, by its own `qwen`."""

from typing import Any

import msgspec

from outweigh.adapters.agents.command_line import CommandLineAgent, TurnOptions
from outweigh.adapters.agents.gemini_cli import EXIT_CODES
from outweigh.adapters.agents.launch import Launch
from outweigh.adapters.agents.prompt import prompt
from outweigh.adapters.agents.tool_servers import tool_servers
from outweigh.ports.agents import AttemptRequest
from outweigh.task.arm import Arm
from outweigh.transcript.qwen_code import QwenCodeReader


class QwenCode(CommandLineAgent):
    """Reads skills from `.qwen/skills`, words from `QWEN.md`, settings from `.qwen/settings.json`."""

    name = "qwen-code"
    program = "qwen"
    install = "npm install -g @qwen-code/qwen-code"
    options = TurnOptions
    needs_model = True
    own_ways = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL")
    keys = ("OPENAI_API_KEY",)
    logins = (".qwen/oauth_creds.json",)

    def provider(self, arm: Arm) -> str | None:  # noqa: ARG002 - the driver's signature
        """Always the same."""
        return "openai"

    def launch(self, request: AttemptRequest, home: str) -> Launch:  # noqa: ARG002 - the driver's signature
        """`qwen` with the prompt on standard input and events on standard output."""
        access, turns, reader = request.model_access, self.options_of(request.arm).max_turns, QwenCodeReader()
        return Launch(
            arguments=(
                *("--output-format", "stream-json", "--yolo", "--auth-type", "openai"),
                *("--model", request.arm.model or ""),
                *(() if turns is None else ("--max-session-turns", str(turns))),
            ),
            stdin=prompt(request).encode(),
            listen=reader.feed,
            report=lambda _: reader.report(),
            files={".qwen/settings.json": msgspec.json.encode(_settings(request))},
            exit_codes=EXIT_CODES,
            access={} if access is None else {"OPENAI_BASE_URL": f"{access.base_url}/v1", "OPENAI_API_KEY": access.key},
        )


def _settings(request: AttemptRequest) -> dict[str, Any]:
    return {
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True, "disableUpdateNag": True},
        "privacy": {"usageStatisticsEnabled": False},
        "mcpServers": tool_servers(request.arm, address_key="httpUrl"),
    }
