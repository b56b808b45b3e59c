"""The bootstrap interval of a mean over single runs, as ProjectScylla publishes it.

Runs of one task are not independent, so this interval is narrower than one over tasks. It is there to be compared with
published tables, and decides nothing.
"""

from math import sqrt

import numpy as np

from outweigh.stats.distributions import normal_cdf, normal_quantile
from outweigh.stats.estimate import Estimate, Interval, Unit, unknown_estimate
from outweigh.stats.sample import Sample, Values, as_sample, find_defect, has_no_spread

DRAWS = 10_000
SEED = 42
LEVEL = 0.95
MOST_RUNS = 2_000
"""Beyond this many runs the draws take seconds, and an interval over runs says nothing that one over tasks does not."""

_METHOD = "bias-corrected and accelerated bootstrap of runs"
_CELLS = 2**21


def bca_interval(values: Values) -> Estimate:
    """The mean with its bias-corrected and accelerated bootstrap interval, from draws that are always the same."""
    sample = as_sample(values)
    size = int(sample.size)
    if defect := find_defect(sample):
        return unknown_estimate(defect, n=size, unit=Unit.RUN, method=_METHOD, point=None)
    mean = float(sample.mean())
    if size > MOST_RUNS:
        reason = f"an interval over runs is made of {MOST_RUNS:,} runs at most"
        return unknown_estimate(reason, n=size, unit=Unit.RUN, method=_METHOD, point=mean)
    if size == 1 or has_no_spread(sample):
        reason = "there is one run" if size == 1 else "all runs have the same value"
        return _estimate(sample, mean, mean, (f"{reason}, so the interval has no width and says nothing",))
    draws = _draw_means(sample)
    low, high = np.percentile(draws, [100 * probability for probability in _probabilities(sample, draws)])
    return _estimate(sample, float(low), float(high), ())


def _draw_means(sample: Sample) -> Sample:
    """Means of samples with replacement, a block at a time."""
    # The older generator, because numpy promises that its stream never changes.
    generator = np.random.RandomState(SEED)
    rows = max(1, _CELLS // sample.size)
    blocks = [min(rows, DRAWS - start) for start in range(0, DRAWS, rows)]
    return np.concatenate(
        [sample[generator.randint(0, sample.size, size=(block, sample.size))].mean(axis=1) for block in blocks]
    )


def _probabilities(sample: Sample, draws: Sample) -> tuple[float, float]:
    """The quantiles of the draws that bound the interval, moved by the bias and the skewness of the mean."""
    mean, size = sample.mean(), sample.size
    share = float((np.count_nonzero(draws < mean) + np.count_nonzero(draws <= mean)) / (2 * draws.size))
    bias = normal_quantile(share)
    deviations = sample - mean
    acceleration = float((deviations**3).sum() / size**3 / ((deviations**2).sum() / size**2) ** 1.5 / 6)
    tail = normal_quantile((1 - LEVEL) / 2)
    low, high = (normal_cdf(bias + (bias + z) / (1 - acceleration * (bias + z))) for z in (tail, -tail))
    return low, high


def _estimate(sample: Sample, low: float, high: float, warnings: tuple[str, ...]) -> Estimate:
    size = int(sample.size)
    return Estimate(
        point=float(sample.mean()),
        interval=Interval(low=low, high=high, level=LEVEL, method=_METHOD),
        standard_error=float(sample.std(ddof=1)) / sqrt(size) if size > 1 else None,
        n=size,
        unit=Unit.RUN,
        method=_METHOD,
        warnings=warnings,
    )
