"""Finds the files of an agent's set-up: those that are named, or those that a folder has at the known places."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from outweigh.engine.setup_check import INSTRUCTION_FILES
from outweigh.errors import UsageError
from outweigh.model.agent_files import ConfigurationKind, configuration_kind, configuration_roots
from outweigh.ports.suites import DraftFile
from outweigh.workspace.revisions import REVISION_FILE_LIMIT, REVISION_TOTAL_LIMIT, GitRevisions

SKIPPED_FOLDERS = frozenset({".git", "__pycache__", "node_modules", ".venv", "worktrees", "outweigh-try"})
_MIXED_FOLDERS = frozenset({".", ".github"})
PERSONAL_FILES = frozenset({"settings.local.json", "CLAUDE.local.md", ".credentials.json"})
"""Files of one person or machine, which no one else has: they are neither listed nor copied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupFiles:
    """The files of a set-up by their paths below `root`, and notes about those that were left out.

    `places` are the files and folders that hold nothing else, and so are removed from workspaces where arms add them.
    """

    root: Path
    files: Mapping[str, DraftFile]
    places: tuple[str, ...]
    notes: tuple[str, ...]

    def kind(self, path: str) -> ConfigurationKind:
        """What a file is for; instruction files below other folders are instructions too."""
        if PurePosixPath(path).name in INSTRUCTION_FILES:
            return ConfigurationKind.INSTRUCTIONS
        return configuration_kind(path) or ConfigurationKind.OTHER

    def find(self, path: str) -> DraftFile | None:
        """Any file below the root, such as a program that a hook names; None where there is none."""
        place = self.root / path
        is_inside = place.is_file() and place.resolve().is_relative_to(self.root)
        return _read(place, path) if is_inside else None


def find_setup_files(named: Sequence[str]) -> SetupFiles:
    """The files that are named; without a name, all that the repository or this folder has at the known places."""
    root = _root()
    if len(named) == 1 and _is_whole_setup(Path(named[0]), root):
        root, named = Path(named[0]).resolve(), ()
    places = [_place(each, root) for each in named] or [root / name for name in configuration_roots()]
    found: dict[str, DraftFile] = {}
    skipped: list[str] = []
    for place in places:
        _refuse_link_out(place, root)
        for file in _files_below(place, root):
            path = file.relative_to(root).as_posix()
            if file.name in PERSONAL_FILES:
                skipped.append(path)
            elif named or configuration_kind(path) is not None:
                _refuse_link_out(file, root)
                found[path] = _read(file, path)
    _refuse_too_much(found)
    notes = tuple(f"{path} is personal, so it is left out." for path in skipped)
    own = [place.relative_to(root).as_posix() for place in places]
    setup = SetupFiles(root=root, files=found, places=tuple(_places(own, found)), notes=notes)
    _refuse_nothing(setup, named)
    return setup


def _places(own: Sequence[str], found: Mapping[str, DraftFile]) -> Iterator[str]:
    """The named files and folders that have parts; of a folder with other files in it, the parts' own files."""
    for path in own:
        below = [each for each in found if each == path or each.startswith(f"{path}/")]
        if path in _MIXED_FOLDERS:
            yield from below
        elif below:
            yield path


def _root() -> Path:
    try:
        return GitRevisions(Path.cwd()).top.resolve()
    except UsageError:
        return Path.cwd().resolve()


def _is_whole_setup(place: Path, root: Path) -> bool:
    """Whether a folder is one that an agent would be started in, and not one of its configuration."""
    if not place.is_dir() or (place.resolve().is_relative_to(root) and _is_known(_relative(place, root))):
        return False
    return any((place / name).exists() for name in configuration_roots())


def _is_known(path: str) -> bool:
    return configuration_kind(path) is not None or configuration_kind(f"{path}/any") is not None


def _relative(place: Path, root: Path) -> str:
    return place.resolve().relative_to(root).as_posix()


def _place(named: str, root: Path) -> Path:
    """The path that is named, as the root has it: links in its last part are looked at later."""
    place = Path(named)
    whole = place.parent.resolve() / place.name if place.name not in ("", "..") else place.resolve()
    if not os.path.lexists(whole):
        raise UsageError(
            f"there is no file or folder {named!r}. Name files of a set-up, such as CLAUDE.md, .claude/ and .mcp.json, "
            "or none to list what this folder has."
        )
    if not whole.is_relative_to(root):
        raise UsageError(f"{named} is not below {root}. Run this in the folder that the agent is started in.")
    path = whole.relative_to(root).as_posix()
    if whole.is_file() and configuration_kind(path) is None and whole.name not in INSTRUCTION_FILES:
        raise UsageError(
            f"{named} is nothing that a known agent reads as its set-up. Name instruction files such as CLAUDE.md or "
            "AGENTS.md, folders such as .claude/, or a .mcp.json."
        )
    return whole


def _files_below(place: Path, root: Path) -> Iterator[Path]:
    """The file itself, or every file of a folder; links to folders within the root are followed."""
    if place.is_file():
        yield place
        return
    for folder, folders, names in os.walk(place, followlinks=True):
        inner = [Path(folder, name) for name in sorted(folders) if name not in SKIPPED_FOLDERS]
        for each in inner:
            _refuse_link_out(each, root)
        # A link to a folder that it is in would lead round in circles.
        folders[:] = [each.name for each in inner if not each.is_symlink() or each.resolve() not in each.parents]
        yield from (file for name in sorted(names) if (file := Path(folder, name)).is_file() or file.is_symlink())


def _refuse_link_out(place: Path, root: Path) -> None:
    if place.is_symlink() and not place.exists():
        raise UsageError(f"{place.relative_to(root)} is a link to {str(place.readlink())!r}, which is not there.")
    if place.is_symlink() and not place.resolve().is_relative_to(root):
        raise UsageError(
            f"{place.relative_to(root)} is a link to {str(place.readlink())!r}, which leads out of {root}. Copy what "
            "it points at, so that a suite can have it."
        )


def _read(file: Path, path: str) -> DraftFile:
    try:
        if file.stat().st_size > REVISION_FILE_LIMIT:
            raise UsageError(f"{path} has more than {REVISION_FILE_LIMIT:,} bytes, so it is no part of a set-up.")
        return DraftFile(content=file.read_bytes(), executable=os.access(file, os.X_OK))
    except OSError as fault:
        raise UsageError(f"{path} cannot be read: {fault.strerror}.") from fault


def _refuse_too_much(found: Mapping[str, DraftFile]) -> None:
    total = sum(len(file.content) for file in found.values())
    if total > REVISION_TOTAL_LIMIT:
        raise UsageError(f"these files have {total:,} bytes together, more than {REVISION_TOTAL_LIMIT:,}. Name fewer.")


def _refuse_nothing(setup: SetupFiles, named: Sequence[str]) -> None:
    for path, file in setup.files.items():
        if setup.kind(path) is ConfigurationKind.INSTRUCTIONS:
            _refuse_unreadable(path, file.content)
            if path in named and not file.content.strip():
                raise UsageError(f"{path} is empty, so it has no parts. Write something into it, or leave it out.")
    if any(file.content.strip() for file in setup.files.values()):
        return
    there = " ".join(named) or str(setup.root)
    raise UsageError(
        f"{there} has no set-up of an agent: no CLAUDE.md or AGENTS.md, no .claude folder and no .mcp.json that has "
        "anything in it. Name the files."
    )


def _refuse_unreadable(path: str, content: bytes) -> None:
    try:
        is_text = "\0" not in content.decode()
    except UnicodeDecodeError:
        is_text = False
    if not is_text:
        raise UsageError(f"{path} is not UTF-8 text, so it has no sections. Save it as UTF-8, or leave it out.")
