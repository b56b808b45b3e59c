"""The ports of stores: where evidence is read from, and where the engine keeps it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from outweigh.model.codec import LocatedRecord, OnInvalid
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord, Trial


class RecordSource(Protocol):
    """Where records are read from."""

    def records(self, on_invalid: OnInvalid) -> Iterator[LocatedRecord]:
        """Read every run and judgment; what cannot be read goes to `on_invalid`."""


class RunStore(Protocol):
    """Where an engine keeps its evidence: nothing acknowledged is ever lost."""

    def begin(self, run_id: str, trial: Trial, attempt: int) -> None:
        """Write down, durably, that an attempt is about to start."""

    def append(self, record: RunRecord) -> None:
        """Keep a finished run; when this returns, the record survives a power cut."""

    def append_judgment(self, judgment: Judgment) -> None:
        """Keep what a judge said; when this returns, it survives a power cut."""

    def keep(self, content: bytes) -> str:
        """Keep an artifact and return the hash it is found by."""

    def artifact(self, digest: str) -> bytes:
        """A kept artifact, checked against its hash; EvidenceError where it is gone or damaged."""

    def finished(self) -> Mapping[tuple[str, str, int], Sequence[RunRecord]]:
        """All records so far, by (task, arm, repeat), in order of attempts."""

    def judgments(self) -> Mapping[str, Sequence[Judgment]]:
        """All judgments so far, by the run's id."""
