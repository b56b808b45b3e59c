"""Reads and writes files of a workspace that an agent may have manipulated.

A path is resolved one name at a time with every folder held open, so that no symbolic link leads outside and nothing
can be swapped between check and use.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from secrets import token_hex

from outweigh.ports.sandboxes import SandboxError
from outweigh.process import spawn_lock

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening a pipe that an agent put there must not block.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_LINKS = 40
# A missing file, a file where a folder should be, a link to itself, a socket, a name that is too long.
_NO_FILE_ERRORS = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG)


class PathEscapeError(SandboxError, PermissionError):
    """A path that leads out of the workspace: a mistake of the caller, or an attack by the agent."""


class ConfinedFiles:
    """The files below one folder. `inside` is its path in the sandbox, needed to follow absolute links."""

    def __init__(self, root: Path, inside: str) -> None:
        self._root = root
        self._inside = PurePosixPath(inside)

    def read(self, path: str, limit: int) -> bytes | None:
        """At most `limit` bytes of a regular file; None when there is none."""
        try:
            with self._parent(path, create=False, follow=True) as (folder, name):
                return _read_plain(folder, name, limit)
        except PathEscapeError:
            raise
        except OSError as fault:
            if fault.errno in _NO_FILE_ERRORS:
                return None
            raise SandboxError(f"{path!r} of the workspace cannot be read: {fault.strerror}.") from fault

    def write(self, path: str, content: bytes, *, executable: bool) -> None:
        """Write a file, replacing any file or link at that path; missing folders are created."""
        try:
            with self._parent(path, create=True, follow=False) as (folder, name):
                _replace(folder, name, content, 0o755 if executable else 0o644)
        except PathEscapeError:
            raise
        except OSError as fault:
            raise SandboxError(f"{path!r} cannot be put into the workspace: {fault.strerror}.") from fault

    @contextmanager
    def _parent(self, path: str, *, create: bool, follow: bool) -> Iterator[tuple[int, str]]:
        """The parent folder of a path, held open, and the last name, with links resolved when `follow` is set."""
        walk = _PathWalk(self._root, self._inside, path)
        try:
            yield walk.to_parent(_parts(path), create=create, follow=follow)
        finally:
            walk.close()


class _PathWalk:
    """A chain of open folders from the root of the workspace to the current one."""

    def __init__(self, root: Path, inside: PurePosixPath, path: str) -> None:
        self._inside, self._path = inside, path
        self._held = [os.open(root, _FOLDER & ~os.O_NOFOLLOW)]
        self._links = 0

    def to_parent(self, parts: list[str], *, create: bool, follow: bool) -> tuple[int, str]:
        while True:
            name = parts.pop(0)
            if name == "..":
                self._up()
            elif (parts or follow) and (target := self._link(name)) is not None:
                parts[:0] = self._resolve(target)
            elif parts:
                self._down(name, create)
            else:
                return self._held[-1], name
            if not parts:
                return self._held[-1], "."

    def close(self) -> None:
        while self._held:
            os.close(self._held.pop())

    def _up(self) -> None:
        if len(self._held) == 1:
            raise PathEscapeError(f"{self._path!r} leads out of the workspace.")
        os.close(self._held.pop())

    def _down(self, name: str, create: bool) -> None:
        if create:
            with suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=self._held[-1])
        self._held.append(os.open(name, _FOLDER, dir_fd=self._held[-1]))

    def _link(self, name: str) -> str | None:
        try:
            return os.readlink(name, dir_fd=self._held[-1])
        except OSError:  # not a link or missing; the next step reports it
            return None

    def _resolve(self, target: str) -> list[str]:
        self._links += 1
        if self._links > _MAX_LINKS:
            raise PathEscapeError(f"{self._path!r} goes through more than {_MAX_LINKS} links.")
        pure = PurePosixPath(target)
        if not pure.is_absolute():
            return list(pure.parts)
        if not pure.is_relative_to(self._inside):
            raise PathEscapeError(f"{self._path!r} goes through a link that leads out of the workspace.")
        while len(self._held) > 1:
            os.close(self._held.pop())
        return list(pure.relative_to(self._inside).parts)


def _parts(path: str) -> list[str]:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\0" in path or not pure.parts:
        raise PathEscapeError(f"{path!r} leads out of the workspace; name a file below it, such as 'src/main.py'.")
    return list(pure.parts)


def _read_plain(folder: int, name: str, limit: int) -> bytes | None:
    opened = os.open(name, _READ, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            return None
        with os.fdopen(opened, "rb", closefd=False) as file:
            return file.read(limit)
    finally:
        os.close(opened)


def _replace(folder: int, name: str, content: bytes, mode: int) -> None:
    """Write a temporary file and rename it, so that a link or pipe at that path is replaced, never written through."""
    temporary = f".{token_hex(8)}"
    try:
        with spawn_lock(), os.fdopen(os.open(temporary, _CREATE, mode, dir_fd=folder), "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
