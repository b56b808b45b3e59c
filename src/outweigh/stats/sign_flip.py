"""The sign-flip permutation test of task deltas: how often would random labels of the arms look like the data?

A file of its own, because it loads numpy.random, which a plain verdict does not need.
"""

import numpy as np
from numpy.random import Generator

from outweigh.stats.estimate import Alternative, Significance, Unit, unknown_significance
from outweigh.stats.sample import ROUNDING_ERROR, Sample, Values, as_sample, find_defect, sample_mean

EXACT_LIMIT = 20
FLIPS = 100_000
_BYTE_SIGNS = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)


def sign_flip_test(deltas: Values, *, alternative: Alternative, rng: Generator, unit: Unit) -> Significance:
    """Test the mean of task deltas: all flips up to 20 tasks, 100,000 random ones beyond."""
    sample = as_sample(deltas)
    n, method = int(sample.size), "sign-flip permutation"
    if defect := find_defect(sample):
        return unknown_significance(defect, n=n, unit=unit, method=method)
    largest = float(np.abs(sample).max())
    if largest == 0:
        return unknown_significance(
            "every delta is zero, so flipping signs changes nothing", n=n, unit=unit, method=method
        )
    towards = -1.0 if alternative is Alternative.LESS else 1.0
    scaled = sample * towards / largest
    exact = n <= EXACT_LIMIT
    p_value = _exact_p(scaled, alternative) if exact else _random_p(scaled, alternative, rng)
    return Significance(
        p_value=p_value,
        statistic=sample_mean(sample),
        n=n,
        unit=unit,
        method=f"{method}, all {2**n} flips" if exact else f"{method}, {FLIPS} random flips",
        warnings=(),
    )


def _exact_p(sample: Sample, alternative: Alternative) -> float:
    """Meet in the middle: sums of both halves, then count the pairs of sums that reach the observed one."""
    half = sample.size // 2
    left, right = _signed_sums(sample[:half]), np.sort(_signed_sums(sample[half:]))
    threshold = _threshold(sample, alternative)
    reached = left.size * right.size - int(np.searchsorted(right, threshold - left).sum())
    share = reached / 2.0**sample.size
    # Flipping every sign mirrors the distribution, so both tails together are twice one.
    return share if alternative is not Alternative.TWO_SIDED else min(1.0, 2 * share)


def _random_p(sample: Sample, alternative: Alternative, rng: Generator) -> float:
    sums = _random_sums(sample, rng)
    if alternative is Alternative.TWO_SIDED:
        sums = np.abs(sums)
    reached = int(np.count_nonzero(sums >= _threshold(sample, alternative)))
    return (1 + reached) / (1 + FLIPS)


def _threshold(sample: Sample, alternative: Alternative) -> float:
    """The observed sum, less a rounding allowance so that sums equal on paper count as equal."""
    observed = float(sample.sum())
    if alternative is Alternative.TWO_SIDED:
        observed = abs(observed)
    return observed - ROUNDING_ERROR * float(np.abs(sample).sum())


def _signed_sums(sample: Sample) -> Sample:
    """All 2^n sums of ± the values."""
    sums = np.zeros(1)
    for delta in sample:
        sums = np.concatenate([sums + delta, sums - delta])
    return sums


def _random_sums(sample: Sample, rng: Generator) -> Sample:
    """Sums under random signs: each random byte picks one of the 256 signed sums of eight tasks."""
    padded = np.concatenate([sample, np.zeros(-sample.size % 8)])
    sums = np.zeros(FLIPS)
    for table in padded.reshape(-1, 8) @ _BYTE_SIGNS.T:
        sums += table[np.frombuffer(rng.bytes(FLIPS), dtype=np.uint8)]
    return sums
