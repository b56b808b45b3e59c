"""The ports of stores: where records are read from, where the engine writes them, and where stores can lie."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

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


class GroupRunStore(RunStore, Protocol):
    """A RunStore that keeps several things at the price of one, which is that of waiting for the disk."""

    def begin_all(self, begun: Sequence[tuple[str, Trial, int]]) -> None:
        """Record durably that attempts are about to start: of these runs, at these trials, with these numbers."""

    def append_all(self, records: Sequence[RunRecord]) -> None:
        """Append finished runs, all or none; when this returns, they survive a power cut."""


class StoredFile(NamedTuple):
    """A file below a location, by its name there with slashes.

    `version` changes whenever the content does, such as the tag of an object, or when it was changed last; empty where
    a location cannot say.
    """

    name: str
    size: int
    version: str


class FolderEntries(NamedTuple):
    """What is in a folder of a location: its files, and the names of its folders."""

    files: tuple[StoredFile, ...]
    folders: tuple[str, ...]


class StoreLocation(Protocol):
    """A place that holds a store or many: a folder of this machine, or an address. Names in it are relative.

    Whatever fails is raised as an OutweighError without secrets.
    """

    @property
    def name(self) -> str:
        """What people know it by."""

    @property
    def workers(self) -> int:
        """How many calls may be made at the same time."""

    def entries(self, folder: str) -> FolderEntries | None:
        """What is in a folder, the location itself where the name is empty; None where there is no such folder."""

    def files_below(self, folder: str) -> Sequence[StoredFile]:
        """Every file in a folder and in those below it; none where there is no such folder."""

    def fetch(self, name: str, target: Path) -> None:
        """Write the content of a file to a new file of this machine."""

    def put(self, name: str, source: Path) -> None:
        """Make a file with this content, whole or not at all, in place of what has its name."""

    def remove(self, name: str) -> None:
        """Remove a file that this program has put there."""
