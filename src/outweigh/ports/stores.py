"""The ports of stores: where records are read from, and where the engine writes them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from outweigh.model.codec import LocatedRecord, OnInvalid
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord, Trial


class RecordSource(Protocol):
    """Where records are read from."""

    def records(self, on_invalid: OnInvalid) -> Iterator[LocatedRecord]:
        """Read every run and judgment; unreadable lines go to `on_invalid`."""


class RunStore(Protocol):
    """Where an engine writes its records. What a method has acknowledged survives a power cut."""

    def begin(self, run_id: str, trial: Trial, attempt: int) -> None:
        """Record durably that an attempt is about to start."""

    def append(self, record: RunRecord) -> None:
        """Append a finished run; when this returns, it survives a power cut."""

    def append_judgment(self, judgment: Judgment) -> None:
        """Append a judgment; when this returns, it survives a power cut."""

    def keep(self, content: bytes) -> str:
        """Store an artifact and return its hash."""

    def artifact(self, digest: str) -> bytes:
        """A stored artifact, checked against its hash; raise EvidenceError where it is missing or damaged."""

    def finished(self) -> Mapping[tuple[str, str, int], Sequence[RunRecord]]:
        """All records so far, by (task, arm, repeat), in order of attempts."""

    def judgments(self) -> Mapping[str, Sequence[Judgment]]:
        """All judgments so far, by the run's id."""
