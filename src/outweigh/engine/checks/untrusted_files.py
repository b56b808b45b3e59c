"""File access confined to a workspace that an agent has written to: no link is followed, no path leads out.

Folders are opened one by one and held open, so that a process that is still alive cannot swap one for a link
meanwhile.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path, PurePosixPath

from outweigh.process import spawn_lock

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A named pipe put there by the agent must not block us.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class UnsafePathError(Exception):
    """The path leads out, goes through a link, or is blocked by something other than a regular file or folder."""


def path_parts(path: str) -> tuple[str, ...]:
    """The parts of a relative path; absolute paths and `..` are refused."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\0" in path or not pure.parts:
        raise UnsafePathError(f"{path!r} leads out of the workspace")
    return pure.parts


def require_workspace(root: Path) -> None:
    """Raise UnsafePathError where the workspace is no longer a folder."""
    os.close(_open_root(root))


def list_folder(root: Path, path: str) -> list[str]:
    """The names in a folder of the workspace, of its top where the path is empty; none where there is no folder."""
    try:
        if not path:
            held = _open_root(root)
        else:
            with _open_parent(root, path_parts(path)) as (folder, name):
                held = os.open(name, _FOLDER, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as fault:
        raise UnsafePathError(f"{path!r} cannot be listed: {fault.strerror}") from None
    try:
        return sorted(os.listdir(held))  # noqa: PTH208 - a descriptor, not a path
    finally:
        os.close(held)


def read_file(root: Path, path: str, limit: int) -> bytes | None:
    """At most `limit` bytes of a regular file; None when there is nothing at the path."""
    try:
        with open_file(root, path) as file:
            return file.read(limit)
    except FileNotFoundError:
        return None


@contextmanager
def open_file(root: Path, path: str) -> Iterator[BufferedReader]:
    """A regular file, open for reading; FileNotFoundError when there is nothing at the path."""
    with _open_parent(root, path_parts(path)) as (folder, name):
        _require_plain(os.lstat(name, dir_fd=folder).st_mode, path)
        try:
            opened = os.open(name, _READ, dir_fd=folder)
        except PermissionError as fault:
            raise UnsafePathError(f"{path!r} cannot be read: {fault.strerror}") from None
        with os.fdopen(opened, "rb") as file:
            _require_plain(os.fstat(opened).st_mode, path)
            yield file


def remove_path(root: Path, path: str) -> None:
    """Remove whatever is at the path: a file, a link (not its target), a folder with its content."""
    try:
        with _open_parent(root, path_parts(path)) as (folder, name):
            if stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
                shutil.rmtree(name, dir_fd=folder)
            else:
                os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
    except RecursionError:
        raise UnsafePathError(f"what is at {path!r} is nested too deeply to be removed") from None
    except OSError as fault:
        raise UnsafePathError(f"what is at {path!r} cannot be removed: {fault.strerror}") from None


def fill_folder(folder: Path, source: Path | None) -> None:
    """Remove everything in a folder, and copy what is in `source` into it. The folder itself stays: it is mounted."""
    try:
        folder.chmod(0o755)
        for name in os.listdir(folder):  # noqa: PTH208 - only names are needed
            remove_path(folder, name)
        held = os.open(folder, _FOLDER)
        try:
            _copy_entries(held, source)
        finally:
            os.close(held)
    except (PermissionError, FileExistsError) as fault:
        raise UnsafePathError(f"a folder of the checks cannot be filled: {fault.strerror}") from None


def replace_folder(root: Path, name: str, source: Path | None) -> None:
    """Replace whatever is at the path by a new folder: a copy of `source`, or an empty one."""
    remove_path(root, name)
    try:
        with _open_parent(root, path_parts(name)) as (folder, leaf):
            _copy_into(folder, leaf, source)
    except (PermissionError, FileExistsError) as fault:
        raise UnsafePathError(f"{name!r} cannot be put into the workspace: {fault.strerror}") from None


@contextmanager
def _open_parent(root: Path, parts: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """The path's parent folder, held open, and the last name."""
    held = _open_root(root)
    try:
        for depth, part in enumerate(parts[:-1], start=1):
            below = _step(held, part, "/".join(parts[:depth]))
            os.close(held)
            held = below
        yield held, parts[-1]
    finally:
        os.close(held)


def _open_root(root: Path) -> int:
    try:
        return os.open(root, _FOLDER)
    except (FileNotFoundError, NotADirectoryError):
        raise UnsafePathError("the workspace is gone") from None


def _step(folder: int, name: str, shown: str) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except PermissionError as fault:
        raise UnsafePathError(f"{shown!r} cannot be entered: {fault.strerror}") from None
    except NotADirectoryError:
        if stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode):
            raise UnsafePathError(f"{shown!r} is a link, which is not followed") from None
        raise FileNotFoundError(f"{shown} is not a folder") from None


def _require_plain(mode: int, shown: str) -> None:
    if stat.S_ISLNK(mode):
        raise UnsafePathError(f"{shown!r} is a link, which is not followed")
    if not stat.S_ISREG(mode):
        raise UnsafePathError(f"{shown!r} is not a plain file")


def _copy_into(folder: int, name: str, source: Path | None) -> None:
    os.mkdir(name, 0o755, dir_fd=folder)
    made = os.open(name, _FOLDER, dir_fd=folder)
    try:
        _copy_entries(made, source)
    finally:
        os.close(made)


def _copy_entries(folder: int, source: Path | None) -> None:
    for entry in os.scandir(source) if source is not None else ():
        if entry.is_symlink():
            os.symlink(Path(entry.path).readlink(), entry.name, dir_fd=folder)
        elif entry.is_dir():
            _copy_into(folder, entry.name, Path(entry.path))
        else:
            _copy_file(folder, entry)


def _copy_file(folder: int, entry: os.DirEntry[str]) -> None:
    # Archives and clones may have lost the executable bit of a script.
    mode = 0o755 if entry.stat().st_mode & stat.S_IXUSR or entry.name.endswith(".sh") else 0o644
    with (
        Path(entry.path).open("rb") as original,
        spawn_lock(),
        os.fdopen(os.open(entry.name, _CREATE, mode, dir_fd=folder), "wb") as copy,
    ):
        # The umask may have removed bits from the new file's mode; scripts must stay executable.
        os.fchmod(copy.fileno(), mode)
        shutil.copyfileobj(original, copy)
