"""What a trajectory's tool calls did, across agents: action, command, files, outcome, and the skills used."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from outweigh.model.actions import ACTION_OF_TOOL, Action
from outweigh.model.run_record import ObservedSetup
from outweigh.model.untrusted_json import as_dict, as_list, bool_at, name_at
from outweigh.transcript.atif import AtifStep, AtifToolCall

# Editors that can also show a file have the operation as an argument.
_VIEW_COMMANDS = frozenset({"view", "read"})
_PATH_KEYS = ("file_path", "path", "notebook_path", "absolute_path", "filePath", "filename", "file", "target_file")
_COMMAND_KEYS = ("command", "cmd")
_PATCHED_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_PATCH_KEYS = ("input", "patch", "content")


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizedCall:
    """A tool call in a form common to all agents. `succeeded` is None where its result is missing or does not say."""

    step: int
    tool: str
    arguments: Mapping[str, Any]
    action: Action | None
    commands: tuple[str, ...]
    paths: tuple[str, ...]
    succeeded: bool | None


def normalized_calls(steps: Sequence[AtifStep]) -> Iterator[NormalizedCall]:
    """Every tool call of a trajectory, in order."""
    for step in steps_without_copies(steps):
        outcomes = call_outcomes(step)
        for call in step.tool_calls or ():
            action = _action(call)
            yield NormalizedCall(
                step=step.step_id,
                tool=call.function_name,
                arguments=call.arguments,
                action=action,
                commands=_commands(call.arguments) if action is Action.RUN else (),
                paths=_paths(call.arguments),
                succeeded=outcomes[call.tool_call_id],
            )


def steps_without_copies(steps: Sequence[AtifStep]) -> tuple[AtifStep, ...]:
    """The steps without those copied from an earlier trajectory as context, which would count twice."""
    return tuple(step for step in steps if not step.is_copied_context)


def call_outcomes(step: AtifStep) -> Mapping[str, bool | None]:
    """Whether each call of a step succeeded, by its id; None where its result is missing or does not say."""
    outcomes: dict[str, bool | None] = {call.tool_call_id: None for call in step.tool_calls or ()}
    for result in step.observation.results if step.observation else ():
        is_error = as_dict(result.extra).get("is_error")
        if result.source_call_id in outcomes and isinstance(is_error, bool):
            outcomes[result.source_call_id] = not is_error
    return outcomes


def _action(call: AtifToolCall) -> Action | None:
    action = ACTION_OF_TOOL.get(call.function_name)
    is_view = action is Action.EDIT and str(call.arguments.get("command")) in _VIEW_COMMANDS
    return Action.READ if is_view else action


def _commands(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The commands that were run; of a list of arguments also the last one, which is the script of a shell."""
    for key in _COMMAND_KEYS:
        stated = arguments.get(key)
        if isinstance(stated, str):
            return (stated,)
        words = [word for word in as_list(stated) if isinstance(word, str)]
        if words:
            return (" ".join(words), words[-1])
    return ()


def _paths(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    found = [arguments.get(key) for key in _PATH_KEYS]
    found += as_list(arguments.get("paths"))
    found += [as_dict(change).get("path") for change in as_list(arguments.get("changes"))]
    for key in _PATCH_KEYS:
        patch = arguments.get(key)
        if isinstance(patch, str) and patch.startswith("*** Begin Patch"):
            found += _PATCHED_FILE.findall(patch)
    return tuple(path for path in found if isinstance(path, str) and path)


SKILL_TOOLS = frozenset({"skill", "activate_skill", "load_skill", "use_skill"})
"""Tools that load a skill by name: OpenCode and qwen-code, Gemini CLI, goose, Cline."""

_NAME_KEYS = ("skill", "name", "skill_name")
_SKILL_FILE = re.compile(r"[/\\](?P<skill>[^/\\\s'\"]{1,200})[/\\]{1,2}SKILL\.md")


def used_skills(steps: Iterable[AtifStep], reading_tools: frozenset[str] | None = None) -> tuple[str, ...]:
    """Skills that were loaded by name, or whose SKILL.md a call names, in order of first use; failed calls are skipped.

    With `reading_tools`, only calls of these tools count as reading a SKILL.md.
    """
    found: dict[str, None] = {}
    for step in steps:
        failed = _failed_calls(step)
        for call in step.tool_calls or ():
            if call.tool_call_id not in failed:
                found |= dict.fromkeys(_skills_of(call, reading_tools))
    return tuple(found)


def setup_from_calls(steps: Iterable[AtifStep], reading_tools: frozenset[str] | None = None) -> ObservedSetup:
    """The set-up that tool calls alone show: the skills that were used, and nothing else."""
    return ObservedSetup(
        skills=None,
        skills_used=used_skills(steps, reading_tools),
        mcp_servers=None,
        tools=None,
        memory_files=None,
        seen_by=("tool calls",),
    )


def _skills_of(call: AtifToolCall, reading_tools: frozenset[str] | None) -> Iterator[str]:
    if call.function_name.lower() in SKILL_TOOLS:
        named = [skill for key in _NAME_KEYS if (skill := name_at(call.arguments, key)) is not None]
        # Older versions of Claude Code name the skill as a slash command.
        for skill in named or [name_at(call.arguments, "command") or ""]:
            if skill:
                yield skill.removeprefix("/")
    elif reading_tools is None or call.function_name in reading_tools:
        arguments = msgspec.json.encode(call.arguments).decode()
        yield from (found["skill"] for found in _SKILL_FILE.finditer(arguments))


def _failed_calls(step: AtifStep) -> set[str | None]:
    results = step.observation.results if step.observation else ()
    return {result.source_call_id for result in results if bool_at(result.extra, "is_error")}
