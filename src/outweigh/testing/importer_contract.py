"""Claims about every Importer. Subclass the contract, write a small example, and pytest runs them."""

from abc import ABC, abstractmethod
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from outweigh.errors import OutweighError
from outweigh.ports.importers import Importer, ImportNotes, ImportRequest
from outweigh.record.codec import decode, encode
from outweigh.record.judgment import Judgment
from outweigh.record.run_record import RunRecord
from outweigh.testing.damage.source_damage import broken, source_at, without_figure, without_value
from outweigh.testing.import_claims import bounded_work, is_kept, lost_in_silence, made_up

FIELDS = frozenset(RunRecord.__struct_fields__)


def import_request(path: Path, **wishes: object) -> ImportRequest:
    """A request for a path; artifacts are hashed and forgotten."""
    asked: dict[str, Any] = {
        "arm": None,
        "tasks": None,
        "columns": {},
        "keep": lambda content: sha256(content).hexdigest(),
    }
    return ImportRequest(path=path, **(asked | wishes))


def read_all(importer: Importer, path: Path, **wishes: object) -> tuple[list[RunRecord | Judgment], ImportNotes]:
    """Everything an importer makes of a path, and what it has to say."""
    notes = ImportNotes()
    return list(importer.read(import_request(path, **wishes), notes)), notes


class ImporterContract(ABC):
    """What a folder of results may hold is up to others; what comes of it is up to the importer.

    `alternatives` are figures that the format states in two places, or as a sum of which a part may be left out: where
    one is taken away, another may come in its place.
    """

    mutations = 30
    alternatives: frozenset[str] = frozenset()

    @abstractmethod
    def importer(self) -> Importer:
        """The importer under test."""

    @abstractmethod
    def example(self, folder: Path) -> Path:
        """Write a small valid source below a folder and return the path that a user would name."""

    def wishes(self) -> dict[str, object]:
        """What a user must say for the example to be read."""
        return {}

    def test_recognises_its_own(self, tmp_path: Path) -> None:
        """A user need not name the format."""
        assert self.importer().recognises(self.example(tmp_path))

    def test_recognises_nothing_strange(self, tmp_path: Path) -> None:
        """Neither what is not there, nor what is empty, nor noise."""
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
        """Every figure is reported, derived or unknown."""
        assert self.importer().fields.keys() <= FIELDS

    def test_gives_records_that_can_be_kept_each_under_an_id_of_its_own(self, tmp_path: Path) -> None:
        """What comes out is written and read again as it is."""
        found, notes = read_all(self.importer(), self.example(tmp_path), **self.wishes())

        assert found or notes.aggregates
        assert [decode(encode(record)) for record in found] == found
        runs = [(record.run_id, record.attempt) for record in found if isinstance(record, RunRecord)]
        assert len(set(runs)) == len(runs)

    def test_reads_the_same_twice(self, tmp_path: Path) -> None:
        """So that importing again adds nothing."""
        path = self.example(tmp_path)

        assert read_all(self.importer(), path, **self.wishes()) == read_all(self.importer(), path, **self.wishes())

    def test_never_breaks_on_what_is_broken(self, tmp_path: Path) -> None:
        """Damaged files are notes or an error for the user, and what is read of them can still be kept."""
        source = source_at(self.example(_fresh(tmp_path / "example")))
        for number in range(self.mutations):
            path = broken(source, Random(number)).write(tmp_path / str(number))
            assert self.importer().recognises(path) in (True, False)
            with suppress(OutweighError), bounded_work():
                self._read(path)

    def test_makes_no_figure_up(self, tmp_path: Path) -> None:
        """Where a number is taken away, figures stay as they were or become unknown."""
        source = source_at(self.example(_fresh(tmp_path / "example")))
        before, _ = self._read(source.write(tmp_path / "whole"))
        for number in range(self.mutations):
            changed = without_figure(source, Random(number))
            if changed is None:
                continue
            with suppress(OutweighError):
                after, _ = self._read(changed.write(tmp_path / str(number)))
                assert made_up(before, after, self.alternatives) == []

    def test_loses_no_run_in_silence(self, tmp_path: Path) -> None:
        """Where anything is taken away, a run that is no longer found is spoken of."""
        source = source_at(self.example(_fresh(tmp_path / "example")))
        before, said = self._read(source.write(tmp_path / "whole"))
        for number in range(self.mutations):
            changed = without_value(source, Random(number))
            if changed is None:
                continue
            with suppress(OutweighError):
                after, told = self._read(changed.write(tmp_path / str(number)))
                assert not lost_in_silence(len(before), len(after), said, told)

    def _read(self, path: Path) -> tuple[list[RunRecord | Judgment], ImportNotes]:
        """What can be kept of a source; the rest of it is refused by whoever keeps it."""
        found, notes = read_all(self.importer(), path, **self.wishes())
        return [record for record in found if is_kept(record, notes)], notes


def _fresh(folder: Path) -> Path:
    folder.mkdir()
    return folder
