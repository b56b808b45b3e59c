"""Which step of a sequence of set-ups made it worse: what to run next, and when the search ends.

A noisy binary search. Both ends are run first, until they are known to differ. Then each round tests the step that
splits the remaining probability in half, on the tasks that tell most, with runs of the good end among them. The search
ends when one step has the probability 1 - error, or when nothing more may be run (docs/adr/0052).
"""

from enum import StrEnum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from outweigh.stats.change_point import ChangePosterior, expected_information, find_change, weigh_two_changes

Counts = NDArray[np.int64]

DEFAULT_ERROR = 0.05
FIRST_REPEATS = 2
"""How often both ends are run on every task before anything is concluded."""
ENDS_DIFFER = 0.9
"""How likely a loss between the ends must be before steps between them are tested."""
ROUND_TASKS = 6
"""How many tasks a round tests a step on."""
ANCHOR_EVERY = 2
"""On every second task of a round, the good end is run beside the step."""
MOST_REPEATS = 20
"""A task is not run more often than this at one step."""
MOST_SHARE, END_SHARE = 0.75, 0.4
"""Of the runs of testing every step: how many a search may make, and how many to find out whether the ends differ. On
average it needs far fewer.
"""
TWO_CHANGES = 10.0
"""The evidence from which two steps are said to have made it worse, and not one."""


class SearchEnd(StrEnum):
    """How a search ends."""

    FOUND = "found"
    SEVERAL = "several"
    NO_DIFFERENCE = "no_difference"
    BETTER = "better"
    UNDECIDED = "undecided"


class SearchLimits(Struct, frozen=True, kw_only=True):
    """The error that is stated beforehand, and how many runs may be made.

    `most_end_runs` is for both ends together while they are not known to differ. From `usual_end_runs` on, which is
    what an ordinary comparison of the ends takes, the search also ends when they are known to be the same.
    """

    error: float
    usual_end_runs: int
    most_end_runs: int
    most_runs: int


def search_limits(
    steps: int, tasks: int, repeats: int, *, error: float = DEFAULT_ERROR, most_runs: int | None = None
) -> SearchLimits:
    """The limits for so many set-ups, ends included, from what testing each of them at all repeats would take."""
    whole = tasks * repeats
    most = max(int(MOST_SHARE * steps * whole), 3 * whole) if most_runs is None else most_runs
    ends = max(int(END_SHARE * steps * whole), 2 * whole)
    return SearchLimits(error=error, usual_end_runs=2 * whole, most_end_runs=min(ends, most), most_runs=most)


class SearchRound(Struct, frozen=True, kw_only=True):
    """What to run next: places of steps and tasks, one run each."""

    runs: tuple[tuple[int, int], ...]


class CulpritResult(Struct, frozen=True, kw_only=True, eq=False):
    """How the search ended, and what is believed. `likely` are the steps that together have the probability 1 - error.

    `also` is the second step where there are several.
    """

    end: SearchEnd
    posterior: ChangePosterior
    likely: tuple[int, ...]
    also: tuple[int, ...] = ()

    @property
    def step(self) -> int | None:
        """The culprit, counted from 1; None where none is named."""
        return self.posterior.best if self.end is SearchEnd.FOUND else None


def next_round(passes: Counts, runs: Counts, limits: SearchLimits) -> SearchRound | CulpritResult:
    """What the outcomes so far ask for: one more round, or the end. Counts are steps × tasks."""
    first = _first_runs(runs)
    if first is not None:
        return first
    posterior = find_change(passes, runs)
    if (end := _decided(posterior, limits.error)) is not None:
        return _end(end, posterior, passes, runs, limits)
    made = int(runs.sum())
    differ = posterior.worse >= ENDS_DIFFER
    if made >= limits.most_runs:
        return _end(SearchEnd.UNDECIDED if differ else SearchEnd.NO_DIFFERENCE, posterior, passes, runs, limits)
    ends = int(runs[[0, -1]].sum())
    same = posterior.same >= 1 - limits.error and ends >= limits.usual_end_runs
    if same or (not differ and ends >= limits.most_end_runs):
        return _end(SearchEnd.NO_DIFFERENCE, posterior, passes, runs, limits)
    chosen = _step_round(posterior, runs) if differ else _end_round(posterior, runs)
    if not chosen:
        return _end(SearchEnd.UNDECIDED if differ else SearchEnd.NO_DIFFERENCE, posterior, passes, runs, limits)
    return SearchRound(runs=tuple(chosen[: max(1, limits.most_runs - made)]))


def _first_runs(runs: Counts) -> SearchRound | None:
    last = len(runs) - 1
    missing = [
        (step, task)
        for task in range(runs.shape[1])
        for step in (0, last)
        for _ in range(FIRST_REPEATS - int(runs[step, task]))
    ]
    return SearchRound(runs=tuple(missing)) if missing else None


def _decided(posterior: ChangePosterior, error: float) -> SearchEnd | None:
    if posterior.steps.max() >= 1 - error:
        return SearchEnd.FOUND
    return SearchEnd.BETTER if posterior.better >= 1 - error else None


def _end(
    end: SearchEnd, posterior: ChangePosterior, passes: Counts, runs: Counts, limits: SearchLimits
) -> CulpritResult:
    also: tuple[int, ...] = ()
    if end in (SearchEnd.FOUND, SearchEnd.UNDECIDED):
        two = weigh_two_changes(passes, runs)
        if two is not None and two.evidence >= TWO_CHANGES:
            end, also = SearchEnd.SEVERAL, two.steps
    return CulpritResult(end=end, posterior=posterior, likely=_likely(posterior, limits.error), also=also)


def _likely(posterior: ChangePosterior, error: float) -> tuple[int, ...]:
    """The fewest steps that hold the loss with the probability 1 - error, in order; given that there is a loss."""
    order = np.argsort(-posterior.steps, kind="stable")
    reached = np.cumsum(posterior.steps[order]) / posterior.worse
    needed = int(np.searchsorted(reached, 1 - error)) + 1
    return tuple(sorted(int(place) + 1 for place in order[:needed]))


def _end_round(posterior: ChangePosterior, runs: Counts) -> list[tuple[int, int]]:
    """Both ends once more on the tasks that seem to have lost most, and on those that were run least."""
    last = len(runs) - 1
    drop = posterior.before - posterior.after
    order = np.lexsort((runs[last], -drop))
    chosen = [int(task) for task in order if runs[[0, last], task].max() < MOST_REPEATS][: -(-runs.shape[1] // 2)]
    return [(step, task) for task in chosen for step in (0, last)]


def _step_round(posterior: ChangePosterior, runs: Counts) -> list[tuple[int, int]]:
    """The step that splits what is left in half, on the tasks that tell most; the ends again where none can be run."""
    shares = np.cumsum(posterior.steps) / posterior.worse
    order = np.argsort(np.abs(shares[:-1] - 0.5), kind="stable")
    for place in order:
        step = int(place) + 1
        told = expected_information(float(shares[place]), posterior.after, posterior.before)
        tasks = [int(task) for task in np.argsort(-told, kind="stable") if runs[step, task] < MOST_REPEATS]
        if tasks:
            chosen = tasks[:ROUND_TASKS]
            anchored = [(0, task) for task in chosen[::ANCHOR_EVERY] if runs[0, task] < 2 * MOST_REPEATS]
            return [*((step, task) for task in chosen), *anchored]
    return _end_round(posterior, runs)
