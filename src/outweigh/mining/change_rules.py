"""Whether a change could become a task: the rules for one commit, merge or run of commits."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from outweigh.mining.candidate import CandidateKind, Rejection, RejectionReason
from outweigh.mining.changed_files import FileKind, FilePatterns, classify, is_lock_file, is_test_data
from outweigh.mining.code_changes import changed_by_content, changed_by_lines, inline_tests, is_move
from outweigh.mining.commit_messages import (
    is_dependency_update,
    is_formatting,
    is_release,
    merged_branch,
    own_words,
    reverted_commits,
    reverted_subject,
)
from outweigh.mining.history_objects import (
    ChangedLines,
    ChangedPath,
    read_changed_lines,
)
from outweigh.mining.repository import HistoryRepository

_MOST_LINES_READ = 50_000
_CHANGES_READ = 50
_SUBMODULE, _LINK = "160000", "120000"
_LFS_LINE = "oid sha256:"
_GROUPS = {
    FileKind.SOURCE: "source",
    FileKind.TYPES: "types",
    FileKind.TEST: "tests",
    FileKind.TEST_SUPPORT: "test_support",
    FileKind.GENERATED: "generated",
    FileKind.MANIFEST: "manifests",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySettings:
    """Which changes of a history are wanted.

    `most_files` and `most_lines` bound the source of one change. Of more than `most_commits` commits in the time span
    the newest are looked at.
    """

    since: datetime | None = None
    until: datetime | None = None
    most_commits: int = 20_000
    most_files: int = 30
    most_lines: int = 1_500
    patterns: FilePatterns = field(default_factory=FilePatterns)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryChange:
    """A change between two commits: a commit, a merge, or a run of commits."""

    fix: str
    base: str
    kind: CandidateKind
    subject: str
    message: str
    files: Sequence[ChangedPath]


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedFiles:
    """The changed files of a change by what they are for."""

    source: tuple[ChangedPath, ...]
    types: tuple[ChangedPath, ...]
    tests: tuple[ChangedPath, ...]
    test_support: tuple[ChangedPath, ...]
    deleted_tests: tuple[ChangedPath, ...]
    others: tuple[ChangedPath, ...]
    generated: tuple[ChangedPath, ...]
    manifests: tuple[ChangedPath, ...]

    @property
    def source_lines(self) -> int:
        """Added and removed lines of source."""
        return sum(change.lines for change in self.source)

    def changed_tests(self) -> list[ChangedPath]:
        """Tests with something new in them, or in the data that they use; not helpers or settings alone."""
        data = (change for change in self.test_support if is_test_data(change.path))
        return [change for change in (*self.tests, *data) if change.added is None or change.added > 0]


Judged = SortedFiles | Rejection
"""What the rules say: the files of a change that could become a task, or why it could not."""


def sort_files(files: Iterable[ChangedPath], patterns: FilePatterns) -> SortedFiles:
    """Sort changed files by what they are for."""
    found: dict[str, list[ChangedPath]] = {name: [] for name in SortedFiles.__slots__}
    for change in files:
        kind = classify(change.path, patterns)
        name = _GROUPS.get(kind, "others")
        if change.status == "D" and name in ("tests", "test_support"):
            name = "deleted_tests"
        found[name].append(change)
    return SortedFiles(**{name: tuple(changes) for name, changes in found.items()})


def judge_changes(
    repository: HistoryRepository, settings: HistorySettings, changes: Sequence[HistoryChange]
) -> dict[str, Judged]:
    """What the rules say about each change, by its last commit."""
    judged: dict[str, Judged] = {}
    open_changes = []
    for change in changes:
        files = sort_files(change.files, settings.patterns)
        rejected = _by_message(change) or _by_files(change, files) or _by_size(change, files, settings)
        judged[change.fix] = rejected or files
        if rejected is None:
            open_changes.append(change)
    lines = read_changed_lines(repository, [(change.fix, change.base) for change in open_changes])
    undecided = []
    for change in open_changes:
        content = _ChangeContent(change, judged[change.fix], lines.get(change.fix, []))
        rejected = content.by_lines()
        if rejected is not None:
            judged[change.fix] = rejected
        elif content.needed:
            undecided.append(content)
    for start in range(0, len(undecided), _CHANGES_READ):
        batch = undecided[start : start + _CHANGES_READ]
        blobs = repository.blobs(name for content in batch for name in content.needed)
        for content in batch:
            rejected = content.by_content(blobs)
            if rejected is not None:
                judged[content.change.fix] = rejected
    return judged


def _reject(change: HistoryChange, reason: RejectionReason, detail: str = "") -> Rejection:
    printable = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in detail)
    return Rejection(commit=change.fix, reason=reason, detail=printable)


def _by_message(change: HistoryChange) -> Rejection | None:
    if not change.base:
        return _reject(change, RejectionReason.FIRST)
    branch = merged_branch(change.subject, is_merge=change.kind is CandidateKind.MERGE)
    if branch is not None:
        for holds, reason in (
            (branch.is_revert, RejectionReason.REVERT),
            (branch.is_main_line, RejectionReason.BACK_MERGE),
            (branch.is_release, RejectionReason.RELEASE),
        ):
            if holds:
                return _reject(change, reason, branch.branch)
    if reverted_subject(change.subject) is not None or reverted_commits(change.message):
        return _reject(change, RejectionReason.REVERT, change.subject)
    for says, reason in (
        (is_release, RejectionReason.RELEASE),
        (is_dependency_update, RejectionReason.DEPENDENCIES),
        (is_formatting, RejectionReason.FORMATTING),
    ):
        for subject in (change.subject, own_words(change.message).partition("\n")[0]):
            if says(subject):
                return _reject(change, reason, subject)
    return None


def _by_files(change: HistoryChange, files: SortedFiles) -> Rejection | None:
    if not files.source:
        return _without_source(change, files)
    if all(each.status == "R" and each.lines == 0 for each in files.source):
        return _reject(change, RejectionReason.RENAME, _names(files.source))
    inline_possible = any(each.path.endswith(".rs") for each in files.source)
    if files.changed_tests() or inline_possible:
        return None
    if files.deleted_tests or any(each.removed for each in files.tests):
        return _reject(change, RejectionReason.TESTS_DELETED, _names(files.deleted_tests or files.tests))
    return _reject(change, RejectionReason.NO_TESTS, _names(files.source))


def _without_source(change: HistoryChange, files: SortedFiles) -> Rejection:
    count = len(change.files)
    if count and len(files.generated) == count:
        return _reject(change, RejectionReason.GENERATED, _names(change.files))
    if count and len(files.manifests) == count and any(is_lock_file(each.path) for each in files.manifests):
        return _reject(change, RejectionReason.DEPENDENCIES, _names(change.files))
    return _reject(change, RejectionReason.NO_SOURCE, _names(change.files))


def _by_size(change: HistoryChange, files: SortedFiles, settings: HistorySettings) -> Rejection | None:
    for figure, most, what in (
        (len(files.source), settings.most_files, "source files"),
        (files.source_lines, settings.most_lines, "source lines"),
        (sum(each.lines for each in change.files), _MOST_LINES_READ, "lines"),
    ):
        if figure > most:
            return _reject(change, RejectionReason.TOO_LARGE, f"{figure:,} {what}, at most {most:,}")
    for each in change.files:
        if _SUBMODULE in each.modes:
            return _reject(change, RejectionReason.UNSUPPORTED_FILES, f"the submodule {each.path}")
        if not each.path.isprintable() or not each.old_path.isprintable():
            return _reject(change, RejectionReason.UNSUPPORTED_FILES, f"the file name {each.path}")
    for each in (*files.source, *files.tests, *files.test_support):
        if _LINK in each.modes:
            return _reject(change, RejectionReason.UNSUPPORTED_FILES, f"the symbolic link {each.path}")
    return None


def _names(files: Iterable[ChangedPath]) -> str:
    return ", ".join(each.path for each in list(files)[:3])


class _ChangeContent:
    """The changed lines of a change, and where they do not tell, its files."""

    def __init__(self, change: HistoryChange, files: Judged, lines: Sequence[ChangedLines]) -> None:
        assert isinstance(files, SortedFiles)
        self.change, self._files = change, files
        self._lines = _by_file(change.files, lines)
        self._tests = files.changed_tests()
        self.needed: list[str] = []

    def by_lines(self) -> Rejection | None:
        """What the changed lines say; `needed` are the files without which some of it stays open."""
        for each in (*self._files.source, *self._files.tests, *self._files.test_support):
            lines = self._lines.get(each.path)
            if lines and any(line.startswith(_LFS_LINE) for line in lines.added) and len(lines.added) <= 3:
                return _reject(self.change, RejectionReason.UNSUPPORTED_FILES, f"the LFS file {each.path}")
        if is_move(self._lines[each.path] for each in self._files.source if each.path in self._lines):
            return _reject(self.change, RejectionReason.RENAME, _names(self._files.source))
        self.needed = [
            blob
            for group in (self._files.source, self._tests)
            if not any(self._changed(each) for each in group)
            for each in group
            for blob in each.blobs
            if blob.strip("0")
        ]
        return None

    def by_content(self, blobs: Mapping[str, bytes]) -> Rejection | None:
        """What the files say about the groups of which no changed line told."""
        sources, tests = self._files.source, self._tests
        inline = False
        if not any(self._changed(each) for each in sources):
            inline = any(self._differs(each, blobs, inline_part=1) for each in sources)
            if not any(self._differs(each, blobs, inline_part=0) for each in sources):
                return _reject(self.change, RejectionReason.FORMATTING, _names(sources))
        if tests and not any(self._changed(each) or self._differs(each, blobs) for each in tests):
            return _reject(self.change, RejectionReason.NO_TESTS, "only the layout of tests")
        if not tests:
            reason = RejectionReason.INLINE_TESTS if inline else RejectionReason.NO_TESTS
            return _reject(self.change, reason, _names(sources))
        return None

    def _changed(self, each: ChangedPath) -> bool:
        if each.path.endswith(".rs") and not self._tests:
            return False  # only the files show which part is a test
        if each.path not in self._lines or each.added is None:
            return True
        return changed_by_lines(each.path, self._lines[each.path]) is True

    def _differs(self, each: ChangedPath, blobs: Mapping[str, bytes], inline_part: int = 0) -> bool:
        before, after = (inline_tests(each.path, blobs.get(name, b""))[inline_part] for name in each.blobs)
        return changed_by_content(each.path, before, after)


def _by_file(files: Sequence[ChangedPath], lines: Sequence[ChangedLines]) -> dict[str, ChangedLines]:
    """The changed lines by path. A file that becomes a link has two patches, one for each."""
    sections = [each for each in files for _ in range(2 if each.status == "T" else 1)]
    if len(sections) != len(lines):
        return {}
    return {each.path: changed for each, changed in zip(sections, lines, strict=True)}
