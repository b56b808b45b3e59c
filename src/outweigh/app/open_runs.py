"""Open what a reading command names: stores, files of records, and tables of other programs, read without an import."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import msgspec

from outweigh.errors import UsageError
from outweigh.model.codec import LocatedRecord, OnInvalid, looks_collected
from outweigh.store.bundled_stores import expand_bundle
from outweigh.store.dataset_manifest import is_dataset
from outweigh.store.records import PARQUET_SUFFIX, RECORDS_SUFFIX, STANDARD_INPUT
from outweigh.store.store import Store
from outweigh.store.store_set import StoreSet

if TYPE_CHECKING:
    from outweigh.interop.table.guess_columns import GuessedColumns

_PLAIN_TABLES = frozenset({".csv", ".tsv"})
_ROWS_IN_JSON = frozenset({RECORDS_SUFFIX, ".ndjson", ".json"})
_HEAD_BYTES = 100_000

Notify = Callable[[str], None]


def open_runs(paths: Sequence[str], columns: Mapping[str, str], command: str, notify: Notify) -> StoreSet:
    """The stores at these paths.

    `columns` says which column of a table is which field. The others are guessed, and `notify` hears what was guessed.
    `command` is the command line, for errors that show what to add to it.
    """
    if any(is_dataset(Path(path)) for path in paths):
        return open_stores(paths)
    paths = [name for path in paths for name in expand_bundle(path)]
    tables = [path for path in dict.fromkeys(paths) if _is_table(path, mapped=bool(columns))]
    if columns and not tables:
        raise UsageError("--map is about the columns of a table (.csv, .tsv, .jsonl, .json, .parquet); RUNS is none.")
    refuse_tables_as_records([path for path in paths if path not in tables])
    opened = {path: Store.open(path) for path in paths} | {
        path: _open_table(Path(path), columns, command, notify) for path in tables
    }
    return StoreSet([opened[path] for path in paths])


def open_stores(paths: Sequence[str | os.PathLike[str]]) -> StoreSet:
    """The stores at these paths, or those that a dataset was made of."""
    if not any(is_dataset(Path(path)) for path in paths):
        refuse_tables_as_records(paths)
        return StoreSet.open(paths)
    from outweigh.store.dataset_stores import open_dataset  # noqa: PLC0415 - needs an extra

    return open_dataset(paths)


def refuse_tables_as_records(paths: Sequence[str | os.PathLike[str]]) -> None:
    """UsageError where rows look like collected runs and say more than these can: it would be unknown."""
    for path in map(Path, paths):
        is_folder = _holds(path.is_dir)
        files = sorted(path.glob(f"*{RECORDS_SUFFIX}")) if is_folder else [path]
        for file in files:
            if file.suffix == RECORDS_SUFFIX and _is_file(file) and _is_collected_with_more(file):
                name = path.resolve().name if is_folder else path.stem
                raise UsageError(
                    f"{file} is a table with columns that collected runs do not have, which would be unknown here. "
                    f"Import it, then read what was imported:\n"
                    f"  outweigh import {quote(str(path))} -o outweigh-runs/{quote(name)}"
                )


def _is_collected_with_more(file: Path) -> bool:
    row = _first_row(file)
    return row is not None and "schema" not in row and looks_collected(row) and _says_more_than_collected(file)


def _is_table(path: str, *, mapped: bool) -> bool:
    """Whether a file is a table of another program; by its name, and for JSON by its first row."""
    suffix = Path(path).suffix.lower()
    if path == STANDARD_INPUT or not _is_file(Path(path)):
        return False
    if suffix in _PLAIN_TABLES:
        return True
    if suffix == PARQUET_SUFFIX:
        from outweigh.store.parquet import is_own_parquet  # noqa: PLC0415 - needs an extra

        return not is_own_parquet(Path(path))
    return suffix in _ROWS_IN_JSON and _holds_foreign_rows(Path(path), mapped=mapped)


def _is_file(path: Path) -> bool:
    return _holds(path.is_file)


def _holds(is_so: Callable[[], bool]) -> bool:
    """What the system says of a path; False where it refuses the path, as whoever reads it will say."""
    try:
        return is_so()
    except (OSError, ValueError):
        return False


def _holds_foreign_rows(path: Path, *, mapped: bool) -> bool:
    """Whether the first row is neither a record nor a flat run, and has a column that could name its task."""
    row = _first_row(path)
    if row is None or "schema" in row:
        return False
    if path.suffix == RECORDS_SUFFIX and looks_collected(row):
        return _says_more_than_collected(path)
    from outweigh.interop.table.guess_columns import may_hold_runs  # noqa: PLC0415 - only for tables

    return mapped or may_hold_runs(row)


def _says_more_than_collected(path: Path) -> bool:
    from outweigh.interop.column_names import says_more_than_collected  # noqa: PLC0415 - only for rows in JSON
    from outweigh.interop.table_rows import sampled_columns  # noqa: PLC0415 - likewise

    return says_more_than_collected(sampled_columns(path))


def _first_row(path: Path) -> dict[str, object] | None:
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
        if path.suffix.lower() == ".json":
            rows = msgspec.json.decode(path.read_bytes()) if head.startswith(b"[") else []
            found = rows[0] if rows else None
        else:
            found = msgspec.json.decode(head.partition(b"\n")[0])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # whoever reads the records says why
        return None
    return found if isinstance(found, dict) else None


def _open_table(path: Path, columns: Mapping[str, str], command: str, notify: Notify) -> Store:
    from outweigh.app.choose_importer import TABLE, installed_importers, matching_importers  # noqa: PLC0415
    from outweigh.interop.table.guess_columns import guess_columns  # noqa: PLC0415 - only for tables

    formats = [each.name for each in matching_importers(path, installed_importers()) if each.name != TABLE]
    if formats and not columns:
        raise UsageError(
            f"{path} is of the format {formats[0]}. Import it, then read what was imported:\n"
            f"  outweigh import {quote(str(path))} -o outweigh-runs/{quote(path.stem)}"
        )
    guessed = guess_columns(path, columns, command)
    for line in describe_columns(path, guessed):
        notify(line)
    return Store(str(path), TableRecords(path, guessed.mapping, notify), path)


def describe_columns(path: Path, guessed: "GuessedColumns") -> Iterator[str]:
    """Which column was taken for which field, by the names that `--map` takes."""
    yield f"{path} is read as a table with one run per row:"
    width = max(map(len, guessed.fields))
    for field, column in guessed.fields.items():
        told = f" ({', '.join(guessed.arms[:5])}{', …' if len(guessed.arms) > 5 else ''})" if field == "arm" else ""
        yield f"  {field:<{width}}  {column}{told}"
    if guessed.unused:
        more = f" and {len(guessed.unused) - 10} more" if len(guessed.unused) > 10 else ""
        yield f"  {'not used':<{width}}  {', '.join(guessed.unused[:10])}{more}"
    yield "  (--map FIELD=COLUMN sets a column, --map FIELD= leaves one out)"


class TableRecords:
    """The runs of a table, row by row. A row that cannot be read is treated like a line that cannot be read."""

    def __init__(self, path: Path, columns: Mapping[str, str], notify: Notify) -> None:
        self._path = path
        self._columns = columns
        self._notify = notify

    def records(self, on_invalid: OnInvalid) -> Iterator[LocatedRecord]:
        """Read the rows; nothing is kept of them."""
        from outweigh.interop.table.importer import TableImporter  # noqa: PLC0415 - only for tables
        from outweigh.ports.importers import ImportNotes, ImportRequest  # noqa: PLC0415

        notes = ImportNotes()
        request = ImportRequest(path=self._path, arm=None, tasks=None, columns=self._columns, keep=lambda _: "")
        for number, run in enumerate(TableImporter().read(request, notes), start=1):
            yield LocatedRecord(run, str(self._path), number)
        for row in notes.unreadable:
            on_invalid(row)
        for warning in notes.warnings:
            self._notify(warning)
