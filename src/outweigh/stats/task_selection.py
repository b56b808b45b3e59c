"""Which tasks to keep: the order in which they leave a suite, and what is left of its t statistic on other arms."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import sqrt

import numpy as np
from msgspec import Struct

from outweigh.stats.task_information import Counts, TaskInformation, Values, estimate_information

LEAST_STRATUM_SHARE = 0.5
"""A family keeps at least this part of the tasks that it would have if all families shrank equally, and at least 1."""

MOST_PAIRS = 30


class TaskOrder(Struct, frozen=True, kw_only=True):
    """`places` has the rows of all tasks, the one to keep longest first; families allow no fewer than `fewest`."""

    places: tuple[int, ...]
    fewest: int

    def keep(self, size: int) -> Counts:
        """The rows of the best `size` tasks."""
        return np.array(sorted(self.places[:size]), dtype=np.intp)


def order_tasks(information: TaskInformation, prices: Values, strata: Sequence[str | None]) -> TaskOrder:
    """Drop the task whose loss costs the t statistic least for its price, again and again; ties by the given order.

    `strata` are the families: no one of them falls below its least share before all others are there. A task without
    a family is free to go.
    """
    gain, variance = information.gain.copy(), information.variance
    total = len(gain)
    left, dropped = np.ones(total, dtype=bool), list[int]()
    whole_gain, whole_variance = float(gain.sum()), float(variance.sum())
    floors = _Floors(strata)
    while len(dropped) < total - 1:
        free = left & floors.free(total - len(dropped))
        if not free.any():
            break
        loss = _loss(gain, variance, whole_gain, whole_variance) / prices
        place = int(np.argmin(np.where(free, loss, np.inf)))
        left[place] = False
        floors.drop(place)
        dropped.append(place)
        whole_gain -= float(gain[place])
        whole_variance -= float(variance[place])
    rest = np.flatnonzero(left)
    last = rest[np.argsort(_loss(gain, variance, whole_gain, whole_variance)[rest], kind="stable")]
    return TaskOrder(places=tuple(int(place) for place in [*last[::-1], *reversed(dropped)]), fewest=len(rest))


def _loss(gain: Values, variance: Values, whole_gain: float, whole_variance: float) -> Values:
    """By how much the logarithm of the t statistic falls without each task; below 0 where it rises."""
    tiny = np.finfo(float).tiny
    gains = np.log(np.maximum(whole_gain - gain, tiny)) - np.log(max(whole_gain, tiny))
    variances = np.log(np.maximum(whole_variance - variance, tiny)) - np.log(max(whole_variance, tiny))
    loss: Values = variances / 2 - gains
    return loss


class _Floors:
    """How many tasks of each family are left, and which of them may go."""

    def __init__(self, strata: Sequence[str | None]) -> None:
        names = sorted({name for name in strata if name is not None})
        self._family = np.array([-1 if name is None else names.index(name) for name in strata], dtype=np.intp)
        self._size = np.bincount(self._family[self._family >= 0], minlength=len(names))
        self._left = self._size.copy()

    def free(self, now: int) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """The tasks that may be dropped when there are `now` of them."""
        share = (now - 1) / len(self._family)
        floor = np.maximum(1, LEAST_STRATUM_SHARE * self._size * share)
        may_go = np.append(self._left - 1 >= floor, True)
        return may_go[self._family]

    def drop(self, place: int) -> None:
        """Note that a task has gone."""
        if self._family[place] >= 0:
            self._left[self._family[place]] -= 1


class HeldOut(Struct, frozen=True, kw_only=True):
    """What a choice keeps of the t statistic of arms or runs that it was not made from, over `pairs` of arms."""

    share: float
    pairs: int


class Fold(Struct, frozen=True, kw_only=True):
    """Runs to choose tasks by, and others to measure the choice by, as passes and runs of every task and arm."""

    passes: Counts
    runs: Counts
    held_out_passes: Counts
    held_out_runs: Counts


def folds_of_arms(passes: Counts, runs: Counts) -> Iterator[Fold]:
    """For every pair of arms, the others to choose by; a regular selection of the pairs where there are many."""
    arms = passes.shape[1]
    pairs = list(combinations(range(arms), 2)) if arms > 3 else []
    for pair in pairs[:: -(-len(pairs) // MOST_PAIRS)] if pairs else ():
        others = [arm for arm in range(arms) if arm not in pair]
        judged = list(pair)
        if (runs[:, others].sum(axis=1) > 0).all():
            yield Fold(
                passes=passes[:, others],
                runs=runs[:, others],
                held_out_passes=passes[:, judged],
                held_out_runs=runs[:, judged],
            )


class HeldOutRuns:
    """Choices that were made on some runs, each to be measured on others."""

    def __init__(self, folds: Sequence[Fold], prices: Values, strata: Sequence[str | None]) -> None:
        # Where all runs passed, or none did, there is nothing to choose by.
        self._folds = [fold for fold in folds if 0 < fold.passes.sum() < fold.runs.sum()]
        self._orders = [
            order_tasks(estimate_information(fold.passes, fold.runs, strata), prices, strata) for fold in self._folds
        ]

    def measure(self, size: int) -> HeldOut | None:
        """What is left of the t statistics of the pairs that were held out, if `size` tasks are kept.

        The slope of the t statistics of the chosen tasks on those of all tasks, through 0, over all pairs; of tasks
        that are drawn at random it is the root of their share. None where no pair differs.
        """
        products, squares, pairs = 0.0, 0.0, 0
        for fold, order in zip(self._folds, self._orders, strict=True):
            chosen = order.keep(max(size, order.fewest))
            for deltas in _deltas_of_pairs(fold):
                every, kept = task_t(deltas), task_t(deltas[chosen])
                products += every * kept
                squares += every**2
                pairs += 1
        return HeldOut(share=products / squares, pairs=pairs) if squares > 0 else None


def _deltas_of_pairs(fold: Fold) -> Iterator[Values]:
    """Task deltas of every pair of arms that was held out; NaN where one of them did not run the task."""
    known = fold.held_out_runs > 0
    rates = np.full(known.shape, np.nan)
    np.divide(fold.held_out_passes, fold.held_out_runs, out=rates, where=known)
    for one, other in combinations(range(known.shape[1]), 2):
        yield rates[:, other] - rates[:, one]


def task_t(deltas: Values) -> float:
    """The t statistic of the known deltas; 0 where there are fewer than two or all are the same."""
    known = deltas[np.isfinite(deltas)]
    if len(known) < 2:
        return 0.0
    error = float(known.std(ddof=1)) / sqrt(len(known))
    return float(known.mean()) / error if error > np.finfo(float).eps else 0.0
