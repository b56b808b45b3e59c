"""Which importer reads a path: the named one, or the only one that recognises it; otherwise suggest a command that
works.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import cache
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from outweigh.errors import OutweighError, UsageError
from outweigh.plugins import adapter_names, load_adapter, load_adapters
from outweigh.ports.importers import Importer
from outweigh.store.parquet import is_own_parquet
from outweigh.store.records import PARQUET_SUFFIX, RECORDS_SUFFIX

_HEAD_BYTES = 4096
_RECORD_START = re.compile(rb'^\s*\{\s*"schema"\s*:\s*"outweigh\.')


def holds_own_records(path: Path) -> bool:
    """By how its lines begin, or by the columns of a Parquet file; a folder by any file in it."""
    if path.is_dir():
        return any(map(_has_own_lines, path.glob(f"*{RECORDS_SUFFIX}")))
    return is_own_parquet(path) if path.suffix == PARQUET_SUFFIX else _has_own_lines(path)


def _has_own_lines(path: Path) -> bool:
    try:
        if not path.is_file():  # a named pipe would keep the reader waiting
            return False
        with path.open("rb") as stream:
            return _RECORD_START.match(stream.read(_HEAD_BYTES)) is not None
    except OSError:
        return False


TABLE = "table"
TABLES = frozenset({".csv", ".tsv", ".parquet"})
"""Files that are a table whatever they hold."""

_ROW_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson"})
_FIRST_STEPS = {
    **dict.fromkeys((".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".tgz", ".7z"), "Unpack it first."),
    **dict.fromkeys(
        (".xlsx", ".xls", ".ods", ".numbers"), "Save the sheet with a row per run as CSV, and import that."
    ),
}
"""What has to be done before anything can be read, by the ending of a file's name."""

_MAX_FILES = 200
_MAX_FOLDERS = 20
"""To tell what a folder is, importers look through all of it."""

_MAX_DEPTH = 3


@cache
def installed_importers() -> tuple[Importer, ...]:
    """All that are installed, loaded once: finding them takes longer than asking every one of them."""
    return tuple(load_adapters("importer"))


def matching_importers(path: Path, importers: Sequence[Importer]) -> list[Importer]:
    """Those that recognise the path."""
    return [each for each in importers if each.recognises(path)]


def is_other_table(path: Path) -> bool:
    """Whether a file is a table by its name, and not one that outweigh wrote."""
    return path.is_file() and path.suffix.lower() in TABLES and not holds_own_records(path)


def suggest_import(path: Path) -> str:
    """The rest of a message that says nobody recognises the path."""
    if holds_own_records(path):
        return (
            "holds run records, which need no import: every verb takes them as they are, such as "
            f"`outweigh verdict {quote(str(path))} --baseline ARM --candidate ARM`."
        )
    unknown = "is of no format that is known here."
    if path.is_dir() and (inside := _formats_below(path)):
        return "\n".join(
            [f"{unknown} What is in it can be read:", *(f"  {_command(*each)}" for each in inside.items())]
        )
    if (first := _FIRST_STEPS.get(path.suffix.lower())) and path.is_file():
        return f"{unknown} {first}"
    if path.is_file() and path.suffix.lower() in _ROW_SUFFIXES:
        unknown += f" Where a row or line of it is a run: `{_command(TABLE, [path])}`."
    elif any(entry.suffix.lower() == ".json" for entry in _entries(path)):
        unknown += f" Where each JSON file in it is a run: `{_command(TABLE, [path])}`."
    ways = ", ".join(adapter_names("importer"))
    return f"{unknown} Name it: `outweigh import FORMAT {quote(str(path))} -o RUNS`, FORMAT being one of {ways}."


def describe_unread_formats(folder: Path, importer: Importer, read: frozenset[str]) -> str | None:
    """A hint about results of formats in a folder that were not `read`; None where there are none."""
    expected = {TABLE, *read, *getattr(importer, "reads_also", ())}
    others = {name: paths for name, paths in _formats_below(folder).items() if name not in expected}
    if not others:
        return None
    lines = [f"{folder} was read as {importer.name}, and holds more that was not read:"]
    return "\n".join([*lines, *(f"  {_command(*each)}" for each in others.items())])


def _command(name: str, paths: list[Path]) -> str:
    return f"outweigh import {name} {' '.join(quote(str(each)) for each in paths)} -o RUNS"


def _formats_below(folder: Path) -> dict[str, list[Path]]:
    """What is recognised below a folder, by the names of formats."""
    found: dict[str, list[Path]] = {}
    for name, path in _walk_formats(folder):
        if name is not None:
            found.setdefault(name, []).append(path)
    return found


def _walk_formats(folder: Path) -> Iterator[tuple[str | None, Path]]:
    """Every path below a folder with its format, nearest first; a folder that has a format is not entered."""
    importers = installed_importers()
    left = {True: _MAX_FOLDERS, False: _MAX_FILES}
    level = [folder]
    for _ in range(_MAX_DEPTH):
        below = []
        for path in chain.from_iterable(map(_entries, level)):
            is_folder = path.is_dir()
            if not left[is_folder]:
                continue
            left[is_folder] -= 1
            name = _format_of(path, importers)
            yield name, path
            if name is None and is_folder and not path.is_symlink():
                below.append(path)
        level = below


def _format_of(path: Path, importers: Sequence[Importer]) -> str | None:
    try:
        found = matching_importers(path, importers)
    except OutweighError:
        return None
    found = _without_parts(found)
    if len(found) == 1:
        return found[0].name
    return TABLE if not found and (is_other_table(path) or _holds_run_rows(path)) else None


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:
        return []


def split_format(what: Sequence[str]) -> tuple[str | None, list[Path]]:
    """The format, where the first argument is one, and the paths."""
    known = adapter_names("importer")
    first, *rest = what
    if first in known and (rest or not Path(first).exists()):
        if not rest:
            raise UsageError(f"`outweigh import {first}` needs a PATH to read.")
        return first, [_existing_path(path) for path in rest]
    if rest and not Path(first).exists():
        near = get_close_matches(first, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"{first!r} is neither a file nor a format; formats are {', '.join(known)}.{hint}")
    return None, [_existing_path(path) for path in what]


def choose_importer(named: str | None, path: Path, *, mapped: bool) -> Importer:
    """The importer to use. The user must name it where several recognise the path, and mostly where none does.

    A file that is a table by its name, or whose columns were `mapped`, needs no other word.
    """
    if named is not None:
        chosen: Importer = load_adapter("importer", named)
        return chosen
    found = _without_parts(matching_importers(path, installed_importers()))
    if len(found) == 1:
        return found[0]
    if found:
        ways = ", ".join(each.name for each in found)
        raise UsageError(
            f"{path} could be of more than one format. Name it: `outweigh import FORMAT {quote(str(path))} -o RUNS`, "
            f"FORMAT being one of {ways}."
        )
    if is_other_table(path) or (mapped and not holds_own_records(path)) or _holds_run_rows(path):
        table: Importer = load_adapter("importer", TABLE)
        return table
    raise UsageError(f"{path} {suggest_import(path)}")


def _without_parts(found: list[Importer]) -> list[Importer]:
    """The importers without those whose files another one reads along with its own."""
    also = {name for each in found for name in getattr(each, "reads_also", ())}
    return [each for each in found if each.name not in also] or found


class Source(NamedTuple):
    """A path with its importer, and a remark about why this is what is read."""

    path: Path
    importer: Importer
    remark: str | None = None


def choose_sources(named: str | None, path: Path, *, mapped: bool) -> list[Source]:
    """What to read of a path: the path itself, or what is in a folder of no format.

    That is clear if there is one format in the folder, if all are those of agents' sessions, or if one table in it has
    all runs.
    """
    is_unknown = named is None and path.is_dir() and not mapped and not holds_own_records(path)
    if not is_unknown or matching_importers(path, installed_importers()):
        return [Source(path, choose_importer(named, path, mapped=mapped))]
    below = _formats_below(path)
    files = below.pop(TABLE, [])
    tables = [file for file in files if _holds_run_rows(file)]
    importers = [load_adapter("importer", name) for name in below]
    are_sessions = all(getattr(each, "reads_sessions", False) for each in importers)
    if len(below) == 1 and not tables and (not are_sessions or sum(map(len, below.values())) == 1):
        ((name, paths),) = below.items()
        return [Source(each, load_adapter("importer", name)) for each in paths]
    if importers and not tables and are_sessions:
        # Each reads the whole folder and passes other files by, so that arms and tasks have the same names.
        return [Source(path, each) for each in importers]
    if not below:
        from outweigh.app.folder_tables import find_tables  # noqa: PLC0415 - only for tables

        found = find_tables(path)
        table: Importer = load_adapter("importer", TABLE)
        if found.paths:
            first, *further = found.paths
            return [Source(first, table, found.remark), *(Source(each, table) for each in further)]
    raise UsageError(f"{path} {suggest_import(path)}")


def _holds_run_rows(path: Path) -> bool:
    """Whether a file is a table with columns that could be the task and the result of a run."""
    if not path.is_file() or path.suffix.lower() not in TABLES | _ROW_SUFFIXES or holds_own_records(path):
        return False
    from outweigh.app.folder_tables import column_names  # noqa: PLC0415 - only for tables
    from outweigh.interop.table.guess_columns import may_hold_results  # noqa: PLC0415

    return may_hold_results(column_names(path))


def _existing_path(text: str) -> Path:
    path = Path(text)
    try:
        there = path.exists()
    except (OSError, ValueError):
        there = False
    if not there:
        raise UsageError(f"there is no {text}; name the file or folder that the harness left.")
    if not path.is_file() and not path.is_dir():
        raise UsageError(f"{text} is neither a file nor a folder, and it is read more than once: write it into a file.")
    return path
