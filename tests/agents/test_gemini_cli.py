"""How Gemini CLI is asked; and what it then does, with the real program."""

from typing import Any

import msgspec
from tests.agents.live_agent import LimitsTurns, RunsHooks

from outweigh.agents.command_line import CommandLineAgent, Launch
from outweigh.agents.gemini_cli import GeminiCliAgent
from outweigh.model.arm import McpServer
from outweigh.testing.agent_contract import MODEL_ACCESS, an_agent_arm, an_attempt


def launched(options: dict[str, Any] | None = None, *, asked: dict[str, Any] | None = None, **arm: Any) -> Launch:
    return GeminiCliAgent().launch(
        an_attempt(an_agent_arm("gemini-cli", options, **arm), **(asked or {})), "/home/agent"
    )


def settings(launch: Launch) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(launch.files[".gemini/settings.json"])
    return found


def test_the_prompt_comes_on_standard_input_and_nobody_is_asked_for_leave() -> None:
    launch = launched(model="gemini-2.5-pro", asked={"instruction": "-x"})

    assert launch.stdin == b"-x"
    assert launch.arguments == ("--output-format", "stream-json", "--yolo", "--model", "gemini-2.5-pro")
    assert launch.defaults["GEMINI_CLI_TRUST_WORKSPACE"] == "true"


def test_the_gateway_is_its_provider_and_without_one_it_goes_its_own_way() -> None:
    assert launched().gateway_variables == {
        "GOOGLE_GEMINI_BASE_URL": MODEL_ACCESS.base_url,
        "GEMINI_API_KEY": MODEL_ACCESS.key,
    }
    assert launched(asked={"model_access": None}).gateway_variables == {}


def test_its_settings_are_those_of_the_arm_and_tell_nobody() -> None:
    servers = {
        "files": McpServer(command=["python3", "server.py"], environment={"ROOT": "/ws"}),
        "far": McpServer(url="http://127.0.0.1:1/mcp"),
    }

    found = settings(launched({"max_turns": 7}, mcp_servers=servers))

    assert found["model"] == {"maxSessionTurns": 7}
    assert found["privacy"] == {"usageStatisticsEnabled": False}
    assert found["mcpServers"] == {
        "files": {"command": "python3", "args": ["server.py"], "env": {"ROOT": "/ws"}},
        "far": {"httpUrl": "http://127.0.0.1:1/mcp"},
    }
    assert "model" not in settings(launched())


class TestGeminiCli(RunsHooks, LimitsTurns):
    hooks = (".gemini/settings.json", "BeforeTool", ".*")
    model = "gemini-2.5-pro"

    def agent(self) -> CommandLineAgent:
        return GeminiCliAgent()
