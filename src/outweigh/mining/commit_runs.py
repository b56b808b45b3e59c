"""Runs of commits that were one piece of work: source in one commit, its tests in the next, or the other way round."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from outweigh.mining.change_rules import SortedFiles
from outweigh.mining.history_objects import CommitText, ListedCommit

_SECONDS = 86_400
_MOST_COMMITS = 5


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

    A run is a commit that changes tests alone with the commits of the same author before it that change source
    alone, within a day; or where there are none, with the first one after it. Commits that touch neither may be
    between them.
    """
    used: set[str] = set()
    for place, name in enumerate(line):
        here = commits.get(name)
        if here is None or not here.has_tests or here.has_source:
            continue
        run = _before(line, place, commits, used) or _after(line, place, commits, used)
        if run:
            used.update(run)
            yield run


def _before(
    line: Sequence[str],
    place: int,
    commits: Mapping[str, LineCommit],
    used: set[str],
) -> tuple[str, ...]:
    here = commits[line[place]]
    first = None
    for earlier in range(place - 1, max(-1, place - _MOST_COMMITS), -1):
        other = commits.get(line[earlier])
        if other is None or line[earlier] in used or not _together(here, other):
            break
        if other.has_tests and not other.has_source:
            break
        if other.has_source:
            first = earlier
    return tuple(line[first : place + 1]) if first is not None else ()


def _after(
    line: Sequence[str],
    place: int,
    commits: Mapping[str, LineCommit],
    used: set[str],
) -> tuple[str, ...]:
    here = commits[line[place]]
    for later in range(place + 1, min(len(line), place + _MOST_COMMITS)):
        other = commits.get(line[later])
        if other is None or line[later] in used or not _together(here, other):
            return ()
        if other.has_source:
            return tuple(line[place : later + 1])
    return ()


def _together(one: LineCommit, other: LineCommit) -> bool:
    return one.text.author == other.text.author and abs(one.listed.time - other.listed.time) <= _SECONDS
