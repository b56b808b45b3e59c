"""The contract of importers, on valid and corrupted input: no invented figure, no run lost without a note, no endless
work.
"""

import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import msgspec

from outweigh.errors import OutweighError
from outweigh.model.codec import decode, encode
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import Importer, ImportNotes, ImportRequest
from outweigh.testing.corrupt_source import corrupt_source_files, drop_figure, drop_value, read_source_files

MAX_CALLS = 5_000_000
"""Function calls allowed for a source of a few hundred kilobytes; ordinary imports need a hundredth of that."""

ImportedRecords = Iterable[RunRecord | Judgment]
FigureCounts = Mapping[str, Counter[float]]


class TooManyCallsError(Exception):
    """An importer made more function calls than any source of this size needs."""


class CallCounter:
    """Counts function calls and stops at a limit."""

    def __init__(self, most_calls: int) -> None:
        self.calls = 0
        self._most_calls = most_calls

    def count(self, _frame: FrameType, event: str, _argument: Any) -> None:
        """The profile function: called for every call."""
        self.calls += event in ("call", "c_call")
        if self.calls > self._most_calls:
            sys.setprofile(None)
            raise TooManyCallsError(f"more than {self._most_calls:,} calls")


@contextmanager
def limit_calls(most_calls: int = MAX_CALLS) -> Iterator[CallCounter]:
    """Stop endless work. Calls are counted, not seconds, so that a slow machine fails no test."""
    work, before = CallCounter(most_calls), sys.getprofile()
    sys.setprofile(work.count)
    try:
        yield work
    finally:
        sys.setprofile(before)


def count_figures(records: ImportedRecords) -> FigureCounts:
    """How often records state each number of tokens, dollars, seconds and steps."""
    found: dict[str, Counter[float]] = {}
    for record in records:
        for name, value in _record_figures(record):
            if value is not None:
                found.setdefault(name, Counter())[value] += 1
    return found


def invented_figures(
    before: ImportedRecords, after: ImportedRecords, alternatives: frozenset[str] = frozenset()
) -> list[str]:
    """Figures that appear only after a number was removed from the source, except those with an alternative.

    A new figure is a sum of what was left, or a 0 in place of an unknown.
    """
    known = count_figures(before)
    return [
        f"{name}: {value}"
        for name, values in count_figures(after).items()
        for value, times in values.items()
        if name not in alternatives and times > known.get(name, Counter())[value]
    ]


def is_silent_loss(before: int, after: int, notes_before: ImportNotes, notes_after: ImportNotes) -> bool:
    """Whether records were lost without a new warning or note."""
    warned = notes_after.warnings.keys() - notes_before.warnings.keys()
    return after < before and not warned and len(notes_after.unreadable) <= len(notes_before.unreadable)


def can_be_stored(record: RunRecord | Judgment, notes: ImportNotes) -> bool:
    """Whether a record survives encoding and decoding; one that cannot be encoded becomes a note, as in an import."""
    try:
        assert decode(encode(record)) == record
    except (ValueError, TypeError, OverflowError, RecursionError, msgspec.MsgspecError) as fault:
        notes.unread(record.run_id, 0, str(fault))
        return False
    return True


def _record_figures(record: RunRecord | Judgment) -> Iterator[tuple[str, float | None]]:
    usage = record.usage
    yield from ((name, getattr(usage, name)) for name in usage.__struct_fields__)
    yield "cost", record.cost.usd
    yield "duration_seconds", record.duration_seconds
    if isinstance(record, RunRecord):
        for name in ("setup_seconds", "checks_seconds", "step_count", "tool_call_count", "check_command_count"):
            yield name, getattr(record, name)
    else:
        yield from (("criterion", criterion.score) for criterion in record.criteria)


RECORD_FIELDS = frozenset(RunRecord.__struct_fields__)


def import_request(path: Path, **options: object) -> ImportRequest:
    """An import request for a path; artifacts are hashed and dropped."""
    asked: dict[str, Any] = {
        "arm": None,
        "tasks": None,
        "columns": {},
        "keep": lambda content: sha256(content).hexdigest(),
    }
    return ImportRequest(path=path, **(asked | options))


def read_all(importer: Importer, path: Path, **options: object) -> tuple[list[RunRecord | Judgment], ImportNotes]:
    """Everything that an importer reads from a path, and its notes."""
    notes = ImportNotes()
    return list(importer.read(import_request(path, **options), notes)), notes


class ImporterContract(ABC):
    """Claims about an importer, whatever its source contains.

    `alternatives` are figures that the format states in two places, or as a sum of which a part may be missing: if one
    is removed, another may take its place.
    """

    mutations = 30
    alternatives: frozenset[str] = frozenset()

    @abstractmethod
    def importer(self) -> Importer:
        """The importer under test."""

    @abstractmethod
    def example(self, folder: Path) -> Path:
        """Write a small valid source below a folder and return the path that a user would name."""

    def options(self) -> dict[str, object]:
        """The options that a user must give to import the example."""
        return {}

    def test_recognises_its_own(self, tmp_path: Path) -> None:
        """A user need not name the format."""
        assert self.importer().recognises(self.example(tmp_path))

    def test_recognises_nothing_strange(self, tmp_path: Path) -> None:
        """Neither a missing path, nor an empty file, nor noise."""
        (tmp_path / "empty").mkdir()
        strange = {
            "none": b"",
            "noise": bytes(range(256)),
            "cut": b"PK\x03\x04a\rb\0,\n",
            "a.json": b"{}",
            "b.jsonl": b"[]\n",
        }
        for name, content in strange.items():
            (tmp_path / name).write_bytes(content)
        (tmp_path / "loop").symlink_to(tmp_path / "loop")

        for name in ("empty", *strange, "loop", "missing"):
            assert not self.importer().recognises(tmp_path / name), name

    def test_says_of_known_fields_where_they_come_from(self) -> None:
        """`fields` names only fields of run records."""
        assert self.importer().fields.keys() <= RECORD_FIELDS

    def test_gives_records_that_can_be_kept_each_under_an_id_of_its_own(self, tmp_path: Path) -> None:
        """Records survive encoding and decoding, and no two runs share an id and attempt."""
        found, notes = read_all(self.importer(), self.example(tmp_path), **self.options())

        assert found or notes.aggregates
        assert [decode(encode(record)) for record in found] == found
        runs = [(record.run_id, record.attempt) for record in found if isinstance(record, RunRecord)]
        assert len(set(runs)) == len(runs)

    def test_reads_the_same_twice(self, tmp_path: Path) -> None:
        """So that importing again adds nothing."""
        path = self.example(tmp_path)

        assert read_all(self.importer(), path, **self.options()) == read_all(self.importer(), path, **self.options())

    def test_never_breaks_on_what_is_broken(self, tmp_path: Path) -> None:
        """A damaged file becomes a note or an error for the user, and records that are read can be stored."""
        source = read_source_files(self.example(_make_folder(tmp_path / "example")))
        for number in range(self.mutations):
            path = corrupt_source_files(source, Random(number)).write(tmp_path / str(number))
            assert self.importer().recognises(path) in (True, False)
            with suppress(OutweighError), limit_calls():
                self._read(path)

    def test_makes_no_figure_up(self, tmp_path: Path) -> None:
        """If a number is removed from the source, figures stay the same or become unknown."""
        source = read_source_files(self.example(_make_folder(tmp_path / "example")))
        before, _ = self._read(source.write(tmp_path / "whole"))
        for number in range(self.mutations):
            changed = drop_figure(source, Random(number))
            if changed is None:
                continue
            with suppress(OutweighError):
                after, _ = self._read(changed.write(tmp_path / str(number)))
                assert invented_figures(before, after, self.alternatives) == []

    def test_loses_no_run_in_silence(self, tmp_path: Path) -> None:
        """If a value is removed from the source, every lost run is reported."""
        source = read_source_files(self.example(_make_folder(tmp_path / "example")))
        before, notes_before = self._read(source.write(tmp_path / "whole"))
        for number in range(self.mutations):
            changed = drop_value(source, Random(number))
            if changed is None:
                continue
            with suppress(OutweighError):
                after, notes_after = self._read(changed.write(tmp_path / str(number)))
                assert not is_silent_loss(len(before), len(after), notes_before, notes_after)

    def _read(self, path: Path) -> tuple[list[RunRecord | Judgment], ImportNotes]:
        """The records that can be stored; an import refuses the others."""
        found, notes = read_all(self.importer(), path, **self.options())
        return [record for record in found if can_be_stored(record, notes)], notes


def _make_folder(folder: Path) -> Path:
    folder.mkdir()
    return folder
