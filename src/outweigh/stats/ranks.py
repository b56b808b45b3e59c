"""Ranks, with ties sharing the mean of the places they take."""

import numpy as np
from numpy.typing import NDArray

from outweigh.stats.sample import Sample


def average_ranks(sample: Sample) -> Sample:
    """Rank of every value, from 1; O(n log n)."""
    _, group, sizes = np.unique(sample, return_inverse=True, return_counts=True)
    ranks: Sample = (np.cumsum(sizes) - (sizes - 1) / 2)[group]
    return ranks


def doubled_ranks(sample: Sample) -> NDArray[np.int64]:
    """Twice the average ranks: whole numbers even with ties, so that rank sums can be counted exactly."""
    return np.rint(2 * average_ranks(sample)).astype(np.int64)


def tie_excess(sample: Sample) -> float:
    """Sum of t³ - t over groups of t tied values; rank statistics vary less by this much."""
    sizes = np.unique(sample, return_counts=True)[1].astype(np.float64)
    return float((sizes**3 - sizes).sum())
