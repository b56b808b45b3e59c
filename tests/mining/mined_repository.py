"""Real repositories whose histories are mined."""

from collections.abc import Mapping
from pathlib import Path

from tests.repositories import Repository

from outweigh.mining.candidate import HistoryScan, RejectionReason
from outweigh.mining.change_rules import HistorySettings
from outweigh.mining.history import scan_history
from outweigh.mining.repository import open_history

DAY = 86_400
START = 1_600_000_000


class MinedRepository(Repository):
    """A repository in which each commit is made on a day of its own, by someone, with a message."""

    def __init__(self, folder: Path, *options: str) -> None:
        super().__init__(folder, *options)
        self._time = START
        self.change("Begin", {"src/code.py": "one = 1\n", "tests/test_code.py": "def test_one(): ...\n"})

    def change(
        self, message: str, files: Mapping[str, str | None], *, author: str = "a", seconds: int = 2 * DAY
    ) -> str:
        """Commit a change some time after the one before."""
        self.write(files)
        self.git("add", "--all", "--force")
        self._dated("commit", message, author, seconds)
        return self.git("rev-parse", "HEAD")

    def branch(self, name: str) -> None:
        """Start a branch here."""
        self.git("switch", "--quiet", "--create", name)

    def merge(self, branch: str, message: str, *, into: str = "main") -> str:
        """Merge a branch with a merge commit."""
        self.git("switch", "--quiet", into)
        self._dated("merge", message, "a", 2 * DAY, "--no-ff", branch)
        return self.git("rev-parse", "HEAD")

    def scan(self, settings: HistorySettings | None = None) -> HistoryScan:
        """What a scan of its history finds."""
        with open_history(self.folder) as history:
            return scan_history(history, settings or HistorySettings())

    def _dated(self, command: str, message: str, author: str, seconds: int, *options: str) -> None:
        self._time += seconds
        name = ("-c", f"user.email={author}@example.org")
        self.git(
            *name,
            command,
            "--quiet",
            *options,
            *(("--allow-empty-message",) if command == "commit" else ()),
            f"--message={message}",
            time=self._time,
        )


def candidates(scan: HistoryScan) -> set[str]:
    """The last commit of each candidate."""
    return {candidate.fix for candidate in scan.candidates}


def reasons(scan: HistoryScan) -> dict[str, RejectionReason]:
    """Why each other commit is none."""
    return {rejection.commit: rejection.reason for rejection in scan.rejections}
