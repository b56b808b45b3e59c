"""The order in which candidates are tried: spread over sub-systems and time, the newest of each first."""

from collections import Counter
from collections.abc import Callable, Sequence

from outweigh.mining.candidate import Candidate


def spread_candidates(candidates: Sequence[Candidate], family_of: Callable[[Candidate], str]) -> list[Candidate]:
    """Every candidate once. First the newest of every sub-system and year, then the second newest of each, and so on.

    Whoever stops early has tasks from all of the history rather than from its last month or its largest folder.
    """
    newest_first = sorted(candidates, key=lambda each: (each.date, each.fix), reverse=True)
    place: Counter[tuple[str, int]] = Counter()
    ranks: dict[str, int] = {}
    for candidate in newest_first:
        cell = family_of(candidate), candidate.date.year
        ranks[candidate.fix] = place[cell]
        place[cell] += 1
    return sorted(newest_first, key=lambda each: ranks[each.fix])
