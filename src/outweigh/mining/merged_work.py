"""Which commits came into the history together: what each merge brought, and the lines of commits between merges."""

from collections.abc import Mapping
from dataclasses import dataclass

from outweigh.mining.history_objects import ListedCommit

_MOST_DEPTH = 30


@dataclass(frozen=True, slots=True)
class MergedLines:
    """The history as lines of commits, outer ones first, each oldest first; and what each merge on them brought."""

    lines: tuple[tuple[str, ...], ...]
    inner: Mapping[str, tuple[str, ...]]


def merged_lines(head: str, commits: Mapping[str, ListedCommit]) -> MergedLines:
    """Take a history apart: the first parents from the head, then the same for what each merge brought."""
    lines: list[tuple[str, ...]] = []
    inner: dict[str, tuple[str, ...]] = {}
    waiting = [(head, set(commits), 0)]
    while waiting:
        start, allowed, depth = waiting.pop(0)
        line = _first_parents(start, commits, allowed)
        if not line:
            continue
        lines.append(line)
        seen: set[str] = set()
        for name in line:
            seen.add(name)
            others = commits[name].parents[1:]
            brought = _reachable(others, commits, allowed, seen)
            if others:
                inner[name] = tuple(sorted(brought, key=lambda each: (commits[each].time, each)))
            if brought and depth < _MOST_DEPTH:
                waiting += [(other, brought, depth + 1) for other in others]
            seen |= brought
    return MergedLines(tuple(lines), inner)


def _first_parents(start: str, commits: Mapping[str, ListedCommit], allowed: set[str]) -> tuple[str, ...]:
    line = []
    name: str | None = start
    while name is not None and name in allowed:
        line.append(name)
        name = next(iter(commits[name].parents), None)
    return tuple(reversed(line))


def _reachable(
    starts: tuple[str, ...], commits: Mapping[str, ListedCommit], allowed: set[str], seen: set[str]
) -> set[str]:
    found: set[str] = set()
    waiting = list(starts)
    while waiting:
        name = waiting.pop()
        if name in allowed and name not in seen and name not in found:
            found.add(name)
            waiting.extend(commits[name].parents)
    return found
