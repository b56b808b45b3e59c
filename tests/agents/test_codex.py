"""How Codex is asked; and what it then does, with the real program."""

import tomllib
from typing import Any

import pytest
from tests.agents.live_agent import RunsHooks

from outweigh.agents.codex.agent import CodexAgent
from outweigh.agents.command_line import CommandLineAgent, Launch
from outweigh.model.arm import McpServer, OverlayFile
from outweigh.model.toml_writer import write_toml
from outweigh.testing.agent_contract import MODEL_ACCESS, an_agent_arm, an_attempt


def launched(*, asked: dict[str, Any] | None = None, **arm: Any) -> Launch:
    return CodexAgent().launch(an_attempt(an_agent_arm("codex", **arm), **(asked or {})), "/home/agent")


def settings(launch: Launch) -> dict[str, Any]:
    return tomllib.loads(launch.files[".codex/config.toml"].decode())


def test_the_prompt_comes_on_standard_input() -> None:
    launch = launched(asked={"instruction": "--help me"})

    assert launch.stdin == b"--help me"
    assert launch.arguments[:2] == ("exec", "--json")
    assert launch.defaults == {"CODEX_HOME": "/home/agent/.codex"}


def test_the_gateway_is_its_provider() -> None:
    launch = launched(model="gpt-5")

    found = settings(launch)
    assert (found["model"], found["model_provider"]) == ("gpt-5", "outweigh")
    assert found["model_providers"]["outweigh"] == {
        "name": "outweigh",
        "base_url": f"{MODEL_ACCESS.base_url}/v1",
        "env_key": "OUTWEIGH_MODEL_KEY",
        "wire_api": "responses",
    }
    assert launch.gateway_variables == {"OUTWEIGH_MODEL_KEY": MODEL_ACCESS.key}


def test_without_a_gateway_it_uses_the_key_of_the_arm() -> None:
    launch = launched(asked={"model_access": None, "environment": {"OPENAI_API_KEY": "sk-1"}})

    assert launch.defaults["CODEX_API_KEY"] == "sk-1"
    assert launch.gateway_variables == {}
    assert "model_provider" not in settings(launch)


def test_it_tells_nobody_about_the_run_and_fetches_nothing() -> None:
    found = settings(launched())

    assert found["check_for_update_on_startup"] is False
    assert found["analytics"] == {"enabled": False}
    assert found["features"] == {"apps": False, "plugins": False}


def test_tool_servers_are_part_of_its_settings() -> None:
    servers = {
        "my files": McpServer(command=["python3", "server.py"], environment={"ROOT": '/w"s'}),
        "far": McpServer(url="http://127.0.0.1:1/mcp"),
    }

    assert settings(launched(mcp_servers=servers))["mcp_servers"] == {
        "my files": {
            "command": "python3",
            "args": ["server.py"],
            "startup_timeout_sec": 65.0,
            "required": True,
            "env": {"ROOT": '/w"s'},
        },
        "far": {"url": "http://127.0.0.1:1/mcp", "startup_timeout_sec": 65.0, "required": True},
    }


def test_a_server_whose_name_it_would_not_take_is_refused_with_the_way_out() -> None:
    complaint = CodexAgent().missing(an_agent_arm("codex", mcp_servers={"my files": McpServer(command=["files"])}))

    assert complaint == (
        "arms.plain.mcp_servers: codex starts no server that is called 'my files'; use letters, digits, - and _ only."
    )


@pytest.mark.parametrize("path", [".codex/hooks.json", ".codex/config.toml"])
def test_hooks_that_the_arm_brings_run_without_a_nod(path: str) -> None:
    brought = (OverlayFile(path=path, sha256="0" * 64, executable=False),)

    assert "--dangerously-bypass-hook-trust" in launched(overlay=brought).arguments
    assert "--dangerously-bypass-hook-trust" not in launched().arguments


@pytest.mark.parametrize("value", [True, 3, 0.5, 'a "quoted" \\ line\nand more\t\x7f\x01é🙂', ["a", "b\n"], []])
def test_values_survive_the_way_through_toml(value: Any) -> None:
    assert tomllib.loads(write_toml({"key": value}))["key"] == value


class TestCodex(RunsHooks):
    hooks = (".codex/hooks.json", "PreToolUse", ".*")
    model = "gpt-5"
    must_be_there = True

    def agent(self) -> CommandLineAgent:
        return CodexAgent()
