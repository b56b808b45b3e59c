"""The port of importers: what other programs recorded, as records."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from outweigh.errors import EvidenceError
from outweigh.model.codec import InvalidLine
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord

UNREAD_ROW_LIMIT = 100_000
"""Rows that became no record are kept with their places; a source with more of them is something else."""


class FieldOrigin(StrEnum):
    """How an importer comes by a field of a record."""

    REPORTED = "reported"
    DERIVED = "derived"
    UNKNOWN = "unknown"


@dataclass(slots=True)
class ImportNotes:
    """What an importer has to say beside the records. Nothing that was found in a source is dropped in silence.

    `unreadable` are the rows that became no record, with their place and the reason. `aggregates` are results that
    stand for many runs and are never made up into some. `facts` are figures that the source states about itself, so
    that anybody can compare them with what is computed here.
    """

    unreadable: list[InvalidLine] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)
    aggregates: list[Mapping[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def unread(self, source: object, line: int, reason: str) -> None:
        """Keep the place of a row that became no record; line 0 is the file as a whole."""
        if len(self.unreadable) >= UNREAD_ROW_LIMIT:
            raise EvidenceError(
                f"{source} is given up: more than {UNREAD_ROW_LIMIT:,} rows cannot be read, the first because it is "
                f"{self.unreadable[0].reason}. Is it of the format that it is read as?"
            )
        self.unreadable.append(InvalidLine(str(source), line, reason))

    def warn(self, sentence: str) -> None:
        """Say something once that a reader of the results must know."""
        self.warnings[sentence] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What is to be imported, and what the user says about it.

    `arm` names the arm where the source does not. `tasks` are all tasks of a fixed suite: one that the source leaves
    out was failed, not skipped; None where nobody said. `columns` maps fields of a record to places of a table.
    `keep` puts an artifact beside the records and returns the hash it is found by.
    """

    path: Path
    arm: str | None
    tasks: frozenset[str] | None
    columns: Mapping[str, str]
    keep: Callable[[bytes], str]


class Importer(Protocol):
    """Reads what another program wrote as records, exactly. Bad input is a note or an EvidenceError, nothing else.

    One that makes use of a request's `tasks` or `columns` has an attribute `takes`, the set of those names: what would
    be ignored is refused before anything is read. One that reads files of other formats along with its own, such as the
    trajectories of its trials, names those formats in an attribute `reads_also`.
    """

    @property
    def name(self) -> str:
        """The format, as `outweigh import` takes it."""

    @property
    def fields(self) -> Mapping[str, FieldOrigin]:
        """How each field of a RunRecord is come by; a field that is not here is unknown."""

    def recognises(self, path: Path) -> bool:
        """Whether this looks like its format, by a short look that never raises and is never wrong about others'."""

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord | Judgment]:
        """Record by record, in memory that does not grow with the source. The same source gives the same records."""
