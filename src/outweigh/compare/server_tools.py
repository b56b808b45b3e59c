"""Which tools belong to which tool server, by the names under which agents offer them to their model.

Agents put the server's name before the tool's, each in its own way. They replace characters that a model's API does not
allow, and shorten long names.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache

SERVER_PLACE, TOOL_PLACE = "{server}", "{tool}"
KNOWN_FORMS = (
    "mcp__{server}__{tool}",
    "mcp__{server}",
    "mcp_{server}_{tool}",
    "{server}__{tool}",
    "{server}.{tool}",
    "{server}_{tool}",
)
"""All the ways in which known agents name the tools of a server, to their model or in their transcripts."""

_COMPARED_LENGTH = 30
"""Agents shorten names to 64 characters or less, so that only the beginning of a long server name is compared."""


def tools_by_server(
    tools: Iterable[str], servers: Sequence[str], forms: Sequence[str] = KNOWN_FORMS
) -> dict[str, tuple[str, ...]]:
    """The tools of each server that has any; a tool that could be of several is that of the longest name."""
    found: dict[str, list[str]] = {}
    for tool in dict.fromkeys(tools):
        owners = [server for server in servers if any(_pattern(form, server).match(tool) for form in forms)]
        if owners:
            found.setdefault(max(owners, key=len), []).append(tool)
    return {server: tuple(names) for server, names in found.items()}


@cache
def _pattern(form: str, server: str) -> re.Pattern[str]:
    """What the names of a server's tools look like; without a place for the tool, the whole name."""
    before, _, after = form.partition(SERVER_PLACE)
    separator, has_tool, _ = after.partition(TOOL_PLACE)
    name = r"[^A-Za-z0-9]*".join(re.findall(r"[A-Za-z0-9]+", server[:_COMPARED_LENGTH]))
    if len(server) > _COMPARED_LENGTH:
        return re.compile(re.escape(before) + name, re.IGNORECASE)
    edges = [r"[^A-Za-z0-9]*" if re.fullmatch(r"[^A-Za-z0-9]", edge) else "" for edge in (server[0], server[-1])]
    rest = re.escape(separator) + ("." if has_tool else r"\Z")
    return re.compile(re.escape(before) + edges[0] + name + edges[1] + rest, re.IGNORECASE)
