"""Makes the tree that an agent left readable, and says where it is larger than any reader has to cope with.

The tree is hostile until this has passed over it: folders may be closed, nested beyond the longest path, or hold a
million entries. Every folder is opened relative to the one that holds it, no link is followed, and depth, lengths and
counts are bounded. The permissions that are missing are given in place, because the tree is the run's own and is
deleted after it.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# An entry as such: it can be given permissions although it cannot be opened, and nothing can be put in its place.
# Only Linux has it. Elsewhere an entry is named again, which is safe as long as no process of the agent is alive.
_ENTRY = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC if hasattr(os, "O_PATH") else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeBounds:
    """What a tree may have: far more than a project, and less than programs with path names can handle."""

    depth: int = 200
    path_bytes: int = 3000
    entries: int = 500_000


WORKSPACE_BOUNDS = TreeBounds()


class _BoundExceededError(Exception):
    """The tree exceeds a bound; the message is a clause about the workspace."""


def survey_workspace(root: Path, bounds: TreeBounds = WORKSPACE_BOUNDS) -> str | None:
    """Give the owner access to everything below a folder; returns which bound the tree exceeds, None if none.

    No process of the agent may be alive any more.
    """
    try:
        _Survey(bounds).walk(_open_root(root))
    except _BoundExceededError as excess:
        return str(excess)
    return None


def _open_root(root: Path) -> int:
    mode = root.stat().st_mode
    if _lacks_access(mode):
        root.chmod(stat.S_IMODE(mode) | _needed(mode))
    return os.open(root, _FOLDER & ~os.O_NOFOLLOW)


@dataclass(slots=True)
class _OpenFolder:
    descriptor: int
    path_bytes: int
    waiting: list[str]


class _Survey:
    """One pass over a tree, depth first; the folders from the root to the current one are held open."""

    def __init__(self, bounds: TreeBounds) -> None:
        self._bounds = bounds
        self._entries = 0
        self._held: list[_OpenFolder] = []

    def walk(self, root: int) -> None:
        try:
            self._enter(root, 0)
            while self._held:
                folder = self._held[-1]
                if folder.waiting:
                    name = folder.waiting.pop()
                    self._enter(os.open(name, _FOLDER, dir_fd=folder.descriptor), folder.path_bytes + _length(name) + 1)
                else:
                    os.close(self._held.pop().descriptor)
        finally:
            for folder in self._held:
                os.close(folder.descriptor)

    def _enter(self, descriptor: int, path_bytes: int) -> None:
        folder = _OpenFolder(descriptor, path_bytes, [])
        self._held.append(folder)
        if len(self._held) > self._bounds.depth:
            raise _BoundExceededError(f"it nests folders more than {self._bounds.depth} deep")
        with os.scandir(descriptor) as entries:
            for entry in entries:
                self._look(folder, entry)

    def _look(self, folder: _OpenFolder, entry: os.DirEntry[str]) -> None:
        self._entries += 1
        if self._entries > self._bounds.entries:
            raise _BoundExceededError(f"it has more than {self._bounds.entries:,} files and folders")
        if folder.path_bytes + _length(entry.name) > self._bounds.path_bytes:
            raise _BoundExceededError(f"it has a path of more than {self._bounds.path_bytes:,} bytes")
        mode = entry.stat(follow_symlinks=False).st_mode
        if _lacks_access(mode):
            _give_access(entry.name, folder.descriptor, mode)
        if stat.S_ISDIR(mode):
            folder.waiting.append(entry.name)


def _length(name: str) -> int:
    return len(os.fsencode(name))


def _needed(mode: int) -> int:
    """What the owner needs to read an entry; folders are also written to, by checks."""
    if stat.S_ISDIR(mode):
        return stat.S_IRWXU
    return stat.S_IRUSR if stat.S_ISREG(mode) else 0


def _lacks_access(mode: int) -> bool:
    return mode & _needed(mode) != _needed(mode)


def _give_access(name: str, folder: int, mode: int) -> None:
    if _ENTRY is None:
        os.chmod(name, stat.S_IMODE(mode) | _needed(mode), dir_fd=folder)
        return
    entry = os.open(name, _ENTRY, dir_fd=folder)
    try:
        mode = os.fstat(entry).st_mode
        if _lacks_access(mode):
            Path(f"/proc/self/fd/{entry}").chmod(stat.S_IMODE(mode) | _needed(mode))
    finally:
        os.close(entry)
