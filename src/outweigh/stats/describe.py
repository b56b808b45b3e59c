"""Descriptive statistics of one sample: the block shown for every metric of an arm."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outweigh.stats.quantity import Quantity, known, unknown

Sample = Sequence[float] | NDArray[np.float64]

MODE_DECIMALS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """Location and spread of the known values; `unknown` counts the ones that are not in it."""

    median: float | None
    mean: float | None
    mode: float | None
    min: float | None
    max: float | None
    population_std: float | None
    sample_std: float | None
    count: int
    unknown: int


def describe(values: Sequence[float | None] | NDArray[np.float64]) -> Description:
    """Describe the known values of a sample (None or NaN is unknown); nothing known gives `None` throughout."""
    everything = np.asarray(values, dtype=np.float64)
    sample = everything[~np.isnan(everything)]
    missing = everything.size - sample.size
    if sample.size == 0:
        return Description(
            median=None,
            mean=None,
            mode=None,
            min=None,
            max=None,
            population_std=None,
            sample_std=None,
            count=0,
            unknown=missing,
        )
    return Description(
        median=_middle(sample),
        mean=float(sample.mean()),
        mode=_smallest_mode(sample),
        min=float(sample.min()),
        max=float(sample.max()),
        population_std=float(sample.std()),
        sample_std=float(sample.std(ddof=1)) if sample.size > 1 else None,
        count=int(sample.size),
        unknown=missing,
    )


def median(values: Sample) -> Quantity:
    """Middle value, or the mean of the middle two."""
    return known(_middle(np.asarray(values, dtype=np.float64))) if len(values) else unknown("no values")


def mean(values: Sample) -> Quantity:
    """Arithmetic mean."""
    return known(float(np.mean(values))) if len(values) else unknown("no values")


def population_variance(values: Sample) -> Quantity:
    """Mean squared deviation, dividing by n as the ladder's source does."""
    return known(float(np.var(values))) if len(values) else unknown("no values")


def _middle(sample: NDArray[np.float64]) -> float:
    # numpy's own median imports its masked arrays, which takes longer than most verdicts.
    ranked = np.sort(sample)
    return float((ranked[(sample.size - 1) // 2] + ranked[sample.size // 2]) / 2)


def _smallest_mode(sample: NDArray[np.float64]) -> float:
    # Measured floats rarely repeat to the last bit, so the mode is taken over rounded values.
    distinct, counts = np.unique(np.round(sample, MODE_DECIMALS), return_counts=True)
    return float(distinct[counts.argmax()])
