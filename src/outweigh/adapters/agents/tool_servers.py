"""Tool servers as most agents' settings name them."""

from typing import Any

from outweigh.task.arm import Arm


def tool_servers(arm: Arm, *, address_key: str) -> dict[str, Any]:
    """The value of `mcpServers`; agents differ in what they call the address of a server that is reached by HTTP."""
    found: dict[str, Any] = {}
    for name, server in arm.mcp_servers.items():
        if server.url is not None:
            found[name] = {address_key: server.url}
        else:
            program, *arguments = server.command
            found[name] = {"command": program, "args": arguments, "env": server.environment}
    return found
