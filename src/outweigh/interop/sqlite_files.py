"""SQLite databases that other programs wrote, opened to read only, with nothing in them that is computed."""

from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from outweigh.errors import EvidenceError
from outweigh.interop.result_files import LINE_LIMIT, read_head

if TYPE_CHECKING:
    import sqlite3

DATABASE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
_MAGIC = b"SQLite format 3\0"
DatabaseRow = dict[str, Any]


def is_sqlite_file(path: Path) -> bool:
    """Whether a file is a database by its name and its first bytes."""
    return path.suffix in DATABASE_SUFFIXES and read_head(path, 16).startswith(_MAGIC)


@contextmanager
def open_sqlite(path: Path, program: str, tables: Collection[str]) -> Iterator["sqlite3.Connection"]:
    """Open a database of a program to read these tables; whatever SQLite refuses is an EvidenceError."""
    import sqlite3  # noqa: PLC0415 - all importers are loaded to detect a format, and few sources are databases

    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            database.text_factory = lambda content: content.decode("utf-8", "replace")
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LINE_LIMIT)
            _refuse_computed_tables(database, path, program, sorted(tables))
            yield database
    except (sqlite3.Error, OverflowError) as fault:
        raise EvidenceError(f"{path} cannot be read as a database of {program}: {fault}.") from fault


def _refuse_computed_tables(database: "sqlite3.Connection", path: Path, program: str, tables: list[str]) -> None:
    """Refuse views, virtual tables and tables with a virtual column: a few bytes could expand beyond any memory."""
    database.execute("PRAGMA trusted_schema = OFF")
    query = f"""
    SELECT tables.name AS name FROM sqlite_master AS tables, pragma_table_xinfo(tables.name) AS columns
    WHERE tables.name IN ({", ".join("?" * len(tables))}) AND (tables.rootpage = 0 OR columns.hidden = 2) LIMIT 1
    """
    found = next(query_rows(database, query, tuple(tables)), None)
    if found is not None:
        raise EvidenceError(f"{path}: table {found['name']!r} is computed as it is read; no table of {program} is.")


def table_names(database: "sqlite3.Connection") -> set[str]:
    """The names of all tables."""
    return {str(row["name"]) for row in query_rows(database, "SELECT name FROM sqlite_master WHERE type = 'table'")}


def query_rows(database: "sqlite3.Connection", query: str, values: tuple[Any, ...] = ()) -> Iterator[DatabaseRow]:
    """The rows of a query, one by one."""
    for row in database.execute(query, values):
        yield dict(row)
