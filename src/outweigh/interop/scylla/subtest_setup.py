"""What a sub-test of ProjectScylla puts into a workspace: files, skills, tool servers and variables."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from outweigh.interop.scylla.subtests import AgentChoice, SkillChoice, Subtest, ToolServer
from outweigh.interop.suite_files import read_suite_file, read_text, read_tree, resolve_within
from outweigh.model.agent_files import SKILL_FILE, file_locations_of
from outweigh.model.arm import McpServer
from outweigh.ports.suites import DraftFile

_OWN_FILES = (".claude", "CLAUDE.md")
_SETTINGS_PATH = ".claude/settings.json"
_SERVERS_SOURCE = "modelcontextprotocol/servers"
_TEAM_VARIABLES = {"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1"}
_FileMap = Mapping[str, DraftFile]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtestSetup:
    """Files, skills by category and name, tool servers and variables; `missing` is what the file names and
    nobody has.
    """

    files: _FileMap
    skills: Mapping[str, _FileMap]
    servers: Mapping[str, McpServer]
    environment: Mapping[str, str]
    missing: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is put into the workspace."""
        return not (self.files or self.skills or self.servers or self.environment)

    def same_as(self, other: "SubtestSetup") -> bool:
        """Whether an agent would find the same set-up."""
        mine, theirs = ((each.files, each.skills, each.servers, each.environment) for each in (self, other))
        return mine == theirs


def collect_setup(subtest: Subtest, shared: Path, agent: str) -> SubtestSetup:
    """Everything that a sub-test names and that exists; names of what does not exist become `missing`."""
    resources = (subtest.content, subtest.content.resources)
    wanted = [skill for each in resources for skill in _skills(each.skills, shared)]
    agents = [file for each in resources for file in _agents(each.agents, shared)]
    blocks = [(block, _block_file(block, shared)) for each in resources for block in each.claude_md.blocks]
    own = read_own_files(subtest.folder)
    words = "\n\n".join(read_text(place) for _, place in blocks if place is not None)
    laid = {name: DraftFile(content=words.encode()) for name in file_locations_of(agent).instructions} if words else {}
    laid |= {f".claude/agents/{place.name}": read_suite_file(place) for _, place in agents if place is not None}
    laid |= _settings([tool for each in resources for tool in each.tools.enabled if each.tools.enabled != "all"])
    return SubtestSetup(
        files={**laid, **own},
        skills=_first_of_each_name(place for _, place in wanted if place is not None),
        servers=dict(_servers(server for each in resources for server in each.mcp_servers)),
        environment=_TEAM_VARIABLES if subtest.content.agent_teams else {},
        missing=(
            *dict.fromkeys(name for name, place in (*wanted, *agents, *blocks) if place is None),
            *_external_names(subtest),
        ),
    )


def read_own_files(folder: Path | None) -> _FileMap:
    """Files beside a sub-test's own file that configure an agent."""
    return {} if folder is None else read_tree(folder, without=lambda path: path.parts[0] not in _OWN_FILES)


def _external_names(subtest: Subtest) -> Iterator[str]:
    """What a file only names; nothing is downloaded."""
    content = subtest.content
    if content.agent is not None:
        yield f"agent {content.agent}"
    for each in (content, content.resources):
        if each.claude_md.preset is not None:
            yield f"preset {each.claude_md.preset}"
        servers = (server for server in each.mcp_servers if isinstance(server, ToolServer))
        yield from (f"{server.config_path} of {server.name}" for server in servers if server.config_path is not None)


def _block_file(block: str, shared: Path) -> Path | None:
    """The file whose name begins with the block's id: `B02-critical-rules.md`."""
    files = (place for place in _entries(shared / "blocks") if place.suffix == ".md" and place.is_file())
    return next((_shared_path(shared, place) for place in files if place.name.startswith(f"{block}-")), None)


def _skills(choice: SkillChoice | list[str], shared: Path) -> Iterator[tuple[str, Path | None]]:
    named = choice if isinstance(choice, list) else choice.names
    folders = [place for place in _entries(shared / "skills") if place.is_dir()]
    for category in () if isinstance(choice, list) else choice.categories:
        found = [
            place for folder in folders if folder.name == category for place in _entries(folder) if _is_skill(place)
        ]
        yield from ((place.name, _shared_path(shared, place)) for place in found)
        if not found:
            yield f"skills {category}", None
    for name in named:
        found = [place for folder in folders for place in _entries(folder) if place.name == name and _is_skill(place)]
        yield f"skill {name}", _shared_path(shared, found[0]) if found else None


def _first_of_each_name(skills: Iterable[Path]) -> dict[str, _FileMap]:
    """The first of several skills with the same name, as in the harness."""
    by_name: dict[str, Path] = {}
    for place in skills:
        by_name.setdefault(place.name, place)
    return {f"{place.parent.name}/{place.name}": read_tree(place) for place in by_name.values()}


def _agents(choice: AgentChoice, shared: Path) -> Iterator[tuple[str, Path | None]]:
    levels = [place for place in _entries(shared / "agents") if place.is_dir() and place.name.startswith("L")]
    for level in choice.levels:
        found = [place for folder in levels if folder.name == f"L{level}" for place in _pages(folder)]
        yield from ((place.name, _shared_path(shared, place)) for place in found)
        if not found:
            yield f"agents L{level}", None
    for name in choice.names:
        found = [place for folder in levels for place in _pages(folder) if place.name == name]
        yield f"agent {name}", _shared_path(shared, found[0]) if found else None


def _settings(tools: Iterable[str]) -> dict[str, DraftFile]:
    """The setting by which the harness limits tools."""
    named = list(dict.fromkeys(tools))
    return {_SETTINGS_PATH: DraftFile(content=json.dumps({"allowedTools": named}, indent=2).encode())} if named else {}


def _servers(servers: Iterable[ToolServer | str]) -> Iterator[tuple[str, McpServer]]:
    """Tool servers as the harness starts them: as the npm package with their source and name."""
    for server in servers:
        name, source = (server, None) if isinstance(server, str) else (server.name, server.source)
        yield name, McpServer(command=["npx", "-y", f"@{source or _SERVERS_SOURCE}/{name}"])


def _is_skill(place: Path) -> bool:
    return (place / SKILL_FILE).is_file()


def _pages(folder: Path) -> list[Path]:
    return [place for place in _entries(folder) if place.suffix == ".md" and place.is_file()]


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _shared_path(shared: Path, place: Path) -> Path:
    """The resolved path; UsageError if a link leads out of the shared folder."""
    return resolve_within(shared, str(place.relative_to(shared)), str(shared))
