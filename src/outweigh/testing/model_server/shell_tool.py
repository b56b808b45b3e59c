"""The shell among the tools that an agent offers, and the arguments of a call of it.

Arguments that the tool requires beside the command get the smallest value its JSON Schema accepts.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from outweigh.testing.model_server.model_request import OfferedTool, OfferedToolKind

JsonSchema = Mapping[str, Any]
_MAX_SCHEMA_DEPTH = 20


def smallest_instance(schema: JsonSchema, text: str, depth: int = 0) -> Any:
    """A value with only the required parts; strings contain `text` unless the schema fixes them."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    option = next((schema[union][0] for union in ("anyOf", "oneOf", "allOf") if schema.get(union)), None)
    return _by_type(schema, text, depth) if option is None else smallest_instance(option, text, depth + 1)


def required_values(schema: JsonSchema, text: str, depth: int = 0) -> dict[str, Any]:
    """A value for every required property of an object."""
    properties = schema.get("properties", {})
    if depth > _MAX_SCHEMA_DEPTH:
        return {}
    names = [name for name in schema.get("required", ()) if isinstance(name, str)]
    return {name: smallest_instance(properties.get(name, {}), text, depth + 1) for name in names}


def type_names(schema: JsonSchema) -> frozenset[str]:
    """The types that a schema allows, in lower case, because Gemini writes them in capitals."""
    stated = schema.get("type", ())
    names = {stated} if isinstance(stated, str) else set(stated)
    for union in ("anyOf", "oneOf"):
        for option in schema.get(union, ()):
            names |= type_names(option)
    return frozenset(name.lower() for name in names)


def _by_type(schema: JsonSchema, text: str, depth: int) -> Any:
    kind = _type_of(schema)
    if kind == "object":
        return required_values(schema, text, depth)
    if kind == "array":
        return [
            smallest_instance(schema.get("items", {}), text, depth + 1) for _ in range(int(schema.get("minItems", 0)))
        ]
    if kind in ("integer", "number"):
        return schema.get("minimum", 0)
    return {"boolean": False, "null": None}.get(kind, text)


def _type_of(schema: JsonSchema) -> str:
    names = type_names(schema)
    if not names:
        return "object" if "properties" in schema else "string"
    return min(names - {"null"} or names)


# The names that agents use, best first; MCP-style prefixes (`developer__shell`) are removed before comparing.
SHELL_NAMES = (
    "bash",
    "shell",
    "exec_command",
    "shell_command",
    "local_shell",
    "run_shell_command",
    "run_command",
    "run_commands",
    "execute_command",
    "execute_bash",
    "run_terminal_cmd",
    "terminal",
)
COMMAND_NAMES = ("command", "cmd", "commands", "script")
CALL_DESCRIPTION = "Run a command"


def find_shell_tool(tools: Sequence[OfferedTool]) -> OfferedTool | None:
    """The tool to run a command with; None if there is none."""
    ranked = sorted((tool for tool in tools if _shell_rank(tool) is not None), key=lambda tool: _shell_rank(tool) or 0)
    return ranked[0] if ranked else None


def shell_arguments(tool: OfferedTool, command: str) -> dict[str, Any]:
    """The arguments of a call of the shell: the command in the form its schema wants, and a value for each required
    one; null where that is allowed, by which strict schemas leave one out.
    """
    if tool.kind is OfferedToolKind.LOCAL_SHELL:
        return {"command": ["bash", "-lc", command]}
    properties = tool.schema.get("properties") or {}
    arguments = {
        name: None if "null" in type_names(properties.get(name, {})) else value
        for name, value in required_values(tool.schema, CALL_DESCRIPTION).items()
    }
    for name in _command_parameters(tool)[:1]:
        wants_list = "array" in type_names(properties[name])
        words = [command] if name == "commands" else ["bash", "-lc", command]
        arguments[name] = words if wants_list else command
    return arguments


def _shell_rank(tool: OfferedTool) -> int | None:
    if tool.kind is OfferedToolKind.LOCAL_SHELL:
        return SHELL_NAMES.index("local_shell")
    if tool.kind is OfferedToolKind.FREEFORM or not _command_parameters(tool):
        return None
    plain = tool.name.rsplit("__", 1)[-1].lower()
    return SHELL_NAMES.index(plain) if plain in SHELL_NAMES else None


def _command_parameters(tool: OfferedTool) -> list[str]:
    properties: Mapping[str, Any] = tool.schema.get("properties") or {}
    return [name for name in COMMAND_NAMES if name in properties]
