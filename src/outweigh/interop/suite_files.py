"""Reading the files of other harnesses' suites: bytes, text, JSON, YAML, folders, and tables with known keys.

Every reader has a limit and stays within the suite's folder; errors are UsageErrors that say how to fix the file. An
unknown key is refused: it may be a misspelt check that would otherwise be lost.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, inspect

from outweigh.errors import UsageError, quote_names
from outweigh.model.json_text import RepeatedKeyError, decode_unique_keys
from outweigh.model.plain_yaml import decode_yaml
from outweigh.ports.suites import DraftFile

DOCUMENT_LIMIT = 16 * 2**20
"""People write suites by hand; a larger document is something else."""
YAML_LIMIT = 2 * 2**20
TREE_LIMIT = 256 * 2**20
TREE_FILES = 10_000
TREE_DEPTH_LIMIT = 24
IGNORED_NAMES = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", ".DS_Store", ".pytest_cache"})
"""History, caches and installed packages."""


def read_bytes(path: Path, limit: int = DOCUMENT_LIMIT) -> bytes:
    """The content of a file; UsageError if it cannot be read, is not a regular file, or is too large."""
    try:
        if not path.is_file():
            raise UsageError(f"{path} is {'no plain file' if path.exists() else 'not there'}, so it cannot be read.")
        with path.open("rb") as stream:
            content = stream.read(limit + 1)
    except (OSError, ValueError) as fault:
        raise UsageError(f"{path} cannot be read: {getattr(fault, 'strerror', None) or fault}.") from None
    if len(content) > limit:
        raise UsageError(f"{path} has more than {limit // 2**20} MiB, which is not a suite that a person wrote.")
    return content


def read_text(path: Path) -> str:
    """Read a text in UTF-8, with or without a byte order mark, or in cp1252."""
    return decode_text(read_bytes(path))


def decode_text(content: bytes) -> str:
    """Decode text in UTF-8, with or without a byte order mark, or in cp1252."""
    try:
        return content.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def read_json(path: Path) -> Any:
    """Read a JSON file; UsageError if it is invalid, or has a key twice."""
    try:
        return decode_unique_keys(read_text(path).encode())
    except RepeatedKeyError as fault:
        raise UsageError(f"{path}: {fault}; leave one of them.") from None
    except ValueError as fault:
        raise UsageError(f"{path} is not valid JSON: {fault}.") from None


def read_yaml(path: Path) -> Any:
    """Read a YAML file; UsageError if it is invalid, or has a key twice, because one value would be lost."""
    try:
        found = decode_yaml(decode_text(read_bytes(path, YAML_LIMIT)))
    except ValueError as fault:
        raise UsageError(f"{path} is not valid YAML: {fault}.") from None
    if found.doubtful:
        raise UsageError(
            f"{path}: {quote_names(found.doubtful)} has two values in one place; leave the one that is meant."
        )
    return found.value


def looks_like_json(path: Path, fits: Callable[[Any], bool]) -> bool:
    """Whether a file is JSON that fits. Never raises, for use in `recognises`."""
    try:
        return fits(read_json(path))
    except (UsageError, OSError, ValueError):
        return False


def resolve_within(root: Path, relative: str, where: str) -> Path:
    """Resolve a relative path below a folder; UsageError if it leads outside, by itself or through links."""
    pure = PurePosixPath(relative.replace("\\", "/"))
    try:
        place = (root / pure).resolve()
    except (OSError, ValueError, RuntimeError):
        place = Path("/")
    if pure.is_absolute() or "\0" in relative or not place.is_relative_to(root.resolve()):
        raise UsageError(f"{where}: {relative!r} leads out of {root}. Copy what it means into that folder.")
    return place


def read_tree(root: Path, *, without: Callable[[PurePosixPath], bool] = lambda _: False) -> dict[str, DraftFile]:
    """Every file below a folder by its path there, except ignored names and paths for which `without` is true.

    Links that stay within the folder are read, others are refused.
    """
    found: dict[str, DraftFile] = {}
    size = 0
    for path in _below(root, PurePosixPath(), without):
        file = read_suite_file(root / path)
        found[str(path)] = file
        size += len(file.content)
        if size > TREE_LIMIT or len(found) > TREE_FILES:
            raise UsageError(
                f"{root} holds more than {TREE_FILES:,} files or {TREE_LIMIT // 2**20} MiB. Move away what does not "
                "belong to it."
            )
    return found


def read_suite_file(path: Path) -> DraftFile:
    """Read a file with its executable bit."""
    content = read_bytes(path, TREE_LIMIT)
    return DraftFile(content=content, executable=bool(path.stat().st_mode & stat.S_IXUSR))


def _below(root: Path, folder: PurePosixPath, without: Callable[[PurePosixPath], bool]) -> Iterator[PurePosixPath]:
    if len(folder.parts) > TREE_DEPTH_LIMIT:
        raise UsageError(f"{root / folder} is more than {TREE_DEPTH_LIMIT} folders deep; name the folder itself.")
    try:
        entries = sorted(os.scandir(root / folder), key=lambda entry: os.fsencode(entry.name))
    except OSError as fault:
        raise UsageError(f"{fault.filename or root} cannot be read: {fault.strerror}.") from None
    for entry in entries:
        path = folder / entry.name
        if entry.name in IGNORED_NAMES or without(path):
            continue
        if entry.is_symlink():
            resolve_within(root, str(path), str(root))
        if entry.is_dir(follow_symlinks=False):
            yield from _below(root, path, without)
        elif entry.is_file():
            yield path


def workspace_path(path: str, where: str) -> str:
    """The path in normal form; UsageError if it leads outside, without looking at the disk."""
    pure = PurePosixPath(path.replace("\\", "/"))
    if pure.is_absolute() or ".." in pure.parts or "\0" in path or not pure.parts:
        raise UsageError(f"{where}: {path!r} leads out of the workspace; write a path within it.")
    return str(pure)


NON_BLANK_PATTERN = r"\A(?=[^\x00]*\Z)\s*\S"
"""Matches text to read or run: not blank, and without NUL characters."""

NonBlankText = Annotated[str, Meta(pattern=NON_BLANK_PATTERN, max_length=1_000_000)]

_UNKNOWN_KEY = re.compile(r"unknown field `([^`]*)`")


class ForeignTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table with known keys. An unknown key is refused: it may be a misspelt check that would be lost."""


TableT = TypeVar("TableT", bound=ForeignTable)


def convert_table(value: object, kind: type[TableT], source: Path) -> TableT:
    """Convert a value to a table; UsageError if it does not fit."""
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError as fault:
        raise UsageError(f"{source}: {fault}.{_hint(str(fault), kind)}") from None


def _hint(fault: str, kind: type[ForeignTable]) -> str:
    unknown = _UNKNOWN_KEY.search(fault)
    if unknown is None:
        return " Fix it there, and read the suite again."
    near = get_close_matches(unknown[1], set(_known_keys(inspect.type_info(kind))), n=1)
    return f" Did you mean `{near[0]}`?" if near else " Nothing would be done with it here: take it out."


def _known_keys(kind: inspect.Type) -> Iterator[str]:
    """The keys of the table and of all tables within it."""
    match kind:
        case inspect.StructType(fields=fields):
            yield from (field.encode_name for field in fields)
            for field in fields:
                yield from _known_keys(field.type)
        case inspect.ListType(item_type=item):
            yield from _known_keys(item)
        case inspect.UnionType(types=types):
            for each in types:
                yield from _known_keys(each)


def has_keys(value: Any, *keys: str) -> bool:
    """Whether a value is a table with all these keys."""
    return isinstance(value, dict) and all(key in value for key in keys)
