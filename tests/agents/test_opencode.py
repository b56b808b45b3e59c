"""How OpenCode is asked; and what it then does, with the real program."""

from typing import Any

import msgspec
import pytest
from tests.agents.live_agent import LiveAgent

from outweigh.agents.command_line import CommandLineAgent, Launch
from outweigh.agents.opencode import OpenCodeAgent
from outweigh.model.arm import McpServer
from outweigh.testing.agent_contract import MODEL_ACCESS, an_agent_arm, an_attempt
from outweigh.testing.model_server import LedgerEntry


def launched(model: str = "openai/gpt-5", *, asked: dict[str, Any] | None = None, **arm: Any) -> Launch:
    return OpenCodeAgent().launch(
        an_attempt(an_agent_arm("opencode", model=model, **arm), **(asked or {})), "/home/agent"
    )


def settings(launch: Launch) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(launch.files[".config/opencode/opencode.json"])
    return found


def test_the_prompt_comes_on_standard_input_and_nobody_is_asked_for_leave() -> None:
    launch = launched(asked={"instruction": "-x"})

    assert launch.stdin == b"-x"
    assert launch.arguments == ("run", "--format", "json", "--model", "openai/gpt-5")
    assert settings(launch)["permission"] == "allow"


@pytest.mark.parametrize(
    ("model", "package", "version"),
    [
        ("openai/gpt-5", "@ai-sdk/openai", "v1"),
        ("anthropic/claude-sonnet-4-5", "@ai-sdk/anthropic", "v1"),
        ("google/gemini-2.5-pro", "@ai-sdk/google", "v1beta"),
        ("openrouter/qwen/qwen3", "@ai-sdk/openai-compatible", "v1"),
    ],
)
def test_the_provider_before_the_name_tells_how_the_gateway_is_spoken_to(
    model: str, package: str, version: str
) -> None:
    provider, _, name = model.partition("/")

    assert settings(launched(model))["provider"] == {
        provider: {
            "npm": package,
            "options": {"baseURL": f"{MODEL_ACCESS.base_url}/{version}", "apiKey": MODEL_ACCESS.key},
            "models": {name: {}},
        }
    }
    assert "provider" not in settings(launched(model, asked={"model_access": None}))


def test_tool_servers_are_part_of_its_settings() -> None:
    servers = {
        "files": McpServer(command=["python3", "server.py"], environment={"ROOT": "/ws"}),
        "far": McpServer(url="http://127.0.0.1:1/mcp"),
    }

    assert settings(launched(mcp_servers=servers))["mcp"] == {
        "files": {
            "type": "local",
            "command": ["python3", "server.py"],
            "environment": {"ROOT": "/ws"},
            "timeout": 65_000,
        },
        "far": {"type": "remote", "url": "http://127.0.0.1:1/mcp", "timeout": 65_000},
    }


def test_a_model_without_a_provider_is_refused_with_the_way_out() -> None:
    complaint = OpenCodeAgent().missing(an_agent_arm("opencode", model="gpt-5"))

    assert complaint == "arms.plain.model: opencode needs a provider before the name, as in openai/gpt-5."


class TestOpenCode(LiveAgent):
    model = "openai/gpt-5"

    def agent(self) -> CommandLineAgent:
        return OpenCodeAgent()

    def counts(self, entry: LedgerEntry) -> bool:
        """It does not count the request for a title."""
        return super().counts(entry) and bool(entry.tools)
