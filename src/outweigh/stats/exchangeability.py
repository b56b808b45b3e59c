"""Whether later observations still follow the law of the first ones, tested as often as anybody likes.

The null hypothesis is that the runs of each task are exchangeable: those of the reference and all that were added
since. Nothing else is assumed about their distribution. Every row (one new value of each of some tasks) gives one
score:

1. Pool each task's earlier values with its new one. Given these pools, the new values are one draw from each, all draws
   equally likely, so the rank of their sum among sums of such draws is uniform (ties are split at random).
2. The ranks of different rows are independent: given the pools of a row and everything after it, its rank is uniform,
   and the later ranks depend on nothing else. The reference counts as a part of the pools, so its own error, which all
   rows share, is accounted for; a test of new values against a fixed reference mean would not hold its level.
3. So the scores Φ⁻¹(rank) are independent standard normal under the null, and a mixture of likelihood ratios for a
   shift is a martingale that starts at 1. By Ville's inequality it ever reaches 1/α with a probability of at most α.

The mixture is over the size of the shift and over the row at which it began. A shift that begins at row i shows in a
later row in proportion to the share of the pool that is older than row i; the weights use these counts alone.
"""

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.random import Generator
from numpy.typing import NDArray

from outweigh.stats.distributions import normal_quantile

Floats = NDArray[np.float64]

SHIFTS = (0.25, 1.0)
"""Standard deviations of the shifts looked for, in units of the scatter between runs of a task: small and large."""
_DRAWS = 999
_EARLIEST = 0.5
"""The weight of a shift that began before the first row; later starts share the rest."""


class ScoredRow(Struct, frozen=True, kw_only=True):
    """The score of one row, and the places of its tasks."""

    score: float
    tasks: tuple[int, ...]


def score_row(new: Sequence[float], earlier: Sequence[Sequence[float]], random: Generator) -> float:
    """Standard normal where every new value is exchangeable with the earlier ones of its task; high where larger."""
    drawn = np.zeros(_DRAWS)
    total = 0.0
    for value, known in zip(new, earlier, strict=True):
        pool = np.array([*sorted(known), value])
        drawn += pool[random.integers(0, len(pool), _DRAWS)]
        total += value
    below, ties = np.count_nonzero(drawn < total), np.count_nonzero(drawn == total)
    rank = (below + random.random() * (1 + ties)) / (_DRAWS + 1)
    return normal_quantile(min(max(rank, 1e-9), 1 - 1e-9))


def log_evidence(rows: Sequence[ScoredRow], reference: Sequence[int]) -> Floats:
    """The log of the martingale after each row; `reference` has the number of reference values of every task."""
    counts = np.zeros((len(rows) + 1, len(reference)))
    counts[0] = reference
    sums, variances = np.zeros(len(rows)), np.zeros(len(rows))
    starts = np.log([_start_weight(row) for row in range(len(rows))])
    found = np.zeros(len(rows))
    for row, each in enumerate(rows):
        tasks = list(each.tasks)
        older = counts[: row + 1, tasks] / counts[row, tasks]
        size = counts[row, tasks] / (counts[row, tasks] + 1)
        weights = older.mean(axis=1) * math.sqrt(size.sum())
        sums[: row + 1] += weights * each.score
        variances[: row + 1] += weights**2
        begun = starts[: row + 1] + _log_ratios(sums[: row + 1], variances[: row + 1])
        found[row] = np.logaddexp.reduce([*begun, math.log((1 - _EARLIEST) / (row + 1))])
        counts[row + 1] = counts[row]
        counts[row + 1, tasks] += 1
    return found


def _start_weight(row: int) -> float:
    return _EARLIEST if row == 0 else (1 - _EARLIEST) / (row * (row + 1))


def _log_ratios(sums: Floats, variances: Floats) -> Floats:
    """Likelihood ratios of a normal shift against none, averaged over the two sizes."""
    each = []
    for shift in SHIFTS:
        rho = 1 / shift**2
        spread = variances + rho
        each.append(0.5 * np.log(rho / spread) + sums**2 / (2 * spread) - math.log(len(SHIFTS)))
    ratios: Floats = np.logaddexp.reduce(each)
    return ratios
