"""What a sub-test of ProjectScylla lays into a workspace, collected from the folder that its tests share."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from outweigh.adapters.suites.scylla_subtest import AgentChoice, SkillChoice, Subtest, ToolServer
from outweigh.adapters.suites.source_files import read_text, suite_file, tree, within
from outweigh.task.arm import McpServer
from outweigh.task.places import places_of
from outweigh.task.suite_draft import SuiteFile

_SKILL_FILE = "SKILL.md"
_OWN = (".claude", "CLAUDE.md")
_SETTINGS = ".claude/settings.json"
_SERVERS = "modelcontextprotocol/servers"
_TEAMS = {"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1"}
Files = Mapping[str, SuiteFile]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Files, skills by category and name, tool servers, variables; `missing` is what its file wants and nobody has."""

    files: Files
    skills: Mapping[str, Files]
    servers: Mapping[str, McpServer]
    environment: Mapping[str, str]
    missing: tuple[str, ...]

    @property
    def is_bare(self) -> bool:
        """Whether nothing is laid."""
        return not (self.files or self.skills or self.servers or self.environment)

    def same_as(self, other: "Layer") -> bool:
        """Whether an agent would find the same."""
        mine, theirs = ((each.files, each.skills, each.servers, each.environment) for each in (self, other))
        return mine == theirs


def layer_of(subtest: Subtest, shared: Path, agent: str) -> Layer:
    """Everything that is there. Names of things that are not become `missing`."""
    resources = (subtest.content, subtest.content.resources)
    wanted = [skill for each in resources for skill in _skills(each.skills, shared)]
    agents = [file for each in resources for file in _agents(each.agents, shared)]
    blocks = [(block, _block(block, shared)) for each in resources for block in each.claude_md.blocks]
    own = own_files(subtest.folder)
    words = "\n\n".join(read_text(place) for _, place in blocks if place is not None)
    laid = {name: SuiteFile(content=words.encode()) for name in places_of(agent).instructions} if words else {}
    laid |= {f".claude/agents/{place.name}": suite_file(place) for _, place in agents if place is not None}
    laid |= _settings([tool for each in resources for tool in each.tools.enabled if each.tools.enabled != "all"])
    return Layer(
        files={**laid, **own},
        skills=_without_namesakes(place for _, place in wanted if place is not None),
        servers=dict(_servers(server for each in resources for server in each.mcp_servers)),
        environment=_TEAMS if subtest.content.agent_teams else {},
        missing=(
            *dict.fromkeys(name for name, place in (*wanted, *agents, *blocks) if place is None),
            *_from_elsewhere(subtest),
        ),
    )


def own_files(folder: Path | None) -> Files:
    """Files that lie beside a sub-test's own file and configure an agent."""
    return {} if folder is None else tree(folder, without=lambda path: path.parts[0] not in _OWN)


def _from_elsewhere(subtest: Subtest) -> Iterator[str]:
    """What a file only names, with or without an address: nothing is fetched."""
    content = subtest.content
    if content.agent is not None:
        yield f"agent {content.agent}"
    for each in (content, content.resources):
        if each.claude_md.preset is not None:
            yield f"preset {each.claude_md.preset}"
        servers = (server for server in each.mcp_servers if isinstance(server, ToolServer))
        yield from (f"{server.config_path} of {server.name}" for server in servers if server.config_path is not None)


def _block(block: str, shared: Path) -> Path | None:
    """The file whose name begins with the id: `B02-critical-rules.md`."""
    files = (place for place in _entries(shared / "blocks") if place.suffix == ".md" and place.is_file())
    return next((_of(shared, place) for place in files if place.name.startswith(f"{block}-")), None)


def _skills(choice: SkillChoice | list[str], shared: Path) -> Iterator[tuple[str, Path | None]]:
    named = choice if isinstance(choice, list) else choice.names
    folders = [place for place in _entries(shared / "skills") if place.is_dir()]
    for category in () if isinstance(choice, list) else choice.categories:
        found = [
            place for folder in folders if folder.name == category for place in _entries(folder) if _is_skill(place)
        ]
        yield from ((place.name, _of(shared, place)) for place in found)
        if not found:
            yield f"skills {category}", None
    for name in named:
        found = [place for folder in folders for place in _entries(folder) if place.name == name and _is_skill(place)]
        yield f"skill {name}", _of(shared, found[0]) if found else None


def _without_namesakes(skills: Iterable[Path]) -> dict[str, Files]:
    """Of two skills with one name the first is laid, as the harness has it."""
    by_name: dict[str, Path] = {}
    for place in skills:
        by_name.setdefault(place.name, place)
    return {f"{place.parent.name}/{place.name}": tree(place) for place in by_name.values()}


def _agents(choice: AgentChoice, shared: Path) -> Iterator[tuple[str, Path | None]]:
    levels = [place for place in _entries(shared / "agents") if place.is_dir() and place.name.startswith("L")]
    for level in choice.levels:
        found = [place for folder in levels if folder.name == f"L{level}" for place in _pages(folder)]
        yield from ((place.name, _of(shared, place)) for place in found)
        if not found:
            yield f"agents L{level}", None
    for name in choice.names:
        found = [place for folder in levels for place in _pages(folder) if place.name == name]
        yield f"agent {name}", _of(shared, found[0]) if found else None


def _settings(tools: Iterable[str]) -> dict[str, SuiteFile]:
    """The setting by which the harness limits tools."""
    named = list(dict.fromkeys(tools))
    return {_SETTINGS: SuiteFile(content=json.dumps({"allowedTools": named}, indent=2).encode())} if named else {}


def _servers(servers: Iterable[ToolServer | str]) -> Iterator[tuple[str, McpServer]]:
    """Started as the harness starts them: as a package of npm that is called like its source and its name."""
    for server in servers:
        name, source = (server, None) if isinstance(server, str) else (server.name, server.source)
        yield name, McpServer(command=["npx", "-y", f"@{source or _SERVERS}/{name}"])


def _is_skill(place: Path) -> bool:
    return (place / _SKILL_FILE).is_file()


def _pages(folder: Path) -> list[Path]:
    return [place for place in _entries(folder) if place.suffix == ".md" and place.is_file()]


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _of(shared: Path, place: Path) -> Path:
    """The same place, where no link leads out of the shared folder."""
    return within(shared, str(place.relative_to(shared)), str(shared))
