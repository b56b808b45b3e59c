"""What Claude Code had at hand, as its first event lists it, and which skills it took up, as its tool calls show."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from outweigh.record.loaded import Loaded, LoadedServer
from outweigh.transcript.atif import AtifStep, AtifToolCall
from outweigh.transcript.foreign import mapping, name, names, text

_SKILL_FILE = re.compile(r"skills/(?P<skill>[^/\s'\"]{1,200})/SKILL\.md")
_READERS = frozenset({"Read", "Bash"})


def loaded_at_start(init: Mapping[str, Any], steps: Iterable[AtifStep]) -> Loaded:
    """The proof of what an arm had, from the `system/init` event and the calls that followed."""
    used = used_skills(steps)
    return Loaded(
        skills=names(init.get("skills")),
        skills_used=used,
        mcp_servers=_servers(init.get("mcp_servers")),
        tools=names(init.get("tools")),
        memory_files=_memory_files(init.get("memory_paths")),
        seen_by=("init event", "tool calls") if used else ("init event",),
    )


def used_skills(steps: Iterable[AtifStep]) -> tuple[str, ...]:
    """Skills that were called by name, or whose SKILL.md was read; in order of first use. A failed call is no use."""
    found: dict[str, None] = {}
    for step in steps:
        failed = _failed_calls(step)
        for call in step.tool_calls or ():
            if call.tool_call_id not in failed:
                found |= dict.fromkeys(_skills_of(call))
    return tuple(found)


def _skills_of(call: AtifToolCall) -> Iterator[str]:
    if call.function_name == "Skill":
        skill = name(call.arguments.get("skill")) or name(call.arguments.get("command"))
        if skill is not None:
            yield skill.removeprefix("/")
    elif call.function_name in _READERS:
        place = text(call.arguments.get("file_path")) or text(call.arguments.get("command")) or ""
        yield from (found["skill"] for found in _SKILL_FILE.finditer(place))


def _failed_calls(step: AtifStep) -> set[str | None]:
    results = step.observation.results if step.observation else ()
    return {result.source_call_id for result in results if mapping(result.extra).get("is_error")}


def _servers(raw: object) -> tuple[LoadedServer, ...] | None:
    if not isinstance(raw, list):
        return None
    servers = ((name(mapping(each).get("name")), text(mapping(each).get("status"))) for each in raw)
    return tuple(LoadedServer(name=named, state=state or "unknown") for named, state in servers if named is not None)


def _memory_files(raw: object) -> tuple[str, ...] | None:
    """Paths by purpose, or a plain list."""
    return names(list(raw.values())) if isinstance(raw, dict) else names(raw)
