"""How goose is asked; and what it then does, with the real program."""

from typing import Any

import msgspec
import pytest
from tests.agents.live_agent import LimitsTurns

from outweigh.agents.command_line import CommandLineAgent, Launch
from outweigh.agents.goose import GooseAgent
from outweigh.model.arm import McpServer
from outweigh.testing.agent_contract import MODEL_ACCESS, an_agent_arm, an_attempt
from outweigh.testing.model_server import LedgerEntry


def launched(
    options: dict[str, Any] | None = None,
    *,
    model: str = "openai/gpt-5",
    asked: dict[str, Any] | None = None,
    **arm: Any,
) -> Launch:
    return GooseAgent().launch(
        an_attempt(an_agent_arm("goose", options, model=model, **arm), **(asked or {})), "/home/agent"
    )


def test_the_prompt_comes_on_standard_input_and_turns_are_an_option() -> None:
    launch = launched({"max_turns": 7}, asked={"instruction": "-x"})

    assert launch.stdin == b"-x"
    assert launch.arguments[:3] == ("run", "-i", "-")
    assert launch.arguments[-2:] == ("--max-turns", "7")


@pytest.mark.parametrize(
    ("model", "access"),
    [
        (
            "openai/m",
            {"GOOSE_PROVIDER": "openai", "OPENAI_HOST": MODEL_ACCESS.base_url, "OPENAI_API_KEY": MODEL_ACCESS.key},
        ),
        (
            "anthropic/m",
            {
                "GOOSE_PROVIDER": "anthropic",
                "ANTHROPIC_HOST": MODEL_ACCESS.base_url,
                "ANTHROPIC_API_KEY": MODEL_ACCESS.key,
            },
        ),
        (
            "google/m",
            {"GOOSE_PROVIDER": "google", "GOOGLE_HOST": MODEL_ACCESS.base_url, "GOOGLE_API_KEY": MODEL_ACCESS.key},
        ),
        (
            "openrouter/m",
            {"GOOSE_PROVIDER": "openai", "OPENAI_HOST": MODEL_ACCESS.base_url, "OPENAI_API_KEY": MODEL_ACCESS.key},
        ),
    ],
)
def test_the_provider_before_the_name_tells_how_the_gateway_is_spoken_to(model: str, access: dict[str, str]) -> None:
    metered, direct = launched(model=model), launched(model=model, asked={"model_access": None})

    assert (metered.gateway_variables, metered.defaults["GOOSE_MODEL"]) == (access, "m")
    assert (direct.gateway_variables, direct.defaults["GOOSE_PROVIDER"]) == ({}, model.partition("/")[0])


def test_its_extensions_are_its_own_tools_skills_and_the_arms_servers() -> None:
    servers = {
        "files": McpServer(command=["python3", "server.py"], environment={"ROOT": "/ws"}),
        "far": McpServer(url="http://127.0.0.1:1/mcp"),
    }

    found = msgspec.json.decode(launched(mcp_servers=servers).files[".config/goose/config.yaml"])["extensions"]

    assert list(found) == ["developer", "skills", "files", "far"]
    assert found["files"] == {
        "enabled": True,
        "name": "files",
        "timeout": 300,
        "type": "stdio",
        "cmd": "python3",
        "args": ["server.py"],
        "envs": {"ROOT": "/ws"},
    }
    assert (found["far"]["type"], found["far"]["uri"]) == ("streamable_http", "http://127.0.0.1:1/mcp")


def test_a_model_without_a_provider_is_refused_with_the_way_out() -> None:
    assert "goose needs a provider before the name" in (
        GooseAgent().missing(an_agent_arm("goose", model="gpt-5")) or ""
    )


class TestGoose(LimitsTurns):
    model = "openai/gpt-4.1"

    def agent(self) -> CommandLineAgent:
        return GooseAgent()

    def counts(self, entry: LedgerEntry) -> bool:
        """It does not count the request for a title."""
        return super().counts(entry) and bool(entry.tools)
