"""What `outweigh try` is asked about: files of an agent's configuration, a skill, a plugin, tool servers or a model.

Both arms are described by what they add to a workspace that has nothing of it: the candidate adds what is there now,
the baseline nothing, or what a revision had.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath

import msgspec

from outweigh.errors import UsageError, quote_names
from outweigh.model.agent_files import SKILL_FILE, configuration_kind, imported_paths
from outweigh.model.arm import McpServer
from outweigh.model.plugin_files import PLUGIN_FOLDER, PLUGIN_MANIFEST, PluginFiles
from outweigh.model.provider import variables_in
from outweigh.plugins import installed_file_locations
from outweigh.ports.suites import DraftFile
from outweigh.workspace.revisions import REVISION_FILE_LIMIT, REVISION_TOTAL_LIMIT, GitRevisions

SERVERS_FILE = ".mcp.json"
PLUGIN_AGENT = "claude-code"
SKIPPED_FOLDERS = frozenset({".git", "__pycache__", "node_modules", ".venv", "outweigh-try", "outweigh-runs"})
_IMPORT_STEPS = 5


class SubjectKind(StrEnum):
    """What is tried, in words that fit into a sentence."""

    FILES = "configuration"
    SKILL = "skill"
    PLUGIN = "plugin"
    SERVERS = "tool servers"
    MODEL = "model"


Snapshot = Mapping[str, DraftFile]
"""Files by their paths below what was named; a file that was named itself has the path ""."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmAddition:
    """What an arm has that the other may not have."""

    files: Mapping[str, DraftFile] = field(default_factory=dict)
    mcp_servers: Mapping[str, McpServer] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrySubject:
    """What is tried with one agent. `without` are the paths that no workspace keeps of itself.

    `base` is the revision that the baseline has it from; None where the baseline has nothing of it.
    """

    kind: SubjectKind
    name: str
    without: tuple[str, ...]
    before: ArmAddition
    after: ArmAddition
    base: str | None

    @property
    def slug(self) -> str:
        """The name as a part of the name of a suite."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")[:40] or "change"


class NamedSubject:
    """What was named, read once: as it is on the disk, and as a revision has it."""

    def __init__(self, named: str, top: Path, base: str | None) -> None:
        self.named, self.base = named, base
        self._top = top
        place = Path(named)
        if place.name == SKILL_FILE:
            place = place.parent
        self._inside = _path_inside(place, top)
        self._now = _read_disk(place, named)
        self._then = {} if base is None else self._read_revision(base)
        self.kind = self._find_kind(place)
        self._name = place.resolve().name if self.kind in (SubjectKind.SKILL, SubjectKind.PLUGIN) else named
        if self.kind is not SubjectKind.MODEL:
            self._refuse_nothing()

    @property
    def paths(self) -> tuple[str, ...]:
        """The configuration's files by their paths in the repository, for agents to say whether they read them."""
        return tuple(self._place(path) for path in {**self._then, **self._now})

    @property
    def read_as(self) -> str | None:
        """What an agent must read; None where the engine gives it to any agent."""
        return None if self.kind in (SubjectKind.MODEL, SubjectKind.SERVERS) else self.named

    def read_by(self, agent: str) -> bool:
        """Whether an agent would see it at all."""
        locations = installed_file_locations(agent)
        match self.kind:
            case SubjectKind.MODEL | SubjectKind.SERVERS:
                return True
            case SubjectKind.SKILL:
                return bool(locations.skills)
            case SubjectKind.PLUGIN:
                return agent in (PLUGIN_AGENT, "scripted", "shell")
        return any(
            configuration_kind(path, agent, locations) is not None or PurePosixPath(path).name in locations.instructions
            for path in self.paths
        )

    def for_agent(self, agent: str) -> TrySubject:
        """What both arms add, where this agent looks for it."""
        before, after = (self._addition(files, agent) for files in (self._then, self._now))
        if self.kind is SubjectKind.MODEL:
            after = ArmAddition(model=self.named)
        if before == after:
            raise UsageError(
                f"{self.named} is the same at {self.base} as it is now, so there is nothing to try. Change it, or name "
                "another revision with --base."
            )
        return TrySubject(
            kind=self.kind,
            name=self._name,
            without=self._without(agent, {*before.files, *after.files}),
            before=before,
            after=after,
            base=self.base,
        )

    def _find_kind(self, place: Path) -> SubjectKind:
        known = {**self._then, **self._now}
        if not known and not place.exists():
            return SubjectKind.MODEL
        if SKILL_FILE in known:
            return SubjectKind.SKILL
        if PLUGIN_MANIFEST in known:
            return SubjectKind.PLUGIN
        if place.name.endswith(SERVERS_FILE) and "" in known:
            return SubjectKind.SERVERS
        return SubjectKind.FILES

    def _refuse_nothing(self) -> None:
        if self.kind is SubjectKind.FILES and self._inside in (None, "."):
            raise UsageError(
                f"{self.named or repr('')} is not a file or folder inside the repository {self._top}. Name one, such "
                "as CLAUDE.md; skills and plugins may be elsewhere."
            )
        if self._then and not self._now:
            return
        if not any(file.content.strip() for file in self._now.values()):
            raise UsageError(f"{self.named} is empty, so there is nothing to try. Write something into it first.")

    def _read_revision(self, base: str) -> Snapshot:
        if self._inside is None:
            raise UsageError(f"--base: {self.named} is not inside the repository {self._top}, so no revision has it.")
        revisions = GitRevisions(self._top)
        prefix = "" if self._inside == "." else f"{self._inside}/"
        found = revisions.files(
            revisions.commit(base), ".", lambda path: path == self._inside or path.startswith(prefix)
        )
        return {
            path: DraftFile(content=file.content, executable=file.executable)
            for file in found
            if not SKIPPED_FOLDERS & {*PurePosixPath(path := file.path[len(prefix) :]).parts}
        }

    def _place(self, path: str) -> str:
        return str(PurePosixPath(self._inside or self.named, path))

    def _addition(self, files: Snapshot, agent: str) -> ArmAddition:
        match self.kind:
            case SubjectKind.MODEL:
                return ArmAddition()
            case SubjectKind.SERVERS:
                return _read_servers(files[""].content, self.named, self._top) if files else ArmAddition()
            case SubjectKind.SKILL:
                folders = installed_file_locations(agent).skills
                return ArmAddition(
                    files={f"{folder}/{self._name}/{path}": file for folder in folders for path, file in files.items()}
                )
            case SubjectKind.PLUGIN:
                folder = self._plugin_folder
                evals = PluginFiles({path: file.content for path, file in files.items()}, folder).eval_folder
                laid = {f"{folder}/{path}": file for path, file in files.items() if not path.startswith(f"{evals}/")}
                return ArmAddition(files=laid, flags=("--plugin-dir", folder) if laid else ())
        named = {self._place(path): file for path, file in files.items()}
        imported = _imported_files(named, self._top) if files is self._now else {}
        return ArmAddition(files={**imported, **named})

    @property
    def _plugin_folder(self) -> str:
        """Where the plugin is in a workspace: as in the repository, unless the repository itself is the plugin."""
        return f"{PLUGIN_FOLDER}/{self._name}" if self._inside in (None, ".") else str(self._inside)

    def _without(self, agent: str, added: set[str]) -> tuple[str, ...]:
        own = [] if self._inside in (None, ".") else [str(self._inside)]
        if self.kind is SubjectKind.MODEL:
            own = []
        if self.kind is SubjectKind.SKILL:
            own += [f"{folder}/{self._name}" for folder in installed_file_locations(agent).skills]
        if self.kind is SubjectKind.SERVERS:
            return tuple(own)
        below = tuple(f"{path}/" for path in own)
        return tuple(dict.fromkeys((*own, *(path for path in sorted(added) if not path.startswith(below)))))


def _path_inside(place: Path, top: Path) -> str | None:
    """The path in the repository, links in its last part not followed; None where it is elsewhere."""
    whole = place.parent.resolve() / place.name if place.name not in ("", "..") else place.resolve()
    return whole.relative_to(top).as_posix() if whole.is_relative_to(top) else None


def _read_disk(place: Path, named: str) -> Snapshot:
    """Every file of it, without folders that tools make; nothing where it is not there."""
    found: dict[str, DraftFile] = {}
    total = 0
    for path, file in _files_below(place):
        size = file.stat().st_size
        total += size
        if size > REVISION_FILE_LIMIT or total > REVISION_TOTAL_LIMIT:
            raise UsageError(f"{named} has more than {REVISION_FILE_LIMIT:,} bytes at {file}; name something smaller.")
        try:
            content = file.read_bytes()
        except OSError as fault:
            raise UsageError(f"{file} cannot be read: {fault.strerror}.") from fault
        found[path] = DraftFile(content=content, executable=os.access(file, os.X_OK))
    return found


def _files_below(place: Path) -> Iterator[tuple[str, Path]]:
    if place.is_file():
        yield "", place
        return
    for folder, folders, names in os.walk(place):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        for name in sorted(names):
            file = Path(folder, name)
            if file.is_file():
                yield file.relative_to(place).as_posix(), file


def _imported_files(named: Mapping[str, DraftFile], top: Path) -> dict[str, DraftFile]:
    """Configuration that instructions include by `@path`, such as a CLAUDE.md that says `@AGENTS.md`.

    Other files that they include, such as a README, stay as each task's workspace has them: the present ones may tell
    what tasks ask for.
    """
    found: dict[str, DraftFile] = {}
    new = dict(named)
    for _ in range(_IMPORT_STEPS):
        texts = [(path, file.content.decode(errors="replace")) for path, file in new.items() if path.endswith(".md")]
        paths = [PurePosixPath(path).parent / each for path, text in texts for each in imported_paths(text)]
        wanted = [str(path) for path in paths if configuration_kind(str(path)) is not None]
        new = {
            path: DraftFile(content=(top / path).read_bytes())
            for path in wanted
            if path not in found and path not in named and (top / path).is_file()
        }
        found |= new
    return found


class _StatedServer(msgspec.Struct):
    """A tool server as a `.mcp.json` states it; other keys say nothing about how it is reached."""

    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}

    def server(self) -> McpServer:
        """The server as a suite states it. A variable that is handed on under its own name becomes a secret."""
        if self.url is not None:
            return msgspec.convert({"url": self.url, "headers": self.headers}, McpServer)
        environment = {name: value for name, value in self.env.items() if value != f"${{{name}}}"}
        if odd := [name for name, value in environment.items() if variables_in(value)]:
            raise ValueError(f"env gives {quote_names(odd)} the value of another variable; give both the same name")
        return msgspec.convert({"command": [self.command, *self.args], "environment": environment}, McpServer)

    def secrets(self) -> set[str]:
        """The variables that it names."""
        return {name for value in (*self.env.values(), *self.headers.values()) for name in variables_in(value)}


class _ServersFile(msgspec.Struct):
    servers: dict[str, _StatedServer] = msgspec.field(name="mcpServers")


def _read_servers(content: bytes, named: str, top: Path) -> ArmAddition:
    """The tool servers of a `.mcp.json`, as a suite states them."""
    try:
        stated = msgspec.json.decode(content, type=_ServersFile).servers
        servers = {name: server.server() for name, server in stated.items()}
    except (msgspec.MsgspecError, ValueError, RecursionError) as fault:
        raise UsageError(
            f'{named} is not a list of tool servers ({{"mcpServers": {{"NAME": {{"command": "…"}}}}}}): {fault}.'
        ) from None
    if not servers:
        raise UsageError(f"{named} has no tool server, so there is nothing to try.")
    secrets = {name for server in stated.values() for name in server.secrets()}
    programs = {word for server in servers.values() for word in server.command}
    return ArmAddition(files=_program_files(programs, top), mcp_servers=servers, secrets=tuple(sorted(secrets)))


def _program_files(words: Iterable[str], top: Path) -> dict[str, DraftFile]:
    """The files of the repository that commands name. What is beside them stays as each task's workspace has it."""
    paths = (_path_inside(top / word, top) for word in sorted(words) if (top / word).is_file())
    return {path: _read_disk(top / path, path)[""] for path in paths if path is not None}
