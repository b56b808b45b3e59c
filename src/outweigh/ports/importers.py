"""The port of importers: results that other programs wrote, read as records."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from outweigh.errors import EvidenceError
from outweigh.model.codec import InvalidLine
from outweigh.model.judgment import Judgment
from outweigh.model.run_columns import RunColumns
from outweigh.model.run_record import RunRecord

UNREAD_ROW_LIMIT = 100_000
"""Unreadable rows are listed with their places up to this many; a source with more is taken for another format."""


class FieldOrigin(StrEnum):
    """Where an importer gets a field of a record from."""

    REPORTED = "reported"
    DERIVED = "derived"
    UNKNOWN = "unknown"


@dataclass(slots=True)
class ImportNotes:
    """What an importer reports besides the records, so that nothing in a source is dropped silently.

    `unreadable` are the rows that did not become a record, with place and reason. `aggregates` are results over many
    runs, which are never expanded into runs. `facts` are figures that the source states about itself, for comparison
    with what is computed from the records.

    `arm_facts` are those that the source states about one arm; the table of arms shows them beside our own. These names
    are shown in the right unit: `accuracy` and `pass_rate` (shares from 0 to 1), `passes`, `resolved`, `failures`,
    `errors`, `runs` and `tasks` (counts), `cost_usd`, `tokens`, `duration_seconds`. Others are shown as they are.
    """

    unreadable: list[InvalidLine] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)
    aggregates: list[Mapping[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    arm_facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    _topics: set[str | None] = field(default_factory=set, repr=False, compare=False)

    def unread(self, source: object, line: int, reason: str) -> None:
        """Note a row that did not become a record; line 0 means the whole file."""
        if len(self.unreadable) >= UNREAD_ROW_LIMIT:
            raise EvidenceError(
                f"{source} is given up: more than {UNREAD_ROW_LIMIT:,} rows cannot be read, the first because it is "
                f"{self.unreadable[0].reason}. Is it of the format that it is read as?"
            )
        self.unreadable.append(InvalidLine(str(source), line, reason))

    def warn(self, sentence: str, *, topic: str | None = None) -> None:
        """Add a warning for readers of the results; a repeated one, or a further one of a topic, is left out."""
        if topic is None or topic not in self._topics:
            self.warnings[sentence] = None
            self._topics.add(topic)

    def state(self, arm: str, name: str, value: Any) -> None:
        """Note a figure that the source states about an arm; where it states several, all are kept."""
        stated = self.arm_facts.setdefault(arm, {})
        if name not in stated:
            stated[name] = value
        elif isinstance(stated[name], list):
            stated[name].append(value)
        else:
            stated[name] = [stated[name], value]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What to import, with the user's options.

    `arm` names the arm where the source does not. `tasks` are all tasks of a fixed suite, so that a task missing from
    the source counts as failed; None where the user did not list them. `columns` maps fields of a record to columns of
    a table. `keep` stores an artifact and returns its hash. `transcripts` asks for those that take long to read.
    `model` is the model of the runs whose transcript does not name it. `rows` is where a JSON document has the array of
    runs, and `where` are values that a row must have to be read, by column.
    """

    path: Path
    arm: str | None
    tasks: frozenset[str] | None
    columns: Mapping[str, str]
    keep: Callable[[bytes], str]
    transcripts: bool = False
    model: str | None = None
    rows: str | None = None
    where: tuple[tuple[str, str], ...] = ()


class Importer(Protocol):
    """Reads the results of another program as records. Bad input becomes a note or an EvidenceError.

    Optional attributes: `takes`, a set of `tasks`, `columns`, `rows`, `where`, `transcripts` and `model`, says which
    options the importer uses; the others are rejected before anything is read. `reads_also` names other formats whose
    files it reads along with its own, such as the trajectories of its trials.
    """

    @property
    def name(self) -> str:
        """The format, as `outweigh import` takes it."""

    @property
    def fields(self) -> Mapping[str, FieldOrigin]:
        """Where each field of a RunRecord comes from; a field that is not listed is unknown."""

    def recognises(self, path: Path) -> bool:
        """Whether the path looks like this format. Must be quick, never raise, and never claim another format."""

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord | Judgment]:
        """Yield records in memory that does not grow with the source; the same source gives the same records."""


@runtime_checkable
class BlockImporter(Protocol):
    """An importer that can also read many runs at once, which costs less for each."""

    def read_blocks(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunColumns | RunRecord | Judgment]:
        """The records of `read`, in the same order; runs that are alike may be columns."""
