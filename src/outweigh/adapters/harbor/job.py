"""One job of Harbor's, as somebody who waits for its results sees it."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from outweigh.adapters.harbor.program import is_running, last_words, log_file, stop
from outweigh.errors import EvidenceError, UsageError
from outweigh.record.run_record import RunRecord
from outweigh.record.trial import Trial

FOLDER = "harbor"
"""In a store: everything about jobs."""

TICKET = ".ticket"
_READ_LOG_BYTES = 20_000
_FOR_GOOD = frozenset(
    {
        "AgentAuthenticationError",
        "ApiUsageLimitError",
        "ModelNotFoundError",
        "RewardFileEmptyError",
        "RewardFileNotFoundError",
        "SandboxBuildFailedError",
        "VerifierOutputParseError",
        "VerifierTimeoutError",
    }
)
"""What Harbor's own retries leave alone, but for exceptions that are results; and builds, which it calls final."""

ReadResult = Callable[[Path], RunRecord]
"""A trial's `result.json` as a record; EvidenceError where it cannot be read."""


class Ticket(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a job stands for."""

    trials: tuple[Trial, ...]


def has_begun_jobs(store: Path) -> bool:
    """Whether a job was ever started for a store; it may still run, and its results may be yet to come."""
    return any((store / FOLDER).glob(f"*{TICKET}"))


class HarborJob:
    """One job: started by us now, or found as an earlier engine left it."""

    def __init__(
        self,
        file: Path,
        ticket: Ticket,
        *,
        start: Callable[[], None] = lambda: None,
        read: ReadResult,
        secrets: Sequence[str] = (),
    ) -> None:
        self.name = file.stem
        self.trials = ticket.trials
        self._file = file
        self._ticket = ticket
        self._begin = start
        self._read = read
        self._secrets = secrets
        self._seen: set[Path] = set()
        self._unread: list[str] = []

    def start(self) -> None:
        """Begin; a job that was started is found again by its ticket."""
        unfinished = self._file.with_suffix(".unfinished")
        try:
            # Whole or not at all, after a power cut too: half a ticket would be in the way of every later engine.
            with unfinished.open("wb") as stream:
                stream.write(msgspec.json.encode(self._ticket) + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
            unfinished.replace(self._file.with_suffix(TICKET))
            self._begin()
        except OSError as fault:
            raise UsageError(f"job {self._file} cannot be started: {fault.strerror}. Run again when it can.") from fault

    @property
    def is_running(self) -> bool:
        """Whether its process is alive."""
        return is_running(self._file)

    def new_results(self) -> Sequence[RunRecord]:
        """Results in the order in which they were written; one that is being written is left for the next time."""
        final = not self.is_running  # asked first: what cannot be read after the end never can
        found = []
        for file in self._result_files():
            try:
                found.append(self._read(file))
            except EvidenceError as fault:
                if not final:
                    continue
                self._unread.append(str(fault))
            self._seen.add(file)
        return found

    def stop(self, *, at_once: bool) -> bool:
        """End it."""
        return stop(self._file, at_once=at_once)

    def last_words(self) -> str:
        """What could not be read, and the end of the log."""
        try:
            with log_file(self._file).open("rb") as stream:
                stream.seek(-min(_READ_LOG_BYTES, stream.seek(0, os.SEEK_END)), os.SEEK_END)
                log = stream.read(_READ_LOG_BYTES)
        except OSError:
            log = b""
        words = (*self._unread, last_words(log, self._secrets), f"(All of it is in {log_file(self._file)}.)")
        return " ".join(filter(None, words))

    def _result_files(self) -> list[Path]:
        left = self._file.parent / "jobs" / self.name
        found = [file for file in left.glob("*/result.json") if file not in self._seen]
        return sorted(found, key=lambda file: (file.stat().st_mtime_ns, file))


def may_mend(record: RunRecord) -> bool:
    """Whether another attempt could end otherwise: not where Harbor itself would not try again."""
    return (record.status_detail or "").partition(":")[0] not in _FOR_GOOD


def read_ticket(path: Path) -> Ticket:
    """What a job that was started stands for."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Ticket)
    except (OSError, msgspec.MsgspecError) as fault:
        raise EvidenceError(
            f"{path} cannot be read: {fault}. Remove it, and import what Harbor left by `outweigh import`."
        ) from fault
