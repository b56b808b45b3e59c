"""The journal of a mined suite: what became of every candidate, one line each, so that mining can be resumed."""

import os
from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from pathlib import Path

import msgspec

from outweigh.errors import UsageError
from outweigh.store.append_log import AppendLog

JOURNAL_FILE = "mining.jsonl"


class CandidateState(StrEnum):
    """What became of a candidate. All but the failed ones are proven."""

    KEPT = "kept"
    UNFAIR = "unfair"
    DUPLICATE = "duplicate"
    FAILED = "failed"


class MinedCandidate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One line of the journal. `reason` is one of the table's, `detail` what decided in this case.

    `settings` identifies how it was tried: what other settings said does not count. `test_seconds` is what one run of
    the tests takes, `seconds` what the whole candidate took. `interface` counts the names and texts that the
    instruction had to state. `may_be_retried` says that the machine is at fault and not the candidate.
    """

    fix: str
    state: CandidateState
    settings: str
    date: datetime
    seconds: float
    reason: str = ""
    detail: str = ""
    task: str | None = None
    family: str | None = None
    commits: tuple[str, ...] = ()
    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: int = 0
    test_seconds: float | None = None
    interface: int = 0
    dependencies: str | None = None
    may_be_retried: bool = False

    @property
    def is_proven(self) -> bool:
        """Whether its tests were red before the change and green after it, three times."""
        return self.state is not CandidateState.FAILED


class MiningJournal:
    """The lines of a journal file. A line that a crash cut off is removed, and its candidate is tried again."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / JOURNAL_FILE
        _remove_half_line(self._path)
        self._log = AppendLog(self._path)

    def read(self, settings: str) -> dict[str, MinedCandidate]:
        """What was found with these settings, by the commit of the change.

        A candidate that failed for reasons of the machine is not among them, so that it is tried again.
        """
        known = {found.fix: found for found in read_journal(self._path) if found.settings == settings}
        return {fix: found for fix, found in known.items() if not found.may_be_retried}

    def append(self, found: MinedCandidate) -> None:
        """Add a line; it is durable when this returns."""
        self._log.append(msgspec.json.encode(found) + b"\n")

    def close(self) -> None:
        """Close the file."""
        self._log.close()


def _remove_half_line(path: Path) -> None:
    try:
        content = path.read_bytes()
        if content and not content.endswith(b"\n"):
            os.truncate(path, content.rfind(b"\n") + 1)
    except FileNotFoundError:
        return
    except OSError as fault:
        raise UsageError(f"{path} cannot be written: {fault.strerror}.") from fault


def read_journal(path: Path) -> Iterator[MinedCandidate]:
    """Every whole line of a journal; a last line without its end was being written when the machine stopped."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as fault:
        raise UsageError(f"{path} cannot be read: {fault.strerror}.") from fault
    *lines, _ = content.split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            yield msgspec.json.decode(line, type=MinedCandidate)
        except msgspec.MsgspecError as fault:
            raise UsageError(
                f"{path}, line {number}, is not from a mined suite: {fault}. Restore the file, or name another folder."
            ) from fault
