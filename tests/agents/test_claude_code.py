"""How Claude Code is asked; and what it then does, with the real program."""

from typing import Any

import msgspec
from tests.agents.live_agent import LimitsTurns, RunsHooks

from outweigh.agents.claude_code.agent import ClaudeCodeAgent
from outweigh.agents.command_line import CommandLineAgent, Launch
from outweigh.model.arm import McpServer, OverlayFile
from outweigh.testing.agent_contract import MODEL_ACCESS, an_agent_arm, an_attempt

SERVERS = {
    "files": McpServer(command=["python3", "server.py", "-v"], environment={"ROOT": "/ws"}),
    "far": McpServer(url="http://127.0.0.1:1/mcp"),
}


def launched(options: dict[str, Any] | None = None, *, asked: dict[str, Any] | None = None, **arm: Any) -> Launch:
    return ClaudeCodeAgent().launch(
        an_attempt(an_agent_arm("claude-code", options, **arm), **(asked or {})), "/home/agent"
    )


def test_the_prompt_comes_on_standard_input_and_the_arms_words_after_it() -> None:
    launch = launched(extra_prompt="Be brief.", asked={"instruction": "-p is no option here.\n"})

    assert launch.stdin == b"-p is no option here.\n\nBe brief."
    assert launch.arguments[:4] == ("-p", "--output-format", "stream-json", "--verbose")


def test_model_and_turns_are_options_and_nothing_is_said_that_the_arm_does_not_say() -> None:
    told = launched({"max_turns": 7}, model="sonnet").arguments

    assert told[-4:] == ("--model", "sonnet", "--max-turns", "7")
    assert not {"--model", "--max-turns", "--max-budget-usd"} & set(launched().arguments)


def test_it_holds_its_own_purse_only_where_nobody_else_does() -> None:
    metered, direct = launched(asked={"budget_usd": 0.5}), launched(asked={"budget_usd": 0.5, "model_access": None})

    assert "--max-budget-usd" not in metered.arguments
    assert direct.arguments[-2:] == ("--max-budget-usd", "0.5")


def test_the_gateway_is_its_provider_and_without_one_it_goes_its_own_way() -> None:
    assert launched().gateway_variables == {
        "ANTHROPIC_BASE_URL": MODEL_ACCESS.base_url,
        "ANTHROPIC_API_KEY": MODEL_ACCESS.key,
    }
    assert launched(asked={"model_access": None}).gateway_variables == {}
    assert "CLAUDE_CODE_OAUTH_TOKEN" in ClaudeCodeAgent.bypass_variables


def test_only_the_arms_tool_servers_are_started() -> None:
    launch = launched(mcp_servers=SERVERS)

    (path, content), *more = launch.files.items()
    assert more == []
    assert launch.arguments[-3:] == ("--mcp-config", f"/home/agent/{path}", "--strict-mcp-config")
    assert msgspec.json.decode(content) == {
        "mcpServers": {
            "files": {
                "type": "stdio",
                "command": "python3",
                "args": ["server.py", "-v"],
                "env": {"ROOT": "/ws"},
            },
            "far": {"type": "http", "url": "http://127.0.0.1:1/mcp"},
        }
    }
    assert launched().files == {}
    assert launched().arguments[-1] == "--strict-mcp-config"


def test_tool_servers_that_the_arms_files_bring_are_let_in() -> None:
    brought = (OverlayFile(path=".mcp.json", sha256="0" * 64, executable=False),)

    assert "--strict-mcp-config" not in launched(overlay=brought).arguments


def test_hooks_are_shown_where_the_arm_can_have_some() -> None:
    settings = (OverlayFile(path=".claude/settings.json", sha256="0" * 64, executable=False),)

    assert "--include-hook-events" in launched(overlay=settings).arguments
    assert "--include-hook-events" in launched(flags=("--plugin-dir", "plug")).arguments
    assert "--include-hook-events" not in launched().arguments


def test_it_reads_the_projects_settings_and_nobody_elses() -> None:
    launch = launched()

    at = launch.arguments.index("--setting-sources")
    assert launch.arguments[at + 1] == "project"
    assert launch.defaults["CLAUDE_CONFIG_DIR"] == "/home/agent/.claude"


class TestClaudeCode(RunsHooks, LimitsTurns):
    hooks = (".claude/settings.json", "PreToolUse", "Bash")
    model = "claude-sonnet-4-5"
    must_be_there = True

    def agent(self) -> CommandLineAgent:
        return ClaudeCodeAgent()
