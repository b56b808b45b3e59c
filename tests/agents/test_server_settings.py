"""How each agent is told of its servers' secrets and headers: by the names of variables, never by their values."""

from collections.abc import Mapping

import pytest

from outweigh.agents.server_headers import header_values, header_variables
from outweigh.model.arm import McpServer
from outweigh.plugins import load_adapter
from outweigh.testing.agent_contract import an_agent_arm, an_attempt

TOKEN = "tok-7f3a"
SERVERS = {
    "own": McpServer(command=["python3", "server.py"]),
    "far": McpServer(url="https://far.example.org/mcp", headers={"Authorization": "Bearer ${TOKEN}", "X-Team": "a"}),
}
OPTIONS: Mapping[str, dict[str, object]] = {"acp": {"command": ["agent"]}}


@pytest.mark.parametrize(
    "agent", ["acp", "claude-code", "codex", "copilot", "gemini-cli", "goose", "opencode", "qwen-code"]
)
def test_no_file_and_no_argument_has_the_value_of_a_secret(agent: str) -> None:
    arm = an_agent_arm(agent, OPTIONS.get(agent), model="openai/gpt-5", mcp_servers=SERVERS, secrets=("TOKEN",))

    launch = load_adapter("agent", agent).launch(an_attempt(arm, environment={"TOKEN": TOKEN}), "/home/agent")

    written = b"\n".join((*launch.files.values(), " ".join(launch.arguments).encode()))
    assert TOKEN.encode() not in written
    assert b"OUTWEIGH_HEADER_1_0" in written
    assert b"OUTWEIGH_HEADER_1_1" in written


def test_headers_are_filled_in_from_what_the_agent_gets_and_nothing_else() -> None:
    arm = an_agent_arm("codex", mcp_servers=SERVERS, secrets=("TOKEN",))

    assert header_variables(arm, "far") == {"Authorization": "OUTWEIGH_HEADER_1_0", "X-Team": "OUTWEIGH_HEADER_1_1"}
    assert header_values(arm, {"TOKEN": TOKEN}) == {
        "OUTWEIGH_HEADER_1_0": f"Bearer {TOKEN}",
        "OUTWEIGH_HEADER_1_1": "a",
    }
    assert header_values(arm, {})["OUTWEIGH_HEADER_1_0"] == "Bearer "


def test_a_key_that_would_lead_around_the_gateway_is_kept_from_servers_too() -> None:
    agent = load_adapter("agent", "codex")
    arm = an_agent_arm("codex", mcp_servers=SERVERS, secrets=("TOKEN", "OPENAI_API_KEY"))
    given = {"TOKEN": TOKEN, "OPENAI_API_KEY": "sk-1"}

    assert agent.secrets_of_servers(an_attempt(arm, environment=given)) == ("TOKEN",)
    assert agent.secrets_of_servers(an_attempt(arm, environment=given, model_access=None)) == arm.secrets
