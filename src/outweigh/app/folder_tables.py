"""Which tables of a folder are its runs, where nothing in it is of a format of its own: the only table, all that have
the same columns, or the one that the others are parts of.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from outweigh.errors import OutweighError, quote_names
from outweigh.interop.column_names import match_name, name_words
from outweigh.interop.result_files import read_json, walk_files
from outweigh.interop.row_places import holds_result
from outweigh.interop.table.guess_columns import may_hold_results
from outweigh.interop.table_rows import sampled_columns, table_rows
from outweigh.ports.importers import ImportNotes

TABLES = frozenset({".csv", ".tsv", ".parquet"})
"""Files that are a table whatever they hold."""

ROW_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson"})
_SUFFIXES = tuple(sorted(TABLES | ROW_SUFFIXES))
_MOST_FILES = 500
_OTHER_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages"})
_RUN = ["a run"]
"""Stands for the columns of a document that is a run itself: runs of a folder do not all have the same."""

_BY_TYPES = (".parquet", ".jsonl", ".ndjson", ".json", ".csv", ".tsv")
"""Of the same rows in several files, the one that keeps the types of values is read."""


class FolderTables(NamedTuple):
    """What to read as tables of runs, and a remark about what is left out. `paths` is empty where that is not clear."""

    paths: tuple[Path, ...]
    remark: str | None = None


def find_tables(folder: Path) -> FolderTables:
    """The tables of runs in a folder."""
    files = list(islice(_row_files(folder), _MOST_FILES))
    columns = {file: _RUN if _is_run(file) else column_names(file) for file in files}
    tables = [file for file in files if columns[file] is _RUN or may_hold_results(columns[file])]
    if not tables:
        certain = [file for file in files if file.suffix.lower() in TABLES]
        return FolderTables(tuple(certain) if len(certain) == 1 else ())
    if len(tables) == 1 and columns[tables[0]] is not _RUN:
        return FolderTables((tables[0],))
    if len({frozenset(columns[file]) for file in tables}) == 1:
        around = _folder_of(tables)
        if all(around not in file.parents for file in files if file not in tables):
            return FolderTables((around,))
    documents = [file for file in tables if columns[file] is _RUN]
    return _documents_with_all_runs(documents, tables, files) or _largest(tables)


def column_names(path: Path) -> list[str]:
    """The columns of a table; none where it cannot be read."""
    try:
        return list(sampled_columns(path))
    except OutweighError:
        return []


def _is_run(file: Path) -> bool:
    """Whether a file is a JSON object that is a run itself."""
    if file.suffix.lower() != ".json":
        return False
    try:
        document = read_json(file, ImportNotes())
    except OutweighError:
        return False
    return isinstance(document, dict) and holds_result(document)


def _row_files(folder: Path) -> Iterator[Path]:
    found = walk_files(folder, lambda name: name.lower().endswith(_SUFFIXES), skipped_folders=_OTHER_FOLDERS)
    return (file for file in found if not any(part.startswith(".") for part in file.relative_to(folder).parts))


def _folder_of(files: Sequence[Path]) -> Path:
    """The deepest folder that all files are in."""
    return next(parent for parent in files[0].parents if all(parent in file.parents for file in files))


def _documents_with_all_runs(
    documents: Sequence[Path], tables: Sequence[Path], files: Sequence[Path]
) -> FolderTables | None:
    """The folders of documents with a run each, which say more than tables of the same runs beside them."""
    if len(documents) < 2:
        return None
    others = [table for table in tables if table not in documents]
    runs = frozenset[str]().union(*map(_run_names, documents))
    known = [_run_names(table) for table in others]
    folders = _folders_of(documents, [file for file in files if file not in documents])
    if not folders or not all(found and found <= runs for found in known):
        return None
    if len(folders) > 1 and not all(map(_names_arm, documents)):
        return None  # their arms may be the folders, which only a reading of all of them tells
    return FolderTables(tuple(folders), _describe_copies(others, folders[0]) if others else None)


def _folders_of(documents: Sequence[Path], others: Sequence[Path]) -> list[Path]:
    """The outermost folders that hold several of the documents and nothing else; none where there are no such."""
    around = _folder_of(documents)
    if all(around not in file.parents for file in others):
        return [around]
    groups: dict[str, list[Path]] = defaultdict(list)
    for document in documents:
        groups[document.relative_to(around).parts[0]].append(document)
    found = [_folders_of(group, others) if len(group) > 1 else [] for group in groups.values()]
    return [folder for folders in found for folder in folders] if all(found) else []


def _names_arm(document: Path) -> bool:
    found = read_json(document, ImportNotes())
    return any(match.field == "arm" and match.rank < 2 for name in found for match in match_name(name))


def _describe_copies(others: Sequence[Path], whole: Path) -> str:
    named = quote_names([str(table) for table in others])
    return f"{named} {'have' if len(others) > 1 else 'has'} runs of {whole} again; not read."


def _largest(tables: Sequence[Path]) -> FolderTables:
    """The table with every run that the others have, by the names of runs."""
    runs = {table: _run_names(table) for table in tables}
    most = max(map(len, runs.values()))
    whole = min(
        (table for table in tables if len(runs[table]) == most), key=lambda table: _BY_TYPES.index(table.suffix.lower())
    )
    others = [table for table in tables if table != whole]
    if not all(runs[table] and runs[table] <= runs[whole] for table in others):
        return FolderTables(())
    return FolderTables((whole,), _describe_copies(others, whole))


def _run_names(table: Path) -> frozenset[str]:
    """What the runs of a table are called; nothing where it has no column, or several, that could say it."""
    if _is_run(table):
        document = read_json(table, ImportNotes())
        return frozenset(str(value) for name, value in document.items() if _is_run_name(name) or _is_other_id(name))
    columns = column_names(table)
    names = [name for name in columns if _is_run_name(name)] or [name for name in columns if _is_other_id(name)]
    if len(names) != 1:
        return frozenset()
    cells = [
        str(cell) for row in table_rows(table, ImportNotes()) if (cell := row.cells.get(names[0])) not in (None, "")
    ]
    return frozenset(cells) if len(set(cells)) == len(cells) else frozenset()


def _is_run_name(column: str) -> bool:
    return any(match.field == "run_id" and match.rank < 2 for match in match_name(column))


def _is_other_id(column: str) -> bool:
    """Whether a column is an id, and not that of a task, an arm or anything else that several runs share."""
    return name_words(column)[-1:] == ("id",) and not match_name(column)
