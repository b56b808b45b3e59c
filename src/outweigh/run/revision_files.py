"""The configuration of an agent as a revision of a repository has it."""

from collections.abc import Iterable
from pathlib import PurePosixPath

from outweigh.errors import UsageError
from outweigh.ports.workspaces import RevisionFile, Revisions
from outweigh.task.arm import ArmOrigin, ArmSpec
from outweigh.task.configuration import ConfigurationKind, configuration_kind, imports_in

_IMPORT_STEPS = 5
"""How far agents follow files that bring in files."""


def revision_origin(spec: ArmSpec, revisions: Revisions, where: str) -> ArmOrigin | None:
    """Where an arm's files come from; None where they do not come from git."""
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
    origin: ArmOrigin, agent: str, more: Iterable[str], revisions: Revisions
) -> tuple[RevisionFile, ...]:
    """What this agent reads: the files in its own places, those named besides, and those that its words bring in."""
    named = tuple(str(PurePosixPath(path)) for path in more)
    found: dict[str, RevisionFile] = {}
    brought_in: set[str] = set()

    def wanted(path: str) -> bool:
        besides = any(path == place or path.startswith(f"{place}/") for place in named)
        return path in brought_in or besides or configuration_kind(path, agent) is not None

    for _ in range(_IMPORT_STEPS):
        found = {file.path: file for file in revisions.files(origin.commit, origin.folder, wanted)}
        brought = {path for file in found.values() if _has_imports(file, agent, brought_in) for path in _imported(file)}
        if brought <= brought_in | found.keys():
            break
        brought_in |= brought
    return tuple(found.values())


def _has_imports(file: RevisionFile, agent: str, imported: set[str]) -> bool:
    return file.path in imported or configuration_kind(file.path, agent) is ConfigurationKind.INSTRUCTIONS


def _imported(file: RevisionFile) -> Iterable[str]:
    folder = PurePosixPath(file.path).parent
    for path in imports_in(file.content.decode(errors="replace")):
        place = folder / path
        if ".." not in place.parts:
            yield str(place)
