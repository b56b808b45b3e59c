"""What was imported into a folder: from where, how, and what could not be read. Kept in `imports.json` beside it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from outweigh.adapters.stores.whole_file import write_whole
from outweigh.errors import EvidenceError
from outweigh.record.codec import InvalidLine

MANIFEST_FILE = "imports.json"
RECORDS_PREFIX = "runs-import-"


class UnreadRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of the source that became no record; line 0 is the file as a whole."""

    source: str
    line: int
    reason: str


class Import(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One source that was imported. `key` is the hash of its content, its format and the user's options."""

    key: str
    format: str
    source: str
    source_sha256: str
    options: dict[str, Any]
    outweigh_version: str
    file: str | None
    runs: int
    judgments: int
    known_before: int
    fields: dict[str, str]
    unreadable: tuple[UnreadRow, ...]
    warnings: tuple[str, ...]
    aggregates: tuple[dict[str, Any], ...]
    facts: dict[str, Any]


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All imports of a folder, oldest first."""

    schema: Literal["outweigh.imports/1"]
    imports: tuple[Import, ...]


def recall_imports(folder: Path) -> Sequence[Import]:
    """What was imported into a folder; nothing where it is no such folder."""
    try:
        return msgspec.json.decode((folder / MANIFEST_FILE).read_bytes(), type=Manifest).imports
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise EvidenceError(
            f"{folder / MANIFEST_FILE} cannot be read: {fault}. It was damaged, or written by another release: import "
            "into a new folder."
        ) from fault


def unfinished_imports(folder: Path) -> list[Path]:
    """Files of imports that were ended before the manifest spoke of them: what is missing in them is not known."""
    files = sorted(folder.glob(f"{RECORDS_PREFIX}*.jsonl"))
    finished = {each.file for each in recall_imports(folder)} if files else set()
    return [file for file in files if file.name not in finished]


def remember_imports(folder: Path, imports: Sequence[Import]) -> None:
    """Write the manifest anew."""
    manifest = Manifest(schema="outweigh.imports/1", imports=tuple(imports))
    content = msgspec.json.encode(_printable(msgspec.to_builtins(manifest)))
    write_whole(folder / MANIFEST_FILE, [msgspec.json.format(content, indent=2), b"\n"])


def _printable(value: Any) -> Any:
    """The same without halves of characters: names of files may hold them, JSON may not."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_printable(key): _printable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(each) for each in value]
    return value


def unread_rows(folder: Path) -> list[InvalidLine]:
    """Every row that the imports of a folder went on without."""
    return [
        InvalidLine(row.source, row.line, row.reason)
        for imported in recall_imports(folder)
        for row in imported.unreadable
    ]
