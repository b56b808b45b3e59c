"""What the files of an arm declare beside skills and instructions: sub-agents, commands, hooks, plugins, rules and
instructions for a folder. Each has a marker where its text would show in requests.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any

from outweigh.model.agent_files import AgentFileLocations, ConfigurationKind, configuration_kind, read_skill
from outweigh.model.arm import Arm
from outweigh.model.json_text import try_decode_json
from outweigh.model.plugin_files import PluginFiles, plugin_folders
from outweigh.model.untrusted_json import as_dict, as_list, as_str
from outweigh.model.usage import Component
from outweigh.ports.gateways import ArmMarker

LONGEST_DESCRIPTION = 200
"""Agents truncate long descriptions, so only the beginning is looked for."""
LONGEST_MARKER_TEXT = 20_000
SHORTEST_MARKER_TEXT = 12
"""A shorter text could occur in requests by chance."""


def add_marker(markers: dict[str, ArmMarker], what: str, component: Component, text: str) -> str | None:
    """Add the marker of a text and return its name; None where the text is too short to be told from others."""
    text = text.strip()[:LONGEST_MARKER_TEXT]
    if len(text) < SHORTEST_MARKER_TEXT:
        return None
    name = f"{what}@{sha256(text.encode()).hexdigest()[:8]}"
    markers[name] = ArmMarker(name=name, component=component, text=text)
    return name


class DeclaredKind(StrEnum):
    """What a declared item is, in the words of messages."""

    SUB_AGENT = "sub-agent"
    COMMAND = "command"
    HOOK = "hook"
    PLUGIN = "plugin"
    SERVER = "MCP server"
    RULE = "rule"
    FOLDER_INSTRUCTIONS = "instructions for a folder"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredItem:
    """One item of an arm's files. `is_certain` is whether every run makes use of it, such as a hook at the start."""

    kind: DeclaredKind
    name: str
    shown_by: str | None = None
    is_certain: bool = False


def declared_items(
    arm: Arm, overlays: Mapping[str, bytes], markers: dict[str, ArmMarker], places: AgentFileLocations
) -> tuple[DeclaredItem, ...]:
    """All items of an arm; the markers of their texts are added."""
    found: dict[tuple[DeclaredKind, str], DeclaredItem] = {}
    for file in arm.overlay:
        for item in _items_of_file(arm, file.path, overlays[file.sha256], markers, places):
            found.setdefault((item.kind, item.name), item)
    for plugin in declared_plugins(arm, overlays):
        for item in _items_of_plugin(plugin, markers):
            found.setdefault((item.kind, item.name), item)
    return tuple(found.values())


def declared_plugins(arm: Arm, overlays: Mapping[str, bytes]) -> tuple[PluginFiles, ...]:
    """The plugins whose folders the arm's flags name, and that are among its files."""
    return tuple(
        PluginFiles(
            {
                file.path.removeprefix(f"{folder}/"): overlays[file.sha256]
                for file in arm.overlay
                if file.path.startswith(f"{folder}/")
            },
            folder,
        )
        for folder in plugin_folders(arm.flags)
    )


def _items_of_plugin(plugin: PluginFiles, markers: dict[str, ArmMarker]) -> Iterator[DeclaredItem]:
    """The plugin itself and what it brings, under the names that Claude Code lists; its skills are apart."""
    yield DeclaredItem(kind=DeclaredKind.PLUGIN, name=plugin.name)
    for settings in plugin.hooks():
        yield from _hooks(settings)
    for path, content in plugin.agents():
        name, text = _read_description(PurePosixPath(path), content)
        _mark_role(name, PurePosixPath(path), content, markers)
        yield _described(DeclaredKind.SUB_AGENT, (f"{plugin.name}:{name}", text), markers, Component.TOOL_SCHEMA)
    for name, content in plugin.commands():
        text = _read_description(PurePosixPath(f"{name}.md"), content)[1]
        yield _described(DeclaredKind.COMMAND, (f"{plugin.name}:{name}", text), markers, Component.SKILL_PROMPT)
    for name in plugin.servers():
        yield DeclaredItem(kind=DeclaredKind.SERVER, name=f"plugin:{plugin.name}:{name}")


_MODEL_LINE = re.compile(rb"^model: *[\"']?([^\s\"'#]+)", re.MULTILINE)
_WITH_MODEL = frozenset({ConfigurationKind.AGENT, ConfigurationKind.COMMAND, ConfigurationKind.SKILL})
_OWN_MODEL = "inherit"
"""What a sub-agent names that works with the model of the conversation."""


def models_in_files(arm: Arm, overlays: Mapping[str, bytes], places: AgentFileLocations) -> tuple[str, ...]:
    """The models that sub-agents, commands and skills of the arm name for themselves."""
    found: dict[str, None] = {}
    for file in arm.overlay:
        if configuration_kind(file.path, arm.agent, places) in _WITH_MODEL:
            name = _named_model(PurePosixPath(file.path), overlays[file.sha256])
            # A file may come from whoever proposes a change, so it names single models and no patterns.
            if name is not None and name != _OWN_MODEL and "*" not in name:
                found[name] = None
    return tuple(found)


def _named_model(place: PurePosixPath, content: bytes) -> str | None:
    if place.suffix == ".toml":
        return as_str(_read_settings(place, content).get("model"))
    head = content.partition(b"---")[2].partition(b"\n---")[0] if content.lstrip().startswith(b"---") else b""
    stated = _MODEL_LINE.search(head)
    return None if stated is None else stated[1].decode(errors="replace")


def _items_of_file(
    arm: Arm, path: str, content: bytes, markers: dict[str, ArmMarker], places: AgentFileLocations
) -> Iterator[DeclaredItem]:
    kind, place = configuration_kind(path, arm.agent, places), PurePosixPath(path)
    is_settings = kind is ConfigurationKind.SETTINGS or place.name == "hooks.json"
    if kind is not None and is_settings:
        settings = _read_settings(place, content)
        yield from _hooks(settings)
        yield from _enabled_plugins(settings)
    elif kind is ConfigurationKind.AGENT and place.suffix in (".md", ".toml"):
        name, text = _read_description(place, content)
        offered = (name, "" if _NOT_OFFERED.search(content) else text)
        _mark_role(name, place, content, markers)
        yield _described(DeclaredKind.SUB_AGENT, offered, markers, Component.TOOL_SCHEMA)
    elif kind is ConfigurationKind.COMMAND and place.suffix in (".md", ".toml"):
        _, text = _read_description(place, content)
        name = path.partition("/commands/")[2].removesuffix(place.suffix).replace("/", ":") or place.stem
        yield _described(DeclaredKind.COMMAND, (name, text), markers, Component.SKILL_PROMPT)
    elif kind is ConfigurationKind.RULE or (len(place.parts) > 1 and place.name in places.instructions):
        told = DeclaredKind.RULE if kind is ConfigurationKind.RULE else DeclaredKind.FOLDER_INSTRUCTIONS
        text = read_skill(content, "").body
        shown_by = add_marker(markers, f"{told} {path}", Component.DOMAIN_EXPERTISE, text)
        yield DeclaredItem(kind=told, name=path, shown_by=shown_by)
    elif place.parent.name in ("plugin", "plugins") and place.suffix in (".js", ".ts", ".mjs") and kind is not None:
        yield DeclaredItem(kind=DeclaredKind.PLUGIN, name=place.stem)


_ROLES = {"monitor": Component.MONITOR, "evaluator": Component.EVALUATOR}
"""Words in the name of a sub-agent that say what it is for, with the component that its requests count as."""


def _mark_role(name: str, place: PurePosixPath, content: bytes, markers: dict[str, ArmMarker]) -> None:
    """Mark the prompt of a sub-agent that watches or judges the work, so that its requests are known by it."""
    words = re.split(r"[^a-z]+", name.lower())
    role = next((component for word, component in _ROLES.items() if word in words), None)
    if role is not None and place.suffix == ".md":
        add_marker(markers, f"prompt of {name}", role, read_skill(content, "").body)


_NOT_OFFERED = re.compile(rb"^(?:mode: *primary|hidden: *true|disable: *true) *$", re.MULTILINE)
"""What makes a sub-agent one that the model is not told about."""


def _described(
    kind: DeclaredKind, read: tuple[str, str], markers: dict[str, ArmMarker], component: Component
) -> DeclaredItem:
    name, description = read
    shown_by = add_marker(markers, f"{kind} {name}", component, description[:LONGEST_DESCRIPTION])
    return DeclaredItem(kind=kind, name=name, shown_by=shown_by)


def _read_description(place: PurePosixPath, content: bytes) -> tuple[str, str]:
    """The name and description of a sub-agent or command; without front matter, its first line describes it."""
    if place.suffix == ".toml":
        stated = _read_settings(place, content)
        return as_str(stated.get("name")) or place.stem, as_str(stated.get("description")) or ""
    read = read_skill(content, place.stem)
    return read.name, read.description or next((line.strip() for line in read.body.splitlines() if line.strip()), "")


def _read_settings(place: PurePosixPath, content: bytes) -> dict[str, Any]:
    """The table in a JSON or TOML file; empty where it cannot be read, as the agent then cannot read it either."""
    if place.suffix != ".toml":
        return as_dict(try_decode_json(content))
    try:
        return tomllib.loads(content.decode(errors="replace"))
    except tomllib.TOMLDecodeError:
        return {}


_EVENTS_OF_EVERY_RUN = frozenset({"SessionStart", "UserPromptSubmit"})
"""Moments that every run has, if no matcher limits the hook to some of them."""


def _hooks(settings: Mapping[str, Any]) -> Iterator[DeclaredItem]:
    for event, entries in as_dict(settings.get("hooks")).items():
        matchers = [as_dict(entry).get("matcher") for entry in as_list(entries)]
        if matchers:
            is_certain = event in _EVENTS_OF_EVERY_RUN and any(matcher in (None, "", "*") for matcher in matchers)
            yield DeclaredItem(kind=DeclaredKind.HOOK, name=event, is_certain=is_certain)


def _enabled_plugins(settings: Mapping[str, Any]) -> Iterator[DeclaredItem]:
    for name, is_enabled in as_dict(settings.get("enabledPlugins")).items():
        if is_enabled is True:
            yield DeclaredItem(kind=DeclaredKind.PLUGIN, name=name.partition("@")[0])
