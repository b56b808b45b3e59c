"""What judges prefer, beside the runs of a store: `preferences-<writer>.jsonl`, one sealed line each."""

from collections.abc import Sequence
from pathlib import Path

from outweigh.adapters.stores.append_log import AppendLog
from outweigh.adapters.stores.jsonl import JsonLines
from outweigh.adapters.stores.log_repair import mend
from outweigh.errors import EvidenceError
from outweigh.record.codec import InvalidLine, decode, encode, refuse, seal
from outweigh.record.preference import Preference

PATTERN = "preferences-*.jsonl"


class PreferenceLog:
    """Appends to the folder of a store that this process holds; the store's lock is whoever opened it."""

    def __init__(self, folder: Path, writer: str = "engine") -> None:
        self.repairs: list[InvalidLine] = []
        self._folder = folder
        for path in sorted(folder.glob(PATTERN)):
            mend(path, decode, self.repairs.append)
            if not path.stat().st_size:
                path.unlink()
        self._log = AppendLog(folder / PATTERN.replace("*", writer))

    def append(self, preference: Preference) -> None:
        """Keep one answer; when this returns, it survives a power cut. What could not be read again is refused."""
        line = seal(encode(preference))
        try:
            decode(line)
        except ValueError as fault:
            raise EvidenceError(f"an answer about task {preference.task_id!r} could not be kept: {fault}.") from fault
        try:
            self._log.append(line)
        except OSError as fault:
            raise EvidenceError(
                f"an answer about task {preference.task_id!r} could not be kept in {self._folder}: {fault.strerror}. "
                "What was kept before is safe; make room or mend the disk, then start again to go on from there."
            ) from fault

    def close(self) -> None:
        """Wait for flushes under way and let go of the file."""
        self._log.close()


def kept_preferences(folder: Path) -> Sequence[Preference]:
    """All answers so far."""
    return [
        located.record
        for path in sorted(folder.glob(PATTERN))
        for located in JsonLines(str(path)).records(refuse)
        if isinstance(located.record, Preference)
    ]
