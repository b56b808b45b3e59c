"""`run = "…"`: the same command for every agent, through whichever shell tool the agent offers."""

from collections.abc import Mapping, Sequence
from typing import Any

from outweigh.testing.model_server.request import Tool, ToolKind
from outweigh.testing.model_server.schema_instance import required_values, type_names

# As agents call them, best first; MCP-style prefixes (`developer__shell`) are cut off before looking.
SHELL_NAMES = (
    "bash",
    "shell",
    "exec_command",
    "shell_command",
    "local_shell",
    "run_shell_command",
    "run_command",
    "execute_command",
    "execute_bash",
    "run_terminal_cmd",
    "terminal",
)
COMMAND_NAMES = ("command", "cmd", "commands", "script")
DESCRIPTION = "Run a command"


def shell_among(tools: Sequence[Tool]) -> Tool | None:
    """The tool to run a command with, if there is one."""
    ranked = sorted((tool for tool in tools if _rank(tool) is not None), key=lambda tool: _rank(tool) or 0)
    return ranked[0] if ranked else None


def shell_arguments(tool: Tool, command: str) -> dict[str, Any]:
    """What to call it with: the command in the shape its schema wants, and something for all that is required."""
    if tool.kind is ToolKind.LOCAL_SHELL:
        return {"command": ["bash", "-lc", command]}
    arguments = required_values(tool.schema, DESCRIPTION)
    for name in _command_names(tool)[:1]:
        wants_list = "array" in type_names(tool.schema["properties"][name])
        arguments[name] = ["bash", "-lc", command] if wants_list else command
    return arguments


def _rank(tool: Tool) -> int | None:
    if tool.kind is ToolKind.LOCAL_SHELL:
        return SHELL_NAMES.index("local_shell")
    if tool.kind is ToolKind.FREEFORM or not _command_names(tool):
        return None
    plain = tool.name.rsplit("__", 1)[-1].lower()
    return SHELL_NAMES.index(plain) if plain in SHELL_NAMES else None


def _command_names(tool: Tool) -> list[str]:
    properties: Mapping[str, Any] = tool.schema.get("properties") or {}
    return [name for name in COMMAND_NAMES if name in properties]
