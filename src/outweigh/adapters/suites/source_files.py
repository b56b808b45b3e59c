"""Files that a foreign suite names: read with limits, decoded with patience, never from outside its folder."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from outweigh.errors import UsageError, name_some
from outweigh.task.plain_yaml import decode_yaml
from outweigh.task.suite_draft import SuiteFile
from outweigh.transcript.repeated_keys import RepeatedKeyError, decode_once

DOCUMENT_LIMIT = 16 * 2**20
"""A suite is written by people; a larger document is something else."""
YAML_LIMIT = 2 * 2**20
TREE_LIMIT = 256 * 2**20
TREE_FILES = 10_000
DEPTH_LIMIT = 24
LEFT_OUT = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", ".DS_Store", ".pytest_cache"})
"""What is nobody's work: history, caches, installed packages."""


def read_bytes(path: Path, limit: int = DOCUMENT_LIMIT) -> bytes:
    """A file as a whole; UsageError where it cannot be read, is no plain file, or is too large."""
    try:
        if not path.is_file():
            raise UsageError(f"{path} is {'no plain file' if path.exists() else 'not there'}, so it cannot be read.")
        with path.open("rb") as stream:
            content = stream.read(limit + 1)
    except (OSError, ValueError) as fault:
        raise UsageError(f"{path} cannot be read: {getattr(fault, 'strerror', None) or fault}.") from None
    if len(content) > limit:
        raise UsageError(f"{path} has more than {limit // 2**20} MiB, which is no suite that a person wrote.")
    return content


def read_text(path: Path) -> str:
    """A text in UTF-8, with or without a mark, or in Windows' Latin."""
    return decoded(read_bytes(path))


def decoded(content: bytes) -> str:
    """The text that these bytes are, likewise."""
    try:
        return content.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def read_json(path: Path) -> Any:
    """The value in a JSON file; UsageError where there is none, or a key has two."""
    try:
        return decode_once(read_text(path).encode())
    except RepeatedKeyError as fault:
        raise UsageError(f"{path}: {fault}; leave one of them.") from None
    except ValueError as fault:
        raise UsageError(f"{path} is not valid JSON: {fault}.") from None


def read_yaml(path: Path) -> Any:
    """The value in a YAML file; UsageError where there is none, or a key has two: one of them would go missing."""
    try:
        found = decode_yaml(decoded(read_bytes(path, YAML_LIMIT)))
    except ValueError as fault:
        raise UsageError(f"{path} is not valid YAML: {fault}.") from None
    if found.doubtful:
        raise UsageError(
            f"{path}: {name_some(found.doubtful)} has two values in one place; leave the one that is meant."
        )
    return found.value


def looks_like_json(path: Path, fits: Callable[[Any], bool]) -> bool:
    """A look that never raises, for `recognises`."""
    try:
        return fits(read_json(path))
    except (UsageError, OSError, ValueError):
        return False


def within(root: Path, relative: str, where: str) -> Path:
    """The place that a relative path names below a folder; UsageError for one that leads out, by itself or by links."""
    pure = PurePosixPath(relative.replace("\\", "/"))
    try:
        place = (root / pure).resolve()
    except (OSError, ValueError, RuntimeError):
        place = Path("/")
    if pure.is_absolute() or "\0" in relative or not place.is_relative_to(root.resolve()):
        raise UsageError(f"{where}: {relative!r} leads out of {root}. Copy what it means into that folder.")
    return place


def tree(root: Path, *, without: Callable[[PurePosixPath], bool] = lambda _: False) -> dict[str, SuiteFile]:
    """Every file below a folder by its path there, but for what is `without` and nobody's work.

    Links are refused where they lead out, and read where they do not.
    """
    found: dict[str, SuiteFile] = {}
    size = 0
    for path in _below(root, PurePosixPath(), without):
        file = suite_file(root / path)
        found[str(path)] = file
        size += len(file.content)
        if size > TREE_LIMIT or len(found) > TREE_FILES:
            raise UsageError(
                f"{root} holds more than {TREE_FILES:,} files or {TREE_LIMIT // 2**20} MiB. Move away what does not "
                "belong to it."
            )
    return found


def suite_file(path: Path) -> SuiteFile:
    """One file with its executable bit."""
    content = read_bytes(path, TREE_LIMIT)
    return SuiteFile(content=content, executable=bool(path.stat().st_mode & stat.S_IXUSR))


def _below(root: Path, folder: PurePosixPath, without: Callable[[PurePosixPath], bool]) -> Iterator[PurePosixPath]:
    if len(folder.parts) > DEPTH_LIMIT:
        raise UsageError(f"{root / folder} is more than {DEPTH_LIMIT} folders deep; name the folder itself.")
    try:
        entries = sorted(os.scandir(root / folder), key=lambda entry: os.fsencode(entry.name))
    except OSError as fault:
        raise UsageError(f"{fault.filename or root} cannot be read: {fault.strerror}.") from None
    for entry in entries:
        path = folder / entry.name
        if entry.name in LEFT_OUT or without(path):
            continue
        if entry.is_symlink():
            within(root, str(path), str(root))
        if entry.is_dir(follow_symlinks=False):
            yield from _below(root, path, without)
        elif entry.is_file():
            yield path
