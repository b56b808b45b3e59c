"""Put records with those of their task: into one file per part, on disk, in the order in which they were read."""

from bisect import bisect_right
from collections.abc import Iterator, Set
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NamedTuple, Self

import msgspec

from outweigh.model.codec import LocatedRecord, decode, encode
from outweigh.model.judgment import Judgment, Preference
from outweigh.model.run_record import RunRecord
from outweigh.store.store_set import StoreSet

_LENGTH_BYTES = 4


class _Line(NamedTuple):
    """A record as it is kept meanwhile. `evidence_digest` may say under which names it counts."""

    place: int
    source: str
    line: int
    digest: bytes
    evidence_digest: bytes
    record: bytes


class SortedRecord(LocatedRecord):
    """A record with its place among all that were read."""

    place: int
    known_digest: bytes
    known_evidence_digest: bytes

    @property
    def digest(self) -> bytes:
        """The hash of the record."""
        return self.known_digest

    def as_evidence(self, digest: bytes) -> bytes:  # noqa: ARG002 - it was computed from the digest when it was read
        """The hash of the record as part of the evidence."""
        return self.known_evidence_digest


_encode_line = msgspec.msgpack.Encoder().encode
_decode_line = msgspec.msgpack.Decoder(_Line).decode


class SortedRecords:
    """The records of every part. `first_tasks` are those that parts begin with, in order."""

    def __init__(self, folder: Path, first_tasks: list[str]) -> None:
        self._firsts = first_tasks
        self._paths = [folder / f"{number:05d}.unsorted" for number in range(len(first_tasks))]
        self._judgments = folder / "judgments.unsorted"
        self._places = count()
        self._task_of: dict[str, str] = {}

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return len(self._paths)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        for path in (*self._paths, self._judgments):
            path.unlink(missing_ok=True)

    def sort(self, stores: StoreSet, judged: Set[str]) -> None:
        """Read all records. Judgments name no task, so they wait until the tasks of `judged` runs are known."""
        with ExitStack() as opened:
            parts = [opened.enter_context(path.open("wb")) for path in self._paths]
            waiting = opened.enter_context(self._judgments.open("wb"))
            for located in stores.read(skip_invalid=False):
                record = located.record
                if isinstance(record, Judgment):
                    self._write(waiting, located)
                elif isinstance(record, RunRecord):
                    if record.run_id in judged:
                        self._task_of[record.run_id] = record.trial.task_id
                    self._write(parts[self._number(record.trial.task_id)], located)
                elif isinstance(record, Preference):
                    self._write(parts[self._number(record.task_id)], located)
        self._sort_judgments()

    def part(self, number: int) -> list[SortedRecord]:
        """The records of one part; its file is done with."""
        found = [_sorted(line) for line in _lines(self._paths[number])]
        self._paths[number].unlink()
        return found

    def _sort_judgments(self) -> None:
        with ExitStack() as opened:
            parts = [opened.enter_context(path.open("ab")) for path in self._paths]
            for line in _lines(self._judgments):
                judgment = decode(line.record)
                task = self._task_of.get(judgment.run_id) if isinstance(judgment, Judgment) else None
                # One that is of no run is counted wherever it is read.
                _put(parts[0 if task is None else self._number(task)], line)

    def _write(self, stream: BinaryIO, located: LocatedRecord) -> None:
        digest = located.digest
        _put(
            stream,
            _Line(
                place=next(self._places),
                source=located.source,
                line=located.line,
                digest=digest,
                evidence_digest=located.as_evidence(digest),
                record=encode(located.record),
            ),
        )

    def _number(self, task: str) -> int:
        return max(0, bisect_right(self._firsts, task) - 1)


def _sorted(line: _Line) -> SortedRecord:
    found = SortedRecord(decode(line.record), line.source, line.line)
    found.place, found.known_digest, found.known_evidence_digest = line.place, line.digest, line.evidence_digest
    return found


def _put(stream: BinaryIO, line: _Line) -> None:
    content = _encode_line(line)
    stream.write(len(content).to_bytes(_LENGTH_BYTES, "little") + content)


def _lines(path: Path) -> Iterator[_Line]:
    with path.open("rb") as stream:
        while length := stream.read(_LENGTH_BYTES):
            yield _decode_line(stream.read(int.from_bytes(length, "little")))
