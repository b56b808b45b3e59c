"""Tools that a request does not offer and the model can search for, as agents list them in texts of their own."""

import re
from collections.abc import Iterable, Iterator

_SEARCHES_TOOLS = re.compile(r"tool_?search", re.IGNORECASE)
_LIST_OF_TOOLS = re.compile(r"deferred[ -]tools", re.IGNORECASE)
_LISTED_TOOL = re.compile(r"""^[ \t]*(?:[-*][ \t]+)?["'`]?([A-Za-z][\w.-]*)["'`]?[ \t]*(?::.*)?$""", re.MULTILINE)
_SOURCES = re.compile(r"following sources:\n((?:- .*\n?)+)")


def listed_deferred_tools(offered: Iterable[str], texts: Iterable[str]) -> Iterator[str]:
    """The names in lists of deferred tools, one on a line, where the request offers a tool that searches for them.

    Claude Code puts such a list into a message of the user's or of the system, Qwen Code into the system prompt.
    """
    if not any(_SEARCHES_TOOLS.search(tool) for tool in offered):
        return
    for text in texts:
        if _LIST_OF_TOOLS.search(text):
            yield from _LISTED_TOOL.findall(text)


def named_sources(description: str) -> Iterator[str]:
    """The tool servers that the description of Codex's search names, with the prefix of their tools."""
    for found in _SOURCES.finditer(description):
        for line in found[1].splitlines():
            yield f"mcp__{line.removeprefix('- ').partition(':')[0].strip()}"
