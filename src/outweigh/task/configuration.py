"""Which files of a repository configure a coding agent: its skills, hooks, rules, words, commands, settings. Pure."""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum


class ConfigurationKind(StrEnum):
    """What a file of an agent's configuration is for."""

    INSTRUCTIONS = "instructions"
    SKILL = "skill"
    COMMAND = "command"
    AGENT = "agent"
    HOOK = "hook"
    RULE = "rule"
    PROMPT = "prompt"
    SETTINGS = "settings"
    TOOL_SERVERS = "tool servers"
    OTHER = "other"


_Places = Mapping[str, ConfigurationKind]


def _usual(folder: str) -> dict[str, ConfigurationKind]:
    """What the folders of most agents hold, and under which names."""
    return {
        folder: ConfigurationKind.OTHER,
        f"{folder}/skills": ConfigurationKind.SKILL,
        f"{folder}/commands": ConfigurationKind.COMMAND,
        f"{folder}/agents": ConfigurationKind.AGENT,
        f"{folder}/hooks": ConfigurationKind.HOOK,
        f"{folder}/rules": ConfigurationKind.RULE,
        f"{folder}/prompts": ConfigurationKind.PROMPT,
        f"{folder}/settings.json": ConfigurationKind.SETTINGS,
    }


_AGENTS_FOLDER: _Places = {"AGENTS.md": ConfigurationKind.INSTRUCTIONS, **_usual(".agents")}
_FAMILIES: Mapping[str, _Places] = {
    "aider": {
        "CONVENTIONS.md": ConfigurationKind.INSTRUCTIONS,
        ".aider.conf.yml": ConfigurationKind.SETTINGS,
        ".aider.model.settings.yml": ConfigurationKind.SETTINGS,
    },
    "claude-code": {
        "CLAUDE.md": ConfigurationKind.INSTRUCTIONS,
        **_usual(".claude"),
        ".claude/CLAUDE.md": ConfigurationKind.INSTRUCTIONS,
        ".claude/output-styles": ConfigurationKind.PROMPT,
        ".mcp.json": ConfigurationKind.TOOL_SERVERS,
    },
    "codex": {**_AGENTS_FOLDER, **_usual(".codex"), ".codex/config.toml": ConfigurationKind.SETTINGS},
    "gemini-cli": {"GEMINI.md": ConfigurationKind.INSTRUCTIONS, **_usual(".gemini")},
    "goose": {**_AGENTS_FOLDER, ".goosehints": ConfigurationKind.INSTRUCTIONS},
    "mini-swe-agent": {},
    "opencode": {
        **_AGENTS_FOLDER,
        **_usual(".opencode"),
        "opencode.json": ConfigurationKind.SETTINGS,
        "opencode.jsonc": ConfigurationKind.SETTINGS,
    },
    "qwen-code": {"QWEN.md": ConfigurationKind.INSTRUCTIONS, **_usual(".qwen")},
}
_EVERYBODY: _Places = {"prompts": ConfigurationKind.PROMPT}
_ALL: _Places = {place: kind for places in _FAMILIES.values() for place, kind in places.items()}
"""For agents that nobody told us about: whatever any agent reads."""
# As agents understand it: a path after an @ that begins a word, and no address of a person.
_IMPORT = re.compile(r"(?<![^\s(\[])@((?:\./)?[\w.-]+(?:/[\w.-]+)*)")


def configuration_kind(path: str, agent: str | None = None) -> ConfigurationKind | None:
    """What a file, by its path below the configuration's folder, is to an agent; None where it is nothing to it.

    Without an agent, what it is to any. Files in deeper folders that happen to have such names are not meant: they
    belong to examples and tests as often as not.
    """
    places = {**_EVERYBODY, **(_ALL if agent is None else _FAMILIES.get(agent, _ALL))}
    fitting = [place for place in places if path == place or path.startswith(f"{place}/")]
    return places[max(fitting, key=len)] if fitting else None


def imports_in(text: str) -> Iterator[str]:
    """The files that instructions bring in by `@path`, as paths from the file that says so."""
    for found in _IMPORT.finditer(text):
        yield found[1].removeprefix("./").rstrip(".")
