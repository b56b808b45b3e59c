"""Loads arms from what a suite says about them.

Inherited settings, and every file they lay into a workspace, from the suite's folder or from a git revision.
"""

import stat
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from outweigh.engine.compose_parts import ComposedArm, SuiteParts, merge_hooks
from outweigh.engine.load_plugins import describe_plugin, path_in_repository, read_plugin_at, read_plugin_folder
from outweigh.engine.load_server import refuse_bad_server
from outweigh.engine.tree_digest import paths_below, refuse_link_out
from outweigh.errors import UsageError
from outweigh.model.agent_files import (
    SKILL_FILE,
    AgentFileLocations,
    ConfigurationKind,
    configuration_kind,
    file_locations_of,
    imported_paths,
)
from outweigh.model.arm import Arm, ArmOrigin, ArmSpec, OverlayFile
from outweigh.model.parse import inherit
from outweigh.model.plugin_files import PLUGIN_FOLDER
from outweigh.model.provider import NamedProviderSpec
from outweigh.ports.workspaces import RevisionFile, Revisions

_IMPORT_STEPS = 5
"""How deep agents follow imports between instruction files."""


def revision_origin(spec: ArmSpec, revisions: Revisions, where: str) -> ArmOrigin | None:
    """The commit an arm's files come from; None where they do not come from git."""
    if spec.from_git is None:
        if spec.git_folder is not None or spec.git_paths:
            raise UsageError(f"{where}: git_folder and git_paths go with from_git; name a branch, a tag or a commit.")
        return None
    for path in (spec.git_folder or ".", *spec.git_paths):
        if ".." in PurePosixPath(path).parts or path.startswith("/"):
            raise UsageError(f"{where}: {path!r} leads out of the repository; write a path within it.")
    folder = str(PurePosixPath(spec.git_folder or "."))
    return ArmOrigin(ref=spec.from_git, commit=revisions.commit(spec.from_git), folder=folder)


def revision_files(
    origin: ArmOrigin, agent: str, more: Iterable[str], revisions: Revisions, locations: AgentFileLocations
) -> tuple[RevisionFile, ...]:
    """What this agent reads: files in its own locations, those in `more`, and those that its instructions import."""
    named = tuple(str(PurePosixPath(path)) for path in more)
    found: dict[str, RevisionFile] = {}
    brought_in: set[str] = set()

    def wanted(path: str) -> bool:
        besides = any(path == place or path.startswith(f"{place}/") for place in named)
        return path in brought_in or besides or configuration_kind(path, agent, locations) is not None

    for _ in range(_IMPORT_STEPS):
        found = {file.path: file for file in revisions.files(origin.commit, origin.folder, wanted)}
        brought = {
            path
            for file in found.values()
            if file.path in brought_in
            or configuration_kind(file.path, agent, locations) is ConfigurationKind.INSTRUCTIONS
            for path in _imported(file)
        }
        if brought <= brought_in | found.keys():
            break
        brought_in |= brought
    return tuple(found.values())


def _imported(file: RevisionFile) -> Iterable[str]:
    folder = PurePosixPath(file.path).parent
    for path in imported_paths(file.content.decode(errors="replace")):
        place = folder / path
        if ".." not in place.parts:
            yield str(place)


FILE_OPTIONS = ("script", "runs")
"""Agent options whose value is a file in the suite's folder."""


class ArmFiles:
    """Reads files of a suite's folder and keeps their content, so that runs get exactly what was hashed."""

    def __init__(
        self,
        folder: Path,
        revisions: Revisions | None = None,
        locations_of: Callable[[str], AgentFileLocations] = file_locations_of,
    ) -> None:
        self._folder = folder
        self._revisions = revisions
        self.locations_of = locations_of
        self.contents: dict[str, bytes] = {}
        self.origins: dict[str, ArmOrigin] = {}

    def emptied(self) -> "ArmFiles":
        """A reader of the same places that has kept nothing yet."""
        return ArmFiles(self._folder, self._revisions, self.locations_of)

    def keep(self, path: str, content: bytes, *, executable: bool = False) -> OverlayFile:
        """Keep a content for the overlay, to be laid out at a path."""
        digest = sha256(content).hexdigest()
        self.contents[digest] = content
        return OverlayFile(path=path, sha256=digest, executable=executable)

    def folder(self, path: str, where: str) -> Path:
        """The folder that the suite names; UsageError where there is none."""
        place = (self._folder / path).resolve()
        if not place.is_dir():
            raise UsageError(f"{where}: there is no folder {place}.")
        return place

    def file(self, path: object, where: str) -> Path:
        """The file that the suite names; UsageError where there is none."""
        place = (self._folder / str(path)).resolve()
        if not place.is_file():
            raise UsageError(f"{where}: there is no file {place}.")
        return place

    def of_revision(self, name: str, spec: ArmSpec, where: str) -> Iterable[OverlayFile]:
        """The files that an arm takes from a git revision; `origins` records which one.

        Of an arm with plugins these are its plugins alone, unless it names others: what lies beside a plugin in its
        repository is not what its users get.
        """
        if self._revisions is None:
            if spec.from_git is not None:
                raise UsageError(f"{where}.from_git: the repository is unknown, so arms from git cannot be read here.")
            return
        origin = revision_origin(spec, self._revisions, where)
        if origin is not None:
            self.origins[name] = origin
            if spec.plugins and spec.git_folder is None and not spec.git_paths:
                return
            places = self.locations_of(spec.agent or "")
            for file in revision_files(origin, spec.agent or "", spec.git_paths, self._revisions, places):
                yield self.keep(file.path, file.content, executable=file.executable)

    def plugins(self, name: str, spec: ArmSpec, where: str) -> Iterable[tuple[str, OverlayFile]]:
        """The files of an arm's plugins, each with the folder of its plugin in the workspace.

        Those of an arm from git come from its commit, which may lack a plugin that the other commit has.
        """
        origin = self.origins.get(name)
        for path in spec.plugins:
            place = (self._folder / path).resolve()
            if origin is None or self._revisions is None:
                tree = read_plugin_folder(place, where)
            else:
                tree = read_plugin_at(
                    self._revisions, origin.commit, path_in_repository(place, self._folder.resolve(), where)
                )
            target = f"{PLUGIN_FOLDER}/{describe_plugin(tree, place.name).name}"
            for file in tree.values():
                yield target, self.keep(f"{target}/{file.path}", file.content, executable=file.executable)

    def below(self, root: Path, target: str) -> Iterable[OverlayFile]:
        """Every file of a folder, to be laid out below a path."""
        for path in paths_below(root):
            if path.is_symlink():
                refuse_link_out(root, path)
            if path.is_dir() and not path.is_symlink():
                continue
            if not path.is_file():
                raise UsageError(f"{path} is not a file, so it cannot be copied into a workspace; remove it.")
            place = PurePosixPath(target, path.relative_to(root).as_posix())
            yield self.keep(str(place), path.read_bytes(), executable=bool(path.stat().st_mode & stat.S_IXUSR))


_NO_PROVIDERS: Mapping[str, NamedProviderSpec] = MappingProxyType({})


def load_arm(
    name: str,
    specs: Mapping[str, ArmSpec],
    files: ArmFiles,
    source: str,
    providers: Mapping[str, NamedProviderSpec] = _NO_PROVIDERS,
    parts: SuiteParts | None = None,
) -> Arm:
    """Resolve an arm, composed of its parts; two different files for one path are refused."""
    spec = inherit(name, specs)
    if spec.agent is None:
        raise UsageError(f"{source}: arms.{name} has no agent; name one, or extend an arm that has.")
    where, places = f"{source}: arms.{name}", files.locations_of(spec.agent)
    _refuse_unsupported(spec, places, where)
    composed = ComposedArm(spec=spec) if parts is None else parts.compose(name, spec, places)
    spec = composed.spec
    for server_name, server in spec.mcp_servers.items():
        refuse_bad_server(server, (*spec.secrets, *spec.environment), f"{where}.mcp_servers.{server_name}")
    option_paths = {
        key: files.file(spec.options[key], f"{where}.options.{key}") for key in FILE_OPTIONS if key in spec.options
    }
    skills = {path: files.folder(path, f"{where}.skills") for path in spec.skills}
    laid = _OverlayFiles(where)
    for owner, file in _overlay(composed, skills, files, places, where):
        laid.add(file, owner)
    for file in files.of_revision(name, spec, where):
        laid.add(file, None)
    plugins: dict[str, None] = {}
    for folder, file in files.plugins(name, spec, f"{where}.plugins"):
        laid.add(file, None)
        plugins[folder] = None
    if composed.hooks and places.hooks is not None:
        laid.replace(_with_hooks(composed, laid.find(places.hooks), files, places.hooks, where))
    overlay = laid.sorted()
    return Arm(
        name=name,
        agent=spec.agent or "",
        model=spec.model,
        tier=spec.tier,
        overlay=overlay,
        skills=skill_names((folder.name for folder in skills.values()), overlay, places),
        mcp_servers=spec.mcp_servers,
        extra_prompt=spec.extra_prompt,
        environment=spec.environment,
        secrets=tuple(spec.secrets),
        flags=(*spec.flags, *(word for folder in plugins for word in (places.plugin_flag or "", folder))),
        options={**spec.options, **{key: str(path) for key, path in option_paths.items()}},
        option_files={key: sha256(path.read_bytes()).hexdigest() for key, path in option_paths.items()},
        provider=None if spec.provider is None else providers[spec.provider].identity,
        provider_name=spec.provider,
        auth="login" if spec.auth == "login" else None,
    )


def _refuse_unsupported(spec: ArmSpec, places: AgentFileLocations, where: str) -> None:
    """Refuse skills and instructions that the agent would never read: the arm would differ in name only."""
    if spec.skills and not places.skills:
        raise UsageError(f"{where}.skills: {spec.agent} does not support skills; leave them out, or use another agent.")
    if spec.plugins and places.plugin_flag is None:
        raise UsageError(
            f"{where}.plugins: {spec.agent} does not load plugins of Claude Code; leave them out, or use claude-code."
        )
    if spec.instructions is not None and not places.instructions:
        raise UsageError(f"{where}.instructions: {spec.agent} reads no instruction file; use extra_prompt.")


def _overlay(
    arm: ComposedArm, skills: Mapping[str, Path], files: ArmFiles, places: AgentFileLocations, where: str
) -> Iterable[tuple[str | None, OverlayFile]]:
    """Every file that the arm adds, with the part that brings it; None for the arm itself."""
    spec = arm.spec
    folders = (*(() if spec.files is None else ((None, spec.files),)), *arm.files)
    for owner, path in folders:
        for file in files.below(files.folder(path, f"{where}.files"), ""):
            yield owner, file
    for path, folder in skills.items():
        if not (folder / SKILL_FILE).is_file():
            raise UsageError(
                f"{where}.skills: {path!r} has no {SKILL_FILE}, so no agent would see it; name each skill's own folder."
            )
        for target in places.skills:
            for file in files.below(folder, f"{target}/{folder.name}"):
                yield arm.skills.get(path), file
    for path, owner in arm.agents.items():
        content = files.file(path, f"{where}.parts: {owner}.agents").read_bytes()
        for target in places.sub_agents:
            yield owner, files.keep(f"{target}/{PurePosixPath(path).name}", content)
    if spec.instructions is not None:
        owner = arm.instructed_by[0] if arm.instructed_by else None
        for place in places.instructions:
            yield owner, files.keep(place, spec.instructions.encode())


def _with_hooks(arm: ComposedArm, settings: OverlayFile | None, files: ArmFiles, path: str, where: str) -> OverlayFile:
    """The agent's settings, which the arm may have among its files, with the hooks of its parts."""
    known = None if settings is None else files.contents[settings.sha256]
    return files.keep(path, merge_hooks(known, arm.hooks, f"{where}: {path}"))


def skill_names(named: Iterable[str], overlay: Iterable[OverlayFile], places: AgentFileLocations) -> tuple[str, ...]:
    """Skills named by the arm, and those among its files."""
    brought = (skill for file in overlay if (skill := places.skill_folder(file.path)) is not None)
    return tuple(dict.fromkeys((*named, *brought)))


class _OverlayFiles:
    """The files of an arm, one for each path, and the parts that bring them."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._files: dict[str, OverlayFile] = {}
        self._owners: dict[str, str | None] = {}

    def add(self, file: OverlayFile, owner: str | None) -> None:
        """Add a file; another one for its path is refused."""
        if self._files.setdefault(file.path, file) == file:
            self._owners.setdefault(file.path, owner)
            return
        owners = (self._owners[file.path], owner)
        if owners == (None, None):
            raise UsageError(
                f"{self._where} has two different files for {file.path!r} (files, skills, instructions, from_git); "
                "keep one."
            )
        one, other = ("the arm itself" if each is None else f"part {each!r}" for each in owners)
        raise UsageError(f"{self._where}: {one} and {other} have different files for {file.path!r}; keep one of them.")

    def find(self, path: str) -> OverlayFile | None:
        """The file at a path."""
        return self._files.get(path)

    def replace(self, file: OverlayFile) -> None:
        """Put a file in the place of the one at its path."""
        self._files[file.path] = file

    def sorted(self) -> tuple[OverlayFile, ...]:
        """All files by their path."""
        return tuple(self._files[path] for path in sorted(self._files))
