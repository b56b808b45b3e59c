"""What a scan of a history finds: changes that could become tasks, and why others could not."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class CandidateKind(StrEnum):
    """What in the history a candidate is made of."""

    COMMIT = "commit"
    MERGE = "merge"
    RANGE = "range"
    """Several commits in a row that were one piece of work, without a merge commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A change that could become a task: `base` is the commit before it, `fix` the commit with it.

    `message` is what was said about the change: the message of the commit, or of the merge together with those inside
    it where the merge itself says little. `commits` are all that it consists of, oldest first. Paths are those at
    `fix`; source and other files that the change removes or renames are listed with their paths at `base`, too.
    `test_files` are changed or added files that tests need (tests, their helpers, fixtures, snapshots),
    `deleted_tests` those that the change removes or renames. `source_lines` counts added and removed lines of source
    files.
    """

    base: str
    fix: str
    commits: tuple[str, ...]
    kind: CandidateKind
    date: datetime
    message: str
    source_files: tuple[str, ...]
    test_files: tuple[str, ...]
    other_files: tuple[str, ...] = ()
    deleted_tests: tuple[str, ...] = ()
    source_lines: int

    @property
    def short(self) -> str:
        """The commit as people name it."""
        return self.fix[:10]


class RejectionReason(StrEnum):
    """Why a change of the history is no candidate, in the words of the table at the end."""

    NO_SOURCE = "changes no source file"
    NO_TESTS = "changes no test"
    TESTS_DELETED = "only deletes tests"
    RENAME = "only moves or renames files"
    DEPENDENCIES = "updates dependencies"
    FORMATTING = "changes formatting only"
    GENERATED = "changes generated or vendored files only"
    REVERT = "reverts a change"
    REVERTED = "was reverted within 30 days"
    BACK_MERGE = "merges the main line back into a branch"
    RELEASE = "is a release"
    TOO_LARGE = "changes too many files or lines"
    INSIDE_MERGE = "is part of a merge that is a candidate"
    INSIDE_RANGE = "is part of a run of commits that is a candidate"
    INLINE_TESTS = "changes tests inside of source files only"
    FIRST = "is the first commit"
    UNSUPPORTED_FILES = "changes submodules, LFS files or links"
    OUT_OF_RANGE = "is outside of the requested dates"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A change that is no candidate. `detail` names the file, the commit or the figure that decided."""

    commit: str
    reason: RejectionReason
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryScan:
    """The candidates of a history, newest first, and what was rejected. `not_looked_at` counts older commits."""

    candidates: tuple[Candidate, ...]
    rejections: tuple[Rejection, ...]
    commits: int
    not_looked_at: int = 0
