"""What to do about a path that no importer recognises: there is mostly a command that reads it."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from shlex import quote

from outweigh.adapters.stores.own_records import holds_own_records
from outweigh.errors import OutweighError
from outweigh.plugins import load, names
from outweigh.ports.importers import Importer

TABLE = "table"
TABLES = frozenset({".csv", ".tsv", ".parquet"})
"""Files that are a table whatever they hold."""

_ROWS = frozenset({".json", ".jsonl", ".ndjson"})
_FIRST = {
    **dict.fromkeys((".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".tgz", ".7z"), "Unpack it first."),
    **dict.fromkeys(
        (".xlsx", ".xls", ".ods", ".numbers"), "Save the sheet with a row per run as CSV, and import that."
    ),
}
"""What has to be done before anything can be read, by the ending of a file's name."""

_MOST_FILES = 200
_MOST_FOLDERS = 20
"""To tell what a folder is, importers look through all of it."""

_DEEPEST = 3
_SHOWN = 5


def known_importers() -> list[Importer]:
    """All that are installed; to look for them takes longer than to ask one."""
    return [load("importer", name) for name in names("importer")]


def fitting(path: Path, importers: Sequence[Importer]) -> list[Importer]:
    """Those that recognise the path."""
    return [each for each in importers if each.recognises(path)]


def is_foreign_table(path: Path) -> bool:
    """Whether a file is a table of somebody's, by its name, and none that we wrote."""
    return path.is_file() and path.suffix.lower() in TABLES and not holds_own_records(path)


def way_out(path: Path) -> str:
    """The rest of a message that says nobody recognises the path."""
    if holds_own_records(path):
        return (
            "holds run records, which need no import: every verb takes them as they are, such as "
            f"`outweigh verdict {quote(str(path))} --baseline ARM --candidate ARM`."
        )
    unknown = "is of no format that is known here."
    if path.is_dir() and (inside := _inside(path)):
        return "\n".join(
            [f"{unknown} What is in it can be read:", *(f"  {_command(*each)}" for each in inside.items())]
        )
    if (first := _FIRST.get(path.suffix.lower())) and path.is_file():
        return f"{unknown} {first}"
    if path.is_file() and path.suffix.lower() in _ROWS:
        unknown += f" Where a row or line of it is a run: `{_command(TABLE, [path])}`."
    elif any(entry.suffix.lower() == ".json" for entry in _entries(path)):
        unknown += f" Where each JSON file in it is a run: `{_command(TABLE, [path])}`."
    ways = ", ".join(names("importer"))
    return f"{unknown} Name it: `outweigh import FORMAT {quote(str(path))} -o RUNS`, FORMAT being one of {ways}."


def left_aside(folder: Path, importer: Importer) -> str | None:
    """Words about results of other formats that lie in a folder which is read as one; None where there are none."""
    expected = {TABLE, importer.name, *getattr(importer, "reads_also", ())}
    others = {name: paths for name, paths in _inside(folder).items() if name not in expected}
    if not others:
        return None
    lines = [f"{folder} was read as {importer.name}, and holds more that was not read:"]
    return "\n".join([*lines, *(f"  {_command(*each)}" for each in others.items())])


def _command(name: str, paths: list[Path]) -> str:
    shown = " ".join(quote(str(each)) for each in paths[:_SHOWN])
    more = f" (and {len(paths) - _SHOWN:,} more)" if len(paths) > _SHOWN else ""
    return f"outweigh import {name} {shown} -o RUNS{more}"


def _inside(folder: Path) -> dict[str, list[Path]]:
    """What is recognised below a folder, by the names of formats."""
    found: dict[str, list[Path]] = {}
    for name, path in _looked_at(folder):
        if name is not None:
            found.setdefault(name, []).append(path)
    return found


def _looked_at(folder: Path) -> Iterator[tuple[str | None, Path]]:
    """What is near first, and its format where it has one; a folder that has one is not looked into."""
    importers = known_importers()
    left = {True: _MOST_FOLDERS, False: _MOST_FILES}
    level = [folder]
    for _ in range(_DEEPEST):
        below = []
        for path in chain.from_iterable(map(_entries, level)):
            is_folder = path.is_dir()
            if not left[is_folder]:
                continue
            left[is_folder] -= 1
            name = _format(path, importers)
            yield name, path
            if name is None and is_folder and not path.is_symlink():
                below.append(path)
        level = below


def _format(path: Path, importers: Sequence[Importer]) -> str | None:
    try:
        found = fitting(path, importers)
    except OutweighError:
        return None
    if len(found) == 1:
        return found[0].name
    return TABLE if not found and is_foreign_table(path) else None


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:
        return []
