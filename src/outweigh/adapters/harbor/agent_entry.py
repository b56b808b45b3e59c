"""An arm as an agent of Harbor's job file. What that file cannot say is refused, never left out in silence."""

from collections.abc import Iterator
from typing import Any

from outweigh.errors import UsageError
from outweigh.task.arm import Arm, McpServer

_NAMES = {"noop": "nop", "qwen-code": "qwen-coder"}
"""Agents that Harbor knows under another name; every other name is Harbor's own, or an import path."""
_OURS_ALONE = frozenset({"acp", "replay", "scripted", "shell"})
_NO_AGENTS = frozenset({"noop", "oracle"})
_WITHOUT_SERVERS = frozenset({"aider"}) | _NO_AGENTS
_WANT_PROVIDER = frozenset({"aider", "gemini-cli", "goose", "mini-swe-agent", "opencode"})
_OWN_PROVIDER = {"gemini-cli": "google"}
"""Agents with a single provider, which Harbor wants to be told all the same."""


def agent_entry(arm: Arm) -> dict[str, Any]:
    """The entry under `agents`; secrets are named there, and only Harbor looks up their values."""
    if (why := next(_misfits(arm), None)) is not None:
        raise UsageError(f"arms.{arm.name} cannot be run through Harbor: {why}")
    said: dict[str, Any] = {
        "import_path" if ":" in arm.agent and not arm.agent.startswith("acp:") else "name": _NAMES.get(
            arm.agent, arm.agent
        ),
        "model_name": _model(arm),
        "kwargs": dict(arm.options),
        "env": {**arm.environment, **{name: f"${{{name}}}" for name in arm.secrets}},
        "mcp_servers": [_server(name, server) for name, server in arm.mcp_servers.items()],
    }
    return {key: value for key, value in said.items() if value}


def _model(arm: Arm) -> str | None:
    provider = _OWN_PROVIDER.get(arm.agent)
    if arm.model is None or provider is None or "/" in arm.model:
        return arm.model
    return f"{provider}/{arm.model}"


def _server(name: str, server: McpServer) -> dict[str, Any]:
    if server.url is not None:
        return {"name": name, "transport": "streamable-http", "url": server.url}
    program, *words = server.command
    return {"name": name, "transport": "stdio", "command": program, "args": words}


def _misfits(arm: Arm) -> Iterator[str]:
    """Everything about the arm that would be lost on the way, with the way out."""
    if arm.agent in _OURS_ALONE:
        yield f"Harbor has no agent {arm.agent!r}; take another agent, or leave out --executor harbor."
    if (ours := {theirs: ours for ours, theirs in _NAMES.items()}.get(arm.agent)) is not None:
        yield f"what Harbor calls {arm.agent} is {ours} here, and only so its files go where it looks; write that."
    if arm.flags:
        yield "Harbor starts agents by itself and takes no `flags`; `harbor agent schema` lists what `options` can say."
    if arm.agent in _NO_AGENTS and arm.options:
        yield f"{arm.agent} has no `options`; leave them out."
    if arm.agent in _WITHOUT_SERVERS and arm.mcp_servers:
        yield f"{arm.agent} starts no tool servers; leave out `mcp_servers`."
    for name, server in arm.mcp_servers.items():
        if server.environment:
            yield f"`mcp_servers.{name}.environment` has no place in a job file; put it into the server's command."
    if arm.agent in _WANT_PROVIDER and "/" not in (_model(arm) or ""):
        yield f"Harbor wants the model of {arm.agent} with its provider; write `model` as provider/model."
    for name, value in arm.environment.items():
        if value.startswith("${") and value.endswith("}"):
            yield f"Harbor would put a variable of yours in place of `environment.{name}`; name it under `secrets`."
