"""Descriptive statistics of one sample: the block shown for every metric of an arm."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from outweigh.stats.quantity import Quantity, known, unknown

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


def describe(values: Sequence[float | None]) -> Description:
    """Describe the known values of a sample; nothing known gives `None` throughout."""
    sample = np.array([value for value in values if value is not None], dtype=np.float64)
    missing = len(values) - sample.size
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
        median=float(np.median(sample)),
        mean=float(sample.mean()),
        mode=_smallest_mode(sample),
        min=float(sample.min()),
        max=float(sample.max()),
        population_std=float(sample.std()),
        sample_std=float(sample.std(ddof=1)) if sample.size > 1 else None,
        count=int(sample.size),
        unknown=missing,
    )


def median(values: Sequence[float]) -> Quantity:
    """Middle value, or the mean of the middle two."""
    return known(float(np.median(np.asarray(values, dtype=np.float64)))) if values else unknown("no values")


def mean(values: Sequence[float]) -> Quantity:
    """Arithmetic mean."""
    return known(float(np.mean(np.asarray(values, dtype=np.float64)))) if values else unknown("no values")


def population_variance(values: Sequence[float]) -> Quantity:
    """Mean squared deviation, dividing by n as the ladder's source does."""
    return known(float(np.var(np.asarray(values, dtype=np.float64)))) if values else unknown("no values")


def _smallest_mode(sample: np.ndarray) -> float:
    # Measured floats rarely repeat to the last bit, so the mode is taken over rounded values.
    distinct, counts = np.unique(np.round(sample, MODE_DECIMALS), return_counts=True)
    return float(distinct[counts.argmax()])
