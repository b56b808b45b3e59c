"""Runs of commits that were one piece of work: source in one commit, its tests in the next, or the other way round."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from outweigh.mining.change_rules import SortedFiles
from outweigh.mining.history_objects import ChangedPath, CommitText, ListedCommit

_SECONDS = 86_400
_MOST_COMMITS = 4
_WORD = re.compile(r"[A-Za-z_]\w{3,}")
_COMMON_WORDS = re.compile(
    r"with|that|this|from|into|when|where|what|which|have|does|more|some|only|tests?|tested|testing|unit|cases?|fix(?:ed|es)"
    r"|add(?:ed|s)|updated?|support|make|removed?|allow|changed?|code|missing|coverage",
    re.IGNORECASE,
)
_ONLY_TESTS = re.compile(
    r"(?:(?:add|added|adding|more|new|some|a|the|unit|regression|failing|fix|fixed|update|updated|missing|and|for|it|this)\s+)*"
    r"(?:unit)?(?:tests?|specs?|test ?cases?|test coverage)[.!]?(?:\s*\([^)]*\))?",
    re.IGNORECASE,
)
_TEST_MARK = re.compile(r"^tests?[._-]?|[._-]?(?:tests?|spec)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LineCommit:
    """A commit of a line that is no candidate on its own, with what is needed to join it with its neighbours."""

    listed: ListedCommit
    text: CommitText
    files: SortedFiles

    @property
    def has_source(self) -> bool:
        """Whether it changes source."""
        return bool(self.files.source)

    @property
    def has_tests(self) -> bool:
        """Whether it adds to tests."""
        return bool(self.files.changed_tests())


def commit_runs(line: Sequence[str], commits: Mapping[str, LineCommit]) -> Iterator[tuple[str, ...]]:
    """Runs of commits on a line, each oldest first; no commit is in two of them.

    A run is a commit that changes tests alone, with commits before it that change source alone, or else with the next
    one after it: of the same author, within a day, and about the same, as their subjects or file names show. Commits
    that change neither may be between them.
    """
    used: set[str] = set()
    for place, name in enumerate(line):
        tests = commits.get(name)
        if tests is None or not tests.has_tests or tests.has_source:
            continue
        before = _neighbours(line, range(place - 1, -1, -1), tests, commits, used)
        after = _neighbours(line, range(place + 1, len(line)), tests, commits, used)
        if before:
            run = line[before[-1] : place + 1]
        elif after:
            run = line[place : after[0] + 1]
        else:
            continue
        used.update(run)
        yield tuple(run)


def _neighbours(
    line: Sequence[str], places: range, tests: LineCommit, commits: Mapping[str, LineCommit], used: set[str]
) -> list[int]:
    """The places of commits that belong to the tests, nearest first, up to the first that does not."""
    found: list[int] = []
    for place in places[:_MOST_COMMITS]:
        other = commits.get(line[place])
        if other is None or line[place] in used or not _together(tests, other) or other.has_tests:
            break
        if other.has_source:
            if not _about_the_same(other, tests, nearest=not found):
                break
            found.append(place)
    return found


def _together(one: LineCommit, other: LineCommit) -> bool:
    return one.text.author == other.text.author and abs(one.listed.time - other.listed.time) <= _SECONDS


def _about_the_same(source: LineCommit, tests: LineCommit, *, nearest: bool) -> bool:
    if nearest and _ONLY_TESTS.fullmatch(tests.text.subject):
        return True
    shared = _words(source.text.subject) & _words(tests.text.subject)
    names = _stems(source.files.source) & _stems(tests.files.changed_tests())
    return len(shared) >= 2 or bool(shared and names)


def _words(subject: str) -> set[str]:
    """The words of a subject that say what it is about, by their beginnings."""
    return {word.lower()[:5] for word in _WORD.findall(subject) if not _COMMON_WORDS.fullmatch(word)}


def _stems(files: Iterable[ChangedPath]) -> set[str]:
    """File names without what marks them as tests and without their endings."""
    names = (change.path.rpartition("/")[2].partition(".")[0] for change in files)
    return {_TEST_MARK.sub("", name).lower() for name in names} - {"", "index", "__init__", "main"}
