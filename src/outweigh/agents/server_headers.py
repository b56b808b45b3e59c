"""HTTP headers of tool servers that are reached by address: their values are in variables of the agent, in no file.

Every agent can put a variable into a header, each in its own way, but not every one can make it a part of a header.
"""

from collections.abc import Mapping

from outweigh.model.arm import Arm
from outweigh.model.provider import fill_variables, variables_in


def header_variables(arm: Arm, server: str) -> dict[str, str]:
    """The variable that holds each header of a server."""
    number, headers = list(arm.mcp_servers).index(server), arm.mcp_servers[server].headers
    return {header: f"OUTWEIGH_HEADER_{number}_{place}" for place, header in enumerate(headers)}


def header_values(arm: Arm, environment: Mapping[str, str]) -> dict[str, str]:
    """The values of these variables, with the arm's secrets in them; one that the agent does not get is empty."""
    values: dict[str, str] = {}
    for name, server in arm.mcp_servers.items():
        for header, variable in header_variables(arm, name).items():
            text = server.headers[header]
            values[variable] = fill_variables(text, {part: environment.get(part, "") for part in variables_in(text)})
    return values
