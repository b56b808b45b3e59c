"""Which files configure a coding agent: where it looks for skills and instructions, and what each file is for."""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

SKILL_FILE = "SKILL.md"


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


class AgentFileLocations(Struct, frozen=True, kw_only=True):
    """Where an agent reads its files in a workspace: folders of skills and names of instruction files, empty where it
    supports none, and the kinds of `others` by their path or folder.

    `sub_agents` are the folders of its sub-agents' files, and `hooks` is the JSON file that has its hooks under the key
    "hooks"; without them, it has none. `always_sent` are the kinds that it describes to its model in every
    conversation; of others nothing may be seen. `plugin_flag` is the option that names the folder of a plugin.
    """

    skills: tuple[str, ...]
    instructions: tuple[str, ...]
    others: Mapping[str, ConfigurationKind] = {}
    always_sent: frozenset[ConfigurationKind] = frozenset()
    sub_agents: tuple[str, ...] = ()
    hooks: str | None = None
    plugin_flag: str | None = None

    def skill_folder(self, path: str) -> str | None:
        """The name of the folder whose skill a file is; None for any other file."""
        *above, folder, name = ("", "", *path.split("/"))
        if name != SKILL_FILE or not folder:
            return None
        return folder if above[-1] == "skills" or "/".join(filter(None, above)) in self.skills else None


_AGENTS = frozenset({ConfigurationKind.AGENT})
_AGENTS_AND_COMMANDS = _AGENTS | {ConfigurationKind.COMMAND}
_LOCATIONS = {
    "aider": AgentFileLocations(skills=(), instructions=("CONVENTIONS.md",)),
    "claude-code": AgentFileLocations(
        skills=(".claude/skills",),
        instructions=("CLAUDE.md",),
        always_sent=_AGENTS_AND_COMMANDS,
        sub_agents=(".claude/agents",),
        hooks=".claude/settings.json",
        plugin_flag="--plugin-dir",
    ),
    "cline": AgentFileLocations(skills=(), instructions=("AGENTS.md",)),
    "codex": AgentFileLocations(
        skills=(".agents/skills",),
        instructions=("AGENTS.md",),
        always_sent=_AGENTS,
        sub_agents=(".codex/agents",),
        hooks=".codex/hooks.json",
    ),
    "copilot": AgentFileLocations(skills=(".agents/skills",), instructions=("AGENTS.md",)),
    "gemini-cli": AgentFileLocations(
        skills=(".gemini/skills",),
        instructions=("GEMINI.md",),
        sub_agents=(".gemini/agents",),
        hooks=".gemini/settings.json",
    ),
    "goose": AgentFileLocations(
        skills=(".agents/skills",), instructions=("AGENTS.md",), always_sent=_AGENTS, sub_agents=(".agents/agents",)
    ),
    "kimi": AgentFileLocations(skills=(".agents/skills",), instructions=("AGENTS.md",)),
    "mini-swe-agent": AgentFileLocations(skills=(), instructions=()),
    "opencode": AgentFileLocations(
        skills=(".agents/skills",), instructions=("AGENTS.md",), always_sent=_AGENTS, sub_agents=(".opencode/agents",)
    ),
    "pi": AgentFileLocations(skills=(".agents/skills",), instructions=("AGENTS.md",)),
    "qwen-code": AgentFileLocations(
        skills=(".qwen/skills",), instructions=("QWEN.md",), always_sent=_AGENTS, sub_agents=(".qwen/agents",)
    ),
}
_DEFAULT_LOCATIONS = AgentFileLocations(
    skills=(".claude/skills", ".agents/skills"),
    instructions=("CLAUDE.md", "AGENTS.md"),
    sub_agents=(".claude/agents",),
    hooks=".claude/settings.json",
)
"""For unknown agents: the locations that most agents read."""


def file_locations_of(agent: str) -> AgentFileLocations:
    """The locations of one agent."""
    return _LOCATIONS.get(agent, _DEFAULT_LOCATIONS)


_KindByPath = Mapping[str, ConfigurationKind]


def _usual_folders(folder: str) -> dict[str, ConfigurationKind]:
    """The usual content of an agent's folder."""
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


_AGENTS_FOLDER: _KindByPath = {"AGENTS.md": ConfigurationKind.INSTRUCTIONS, **_usual_folders(".agents")}
_KINDS_BY_AGENT: Mapping[str, _KindByPath] = {
    "aider": {
        "CONVENTIONS.md": ConfigurationKind.INSTRUCTIONS,
        ".aider.conf.yml": ConfigurationKind.SETTINGS,
        ".aider.model.settings.yml": ConfigurationKind.SETTINGS,
    },
    "claude-code": {
        "CLAUDE.md": ConfigurationKind.INSTRUCTIONS,
        **_usual_folders(".claude"),
        ".claude/CLAUDE.md": ConfigurationKind.INSTRUCTIONS,
        ".claude/output-styles": ConfigurationKind.PROMPT,
        ".mcp.json": ConfigurationKind.TOOL_SERVERS,
    },
    "cline": {"AGENTS.md": ConfigurationKind.INSTRUCTIONS, ".clinerules": ConfigurationKind.RULE},
    "codex": {**_AGENTS_FOLDER, **_usual_folders(".codex"), ".codex/config.toml": ConfigurationKind.SETTINGS},
    "copilot": {
        **_AGENTS_FOLDER,
        **_usual_folders(".github/copilot"),
        ".github/copilot-instructions.md": ConfigurationKind.INSTRUCTIONS,
        ".github/instructions": ConfigurationKind.RULE,
        ".github/agents": ConfigurationKind.AGENT,
        ".github/hooks": ConfigurationKind.HOOK,
        ".github/prompts": ConfigurationKind.PROMPT,
        ".github/skills": ConfigurationKind.SKILL,
    },
    "gemini-cli": {"GEMINI.md": ConfigurationKind.INSTRUCTIONS, **_usual_folders(".gemini")},
    "goose": {**_AGENTS_FOLDER, ".goosehints": ConfigurationKind.INSTRUCTIONS},
    "kimi": {
        **_AGENTS_FOLDER,
        **_usual_folders(".kimi-code"),
        ".kimi-code/AGENTS.md": ConfigurationKind.INSTRUCTIONS,
        ".kimi-code/mcp.json": ConfigurationKind.TOOL_SERVERS,
    },
    "mini-swe-agent": {},
    "opencode": {
        **_AGENTS_FOLDER,
        **_usual_folders(".opencode"),
        "opencode.json": ConfigurationKind.SETTINGS,
        "opencode.jsonc": ConfigurationKind.SETTINGS,
    },
    "pi": {**_AGENTS_FOLDER, **_usual_folders(".pi")},
    "qwen-code": {"QWEN.md": ConfigurationKind.INSTRUCTIONS, **_usual_folders(".qwen")},
}
_ANY_AGENT: _KindByPath = {"prompts": ConfigurationKind.PROMPT}
_ALL_AGENTS: _KindByPath = {location: kind for kinds in _KINDS_BY_AGENT.values() for location, kind in kinds.items()}
"""For unknown agents: whatever any agent reads."""
# A path after an @ at the start of a word, not an e-mail address.
_IMPORT = re.compile(r"(?<![^\s(\[])@((?:\./)?[\w.-]+(?:/[\w.-]+)*)")


def configuration_kind(
    path: str, agent: str | None = None, locations: AgentFileLocations | None = None
) -> ConfigurationKind | None:
    """What a file of the configuration folder is for, by its path; None where the agent does not read it.

    Without an agent, what it is for any of them; `locations` are those of an agent that outweigh does not know. Files
    of such names in deeper folders do not count, because they often belong to examples and tests.
    """
    unknown = _ALL_AGENTS if locations is None or locations is _DEFAULT_LOCATIONS else _kinds_of(locations)
    kinds = {**_ANY_AGENT, **(_ALL_AGENTS if agent is None else _KINDS_BY_AGENT.get(agent, unknown))}
    matching = [location for location in kinds if path == location or path.startswith(f"{location}/")]
    return kinds[max(matching, key=len)] if matching else None


def _kinds_of(locations: AgentFileLocations) -> _KindByPath:
    return {
        **dict.fromkeys(locations.instructions, ConfigurationKind.INSTRUCTIONS),
        **dict.fromkeys(locations.skills, ConfigurationKind.SKILL),
        **locations.others,
    }


def imported_paths(text: str) -> Iterator[str]:
    """The files that instructions include by `@path`, as paths relative to the including file."""
    for found in _IMPORT.finditer(text):
        yield found[1].removeprefix("./").rstrip(".")


_SKILL_KEY = re.compile(r"^(name|description):[ \t]*(.*)$")
_BLOCK_VALUE = re.compile(r"^[|>][+-]?\d?$")


class SkillText(NamedTuple):
    """The parts of a skill; empty where the file has none."""

    name: str
    description: str
    body: str


def read_skill(content: bytes, folder: str) -> SkillText:
    """Read the name and description from the front matter; the folder's name replaces a missing one."""
    lines = content.decode(errors="replace").lstrip("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---":
        return SkillText(folder, "", "\n".join(lines))
    end = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == "---"), len(lines))
    found = dict(_entries(lines[1:end]))
    return SkillText(found.get("name") or folder, found.get("description", ""), "\n".join(lines[end + 1 :]).strip())


def _entries(lines: list[str]) -> list[tuple[str, str]]:
    """Plain, quoted and block values, with the indented lines that continue them, as one line each."""
    entries: list[tuple[str, list[str]]] = []
    for line in lines:
        if (key := _SKILL_KEY.match(line)) is not None:
            value = key[2].strip()
            entries.append((key[1], [] if _BLOCK_VALUE.match(value) else [value]))
        elif line[:1].isspace() and entries:
            entries[-1][1].append(line.strip())
        elif line.strip():
            entries.append(("", []))  # another key, whose lines are skipped
    return [(key, _unquoted(" ".join(part for part in parts if part))) for key, parts in entries if key]


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1].replace("''", "'") if value[0] == "'" else value[1:-1].replace('\\"', '"')
    return value


def configuration_roots() -> tuple[str, ...]:
    """The files and folders at the top of a repository in which any known agent keeps its configuration."""
    return tuple(sorted({location.partition("/")[0] for location in _ALL_AGENTS}))
