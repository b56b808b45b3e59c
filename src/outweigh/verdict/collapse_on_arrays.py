"""Collapsed tasks in many simulated experiments at once, as `collapse` finds them, and drops as version 1 did."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from outweigh.verdict.collapse import COLLAPSE, COUNT_SHARE, DROP_LEVEL, chance_of_lost_passes
from outweigh.verdict.gate_sample import BENEFIT_ROUNDING
from outweigh.verdict.task_drops import MINIMUM_RUNS, fisher_drop_p

Values = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]


def tasks_collapsed(passes: tuple[Counts, Counts], runs: int, alpha: float) -> Flags:
    """Whether more tasks collapsed, or one fell deeper, than chance explains.

    `passes` are of both arms, experiments × tasks, out of so many runs.
    """
    before, after = passes
    rings = np.zeros(len(before), dtype=bool)
    p_values = _drop_p_values(runs)[before, after]
    suspects = np.flatnonzero((p_values <= DROP_LEVEL).any(axis=1))
    if not len(suspects):
        return rings
    p_values, both = p_values[suspects], (before + after)[suspects]
    fallen = ((before - after)[suspects] / runs >= COLLAPSE - BENEFIT_ROUNDING) & (p_values <= DROP_LEVEL)
    counted = _count_p_values(fallen.sum(axis=1), _drop_chances(runs, DROP_LEVEL, COLLAPSE)[both])
    deepest, single = p_values.min(axis=1), np.ones(len(suspects))
    for level in set(deepest.tolist()):
        rows = deepest == level
        single[rows] = -np.expm1(np.log1p(-_drop_chances(runs, level, 0.0)[both[rows]]).sum(axis=1))
    rings[suspects] = np.minimum(counted / COUNT_SHARE, single / (1 - COUNT_SHARE)) <= alpha
    return rings


def tasks_dropped(passes: tuple[Counts, Counts], runs: int, alpha: float) -> Flags:
    """Whether any task fell beyond chance by version 1, which corrects over tasks (Benjamini and Hochberg)."""
    before, after = passes
    if runs < MINIMUM_RUNS:
        return np.zeros(len(before), dtype=bool)
    ranked = np.sort(_drop_p_values(runs)[before, after], axis=1)
    tasks = ranked.shape[1]
    rings: Flags = (ranked <= alpha * np.arange(1, tasks + 1) / tasks).any(axis=1)
    return rings


@cache
def _drop_p_values(runs: int) -> Values:
    """Of a drop from so many passes to so many; 1 where there is none."""
    places = range(runs + 1)
    return np.array([[fisher_drop_p(runs, b, runs, a) if a < b else 1.0 for a in places] for b in places])


@cache
def _drop_chances(runs: int, level: float, fall: float) -> Values:
    """How likely a drop at this level and of this size is by chance, by the passes of both arms."""
    return np.array([chance_of_lost_passes(runs, runs, passes, level, fall) for passes in range(2 * runs + 1)])


def _count_p_values(counts: Counts, chances: Values) -> Values:
    """Chance of at least so many drops in every experiment (Poisson-binomial)."""
    law = np.zeros((len(counts), int(counts.max()) + 1))
    law[:, 0] = 1.0
    for chance in chances.T:
        law[:, 1:] += chance[:, None] * (law[:, :-1] - law[:, 1:])
        law[:, 0] *= 1 - chance
    fewer = np.cumsum(law, axis=1)[np.arange(len(counts)), np.maximum(counts - 1, 0)]
    return np.where(counts > 0, np.maximum(0.0, 1 - fewer), 1.0)
