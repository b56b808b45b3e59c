"""Which skills an agent took up, as its tool calls show."""

import re
from collections.abc import Iterable, Iterator

import msgspec

from outweigh.record.loaded import Loaded
from outweigh.transcript.atif import AtifStep, AtifToolCall
from outweigh.transcript.fields import flag_at, name_at

SKILL_TOOLS = frozenset({"skill", "activate_skill", "load_skill", "use_skill"})
"""Tools that load a skill by name: OpenCode and qwen-code, Gemini CLI, goose, Cline."""

_NAME_KEYS = ("skill", "name", "skill_name")
_SKILL_FILE = re.compile(r"[/\\](?P<skill>[^/\\\s'\"]{1,200})[/\\]{1,2}SKILL\.md")


def used_skills(steps: Iterable[AtifStep]) -> tuple[str, ...]:
    """Skills called by name, or whose SKILL.md a call names, in order of first use; a call that failed is no use."""
    found: dict[str, None] = {}
    for step in steps:
        failed = _failed_calls(step)
        for call in step.tool_calls or ():
            if call.tool_call_id not in failed:
                found |= dict.fromkeys(_skills_of(call))
    return tuple(found)


def seen_in_calls(steps: Iterable[AtifStep]) -> Loaded:
    """What tool calls alone prove: which skills were used, and nothing about what else was at hand."""
    return Loaded(
        skills=None,
        skills_used=used_skills(steps),
        mcp_servers=None,
        tools=None,
        memory_files=None,
        seen_by=("tool calls",),
    )


def _skills_of(call: AtifToolCall) -> Iterator[str]:
    if call.function_name.lower() in SKILL_TOOLS:
        yield from (skill for key in _NAME_KEYS if (skill := name_at(call.arguments, key)) is not None)
    else:
        arguments = msgspec.json.encode(call.arguments).decode()
        yield from (found["skill"] for found in _SKILL_FILE.finditer(arguments))


def _failed_calls(step: AtifStep) -> set[str | None]:
    results = step.observation.results if step.observation else ()
    return {result.source_call_id for result in results if flag_at(result.extra, "is_error")}
