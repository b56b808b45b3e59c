"""Claims about every Importer. Subclass the contract, write a small example, and pytest runs them."""

import random
from abc import ABC, abstractmethod
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from outweigh.errors import EvidenceError
from outweigh.ports import Importer, ImportNotes, ImportRequest
from outweigh.record.codec import decode, encode
from outweigh.record.judgment import Judgment
from outweigh.record.run_record import RunRecord

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
    """What a folder of results may hold is up to others; what comes of it is up to the importer."""

    mutations = 60

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
        """Damaged files are notes or an EvidenceError, and what is read of them can still be kept."""
        path = self.example(tmp_path)
        files = [each for each in sorted(path.rglob("*")) if each.is_file()] if path.is_dir() else [path]
        chance = random.Random(0)
        for _ in range(self.mutations):
            file = chance.choice(files)
            whole = file.read_bytes()
            file.write_bytes(_damaged(whole, chance))
            self.importer().recognises(path)
            with suppress(EvidenceError):
                found, _ = read_all(self.importer(), path, **self.wishes())
                assert [decode(encode(record)) for record in found] == found
            file.write_bytes(whole)


def _hashed(content: bytes) -> str:
    return sha256(content).hexdigest()


def _damaged(content: bytes, chance: random.Random) -> bytes:
    """A file with one thing wrong: torn, doubled, a value that is something else, bits that are not text."""
    values = (b"null", b"-1", b'"x"', b"[]", b"{}", b"1e400", b"99999999999999999999", b"true", b"\xff", b"NaN", b"0.5")
    place = chance.randrange(len(content) + 1)
    match chance.randrange(5):
        case 0:
            return content[:place]
        case 1:
            return content[:place] + chance.choice(values) + content[place + chance.randrange(8) :]
        case 2:
            return content + content[:place]
        case 3:
            start = content.find(b":", place)
            end = min((found for mark in b",}\n" if (found := content.find(mark, start + 1)) > 0), default=len(content))
            return content[: start + 1] + chance.choice(values) + content[end:] if start > 0 else b""
        case _:
            return content[:place] + content[place + chance.randrange(1, 40) :]
