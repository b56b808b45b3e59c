"""Tools that the model can only search for are told from those that are not there, as each agent lists them."""

from typing import Any

import pytest

from outweigh.gateway.dialects import anthropic_messages, openai_chat, openai_responses

REMINDER = (
    "<system-reminder>\nThe following deferred tools are now available via ToolSearch. Their schemas are NOT loaded:\n"
    "WebFetch\nmcp__zoo__feed_the_zebra\n\nThe following MCP servers are configured but failed to connect:\n"
    'bad (CONNECTION_CLOSED): "Connection closed"\n</system-reminder>'
)
SECTION = '# Deferred Tools\n\n- "exit_plan_mode": "Use this tool."\n- "mcp__zoo__feed": "Feeds it."\n'


def anthropic(role: str, block: dict[str, Any], *tools: dict[str, Any]) -> tuple[str, ...]:
    body = {"model": "m", "messages": [{"role": role, "content": [block]}], "tools": list(tools)}
    return anthropic_messages.read_request(body).deferred_tools


@pytest.mark.parametrize("role", ["user", "system"])
def test_claude_code_lists_them_in_a_message_of_the_user_or_of_the_system(role: str) -> None:
    found = anthropic(role, {"type": "text", "text": REMINDER}, {"name": "ToolSearch"}, {"name": "Bash"})

    assert "mcp__zoo__feed_the_zebra" in found
    assert not any(name.startswith(("bad", "mcp__bad")) for name in found)


@pytest.mark.parametrize(
    ("role", "block"),
    [
        ("assistant", {"type": "text", "text": REMINDER}),
        ("user", {"type": "tool_result", "tool_use_id": "1", "content": REMINDER, "text": REMINDER}),
        ("user", {"type": "text", "text": REMINDER.replace("deferred tools", "other tools")}),
    ],
)
def test_what_the_model_or_a_tool_says_lists_nothing(role: str, block: dict[str, Any]) -> None:
    assert anthropic(role, block, {"name": "ToolSearch"}) == ()


def test_a_list_without_a_tool_that_searches_it_is_no_list() -> None:
    assert anthropic("user", {"type": "text", "text": REMINDER}, {"name": "Bash"}) == ()


def test_the_api_marks_them_itself() -> None:
    tools = ({"name": "mcp__zoo__feed", "defer_loading": True}, {"name": "Bash"})

    assert anthropic("user", {"type": "text", "text": "Hello."}, *tools) == ("mcp__zoo__feed",)


@pytest.mark.parametrize(("role", "is_listed"), [("system", True), ("user", False), ("tool", False)])
def test_qwen_code_lists_them_in_the_system_prompt(role: str, *, is_listed: bool) -> None:
    tools = [{"type": "function", "function": {"name": "tool_search"}}]
    body = {"model": "m", "messages": [{"role": role, "content": SECTION}], "tools": tools}

    assert ("mcp__zoo__feed" in openai_chat.read_request(body).deferred_tools) is is_listed


def test_codex_names_the_servers_in_the_description_of_its_search() -> None:
    description = (
        "# Tool discovery\n\nYou have access to tools from the following sources:\n- Multi-agent tools: Spawn and "
        "manage sub-agents.\n- my_park\nSome of the tools may not have been provided to you upfront."
    )
    body = {"model": "m", "input": "Hello.", "tools": [{"type": "tool_search", "description": description}]}

    assert openai_responses.read_request(body).deferred_tools == ("mcp__Multi-agent tools", "mcp__my_park")
