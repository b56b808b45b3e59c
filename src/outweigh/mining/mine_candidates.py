"""Tries candidates one after the other, several at once, until there are tasks enough; each result is kept at once."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event

from msgspec.structs import replace

from outweigh.mining.candidate import Candidate
from outweigh.mining.journal import CandidateState, MinedCandidate, MiningJournal

TryCandidate = Callable[[Candidate], MinedCandidate | None]
"""Tries one candidate: installs, proves, writes the instruction. It does not raise for what a candidate is like.

None where it was cancelled before it knew."""

SIGNAL_SECONDS = 0.2
"""How long an interrupt may wait until it is noticed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningProgress:
    """Where mining stands. `left` are candidates that were not tried yet, `wanted` the tasks that are asked for."""

    found: MinedCandidate
    tried: int
    kept: int
    left: int
    wanted: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningLoop:
    """How to mine: who tries a candidate, how many at once, and when to stop.

    `drain` lets what is running end and starts nothing new; `discard` removes what a duplicate has written.
    """

    attempt: TryCandidate
    journal: MiningJournal
    settings: str
    jobs: int
    wanted: int | None
    drain: Event = field(default_factory=Event)
    listen: Callable[[MiningProgress], None] = lambda _: None
    discard: Callable[[MinedCandidate], None] = lambda _: None


def mine_candidates(candidates: Iterable[Candidate], loop: MiningLoop) -> dict[str, MinedCandidate]:
    """Try candidates in their order until enough are kept; those of the journal count and are not tried again."""
    offered = list(candidates)
    earlier = loop.journal.read(loop.settings)
    results = {each.fix: earlier[each.fix] for each in offered if each.fix in earlier}
    waiting = iter([each for each in offered if each.fix not in earlier])
    with ThreadPoolExecutor(loop.jobs) as threads:
        running: set[Future[MinedCandidate | None]] = set()
        while True:
            running |= _started(waiting, running, results, loop, threads)
            if not running:
                return results
            done, running = wait(running, timeout=SIGNAL_SECONDS, return_when=FIRST_COMPLETED)
            for ended in (each.result() for each in done):
                if ended is None:
                    continue
                found = _settled(ended, results, loop)
                loop.journal.append(found)
                results[found.fix] = found
                kept = count_kept(results)
                loop.listen(
                    MiningProgress(
                        found=found,
                        tried=len(results),
                        kept=kept,
                        left=len(offered) - len(results),
                        wanted=loop.wanted,
                    )
                )


def count_kept(results: Mapping[str, MinedCandidate]) -> int:
    """How many candidates became tasks."""
    return sum(each.state is CandidateState.KEPT for each in results.values())


def _started(
    waiting: Iterator[Candidate],
    running: set[Future[MinedCandidate | None]],
    results: Mapping[str, MinedCandidate],
    loop: MiningLoop,
    threads: ThreadPoolExecutor,
) -> set[Future[MinedCandidate | None]]:
    """As many as may run besides those that do. Near the end not more than are still wanted."""
    free = loop.jobs - len(running)
    if loop.wanted is not None:
        free = min(free, loop.wanted - count_kept(results) - len(running))
    started: set[Future[MinedCandidate | None]] = set()
    while len(started) < free and not loop.drain.is_set() and (candidate := next(waiting, None)) is not None:
        started.add(threads.submit(loop.attempt, candidate))
    return started


def _settled(found: MinedCandidate, results: Mapping[str, MinedCandidate], loop: MiningLoop) -> MinedCandidate:
    """The result, or that it is the same task as one that is known already."""
    twin = _twin(found, results.values()) if found.state is CandidateState.KEPT else None
    if twin is None:
        return found
    loop.discard(found)
    return replace(
        found, state=CandidateState.DUPLICATE, reason="is the same task as another", detail=twin.fix[:10], task=None
    )


def _twin(found: MinedCandidate, others: Iterable[MinedCandidate]) -> MinedCandidate | None:
    """A merge and a commit inside it are one task where the same tests tell about both."""
    tests, commits = set(found.fail_to_pass), {found.fix, *found.commits}
    for other in others:
        shared = commits & {other.fix, *other.commits}
        if other.state is CandidateState.KEPT and shared and tests == set(other.fail_to_pass):
            return other
    return None


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
