"""How Qwen Code is asked; and what it then does, with the real program."""

from typing import Any

import msgspec
from tests.agents.live_agent import LimitsTurns

from outweigh.agents.command_line import CommandLineAgent, Launch
from outweigh.agents.qwen_code import QwenCodeAgent
from outweigh.model.arm import McpServer
from outweigh.model.usage import Usage
from outweigh.testing.agent_contract import MODEL_ACCESS, an_agent_arm, an_attempt
from outweigh.testing.model_server import Tokens


def launched(options: dict[str, Any] | None = None, *, asked: dict[str, Any] | None = None, **arm: Any) -> Launch:
    request = an_attempt(an_agent_arm("qwen-code", options, model="qwen3-coder", **arm), **(asked or {}))
    return QwenCodeAgent().launch(request, "/home/agent")


def test_the_prompt_comes_on_standard_input_and_turns_are_an_option() -> None:
    launch = launched({"max_turns": 7}, asked={"instruction": "-x"})

    assert launch.stdin == b"-x"
    assert launch.arguments[-4:] == ("--model", "qwen3-coder", "--max-session-turns", "7")


def test_the_gateway_is_its_provider_and_without_one_it_goes_its_own_way() -> None:
    assert launched().gateway_variables == {
        "OPENAI_BASE_URL": f"{MODEL_ACCESS.base_url}/v1",
        "OPENAI_API_KEY": MODEL_ACCESS.key,
    }
    assert launched(asked={"model_access": None}).gateway_variables == {}


def test_tool_servers_are_part_of_its_settings() -> None:
    launch = launched(mcp_servers={"files": McpServer(command=["python3", "server.py"])})

    found = msgspec.json.decode(launch.files[".qwen/settings.json"])
    assert found["mcpServers"] == {"files": {"command": "python3", "args": ["server.py"], "env": {}}}
    assert found["privacy"] == {"usageStatisticsEnabled": False}


def test_it_has_no_model_of_its_own() -> None:
    assert "set `model`" in (QwenCodeAgent().missing(an_agent_arm("qwen-code")) or "")


class TestQwenCode(LimitsTurns):
    model = "qwen3-coder"

    def agent(self) -> CommandLineAgent:
        return QwenCodeAgent()

    def usage_of(self, tokens: Tokens) -> Usage:
        """It has no word for what is written to the cache."""
        return msgspec.structs.replace(super().usage_of(tokens), cache_write_tokens=None)
