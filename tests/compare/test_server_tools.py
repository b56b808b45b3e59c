"""Tools are told to be a server's by their names, which every agent makes in its own way."""

import pytest

from outweigh.compare.server_tools import tools_by_server

CLAUDE, CODEX, GEMINI = "mcp__{server}__{tool}", "mcp__{server}", "mcp_{server}_{tool}"
GOOSE, OPENCODE = "{server}__{tool}", "{server}_{tool}"


@pytest.mark.parametrize(
    ("tool", "form"),
    [
        ("mcp__notes__add", CLAUDE),
        ("mcp__notes", CODEX),
        ("mcp_notes_add", GEMINI),
        ("notes__add", GOOSE),
        ("notes_add", OPENCODE),
        ("notes.add", "{server}.{tool}"),
    ],
)
def test_every_form_is_known_alone_and_among_all(tool: str, form: str) -> None:
    assert tools_by_server([tool], ["notes"], [form]) == {"notes": (tool,)}
    assert tools_by_server([tool], ["notes"]) == {"notes": (tool,)}


@pytest.mark.parametrize(
    ("tool", "server", "form"),
    [
        ("web_fetch", "web", CLAUDE),
        ("mcp__notes2__add", "notes", CLAUDE),
        ("mcp__notes__", "notes", CLAUDE),
        ("mcp__notes2", "notes", CODEX),
        ("mcp__notes__add", "notes", CODEX),
        ("notes_add", "notes", GEMINI),
        ("keynotes_add", "notes", OPENCODE),
    ],
)
def test_what_does_not_have_the_form_of_the_agent_is_not_of_the_server(tool: str, server: str, form: str) -> None:
    assert tools_by_server([tool], [server], [form]) == {}


@pytest.mark.parametrize("tool", ["mcp__my_zoo_x__feed", "mcp__my-zoo-x__feed", "mcp__My_zoo_x__feed"])
def test_characters_that_an_api_does_not_take_may_be_replaced(tool: str) -> None:
    assert tools_by_server([tool], ["my zoo.x"], [CLAUDE]) == {"my zoo.x": (tool,)}


def test_of_two_servers_a_tool_belongs_to_the_one_with_the_longer_name() -> None:
    found = tools_by_server(["git_hub_list", "git_log"], ["git", "git_hub"], [OPENCODE])

    assert found == {"git_hub": ("git_hub_list",), "git": ("git_log",)}


def test_only_the_beginning_of_a_long_name_is_compared() -> None:
    name = "a-very-long-name-of-a-server-that-nobody-would-ever-think-of-typing"

    assert tools_by_server([f"mcp__{name[:45]}_1a2b3c"], [name], [CLAUDE]) == {name: (f"mcp__{name[:45]}_1a2b3c",)}
    assert tools_by_server(["mcp__another__add"], [name], [CLAUDE]) == {}
