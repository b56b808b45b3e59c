"""One sample as an array: what may be wrong with it, its descriptive statistics, and pass@k and pass^k of its
attempts.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from math import comb

import numpy as np
from numpy.typing import NDArray

from outweigh.stats.estimate import Quantity, known, unknown

Sample = NDArray[np.float64]
Values = Sequence[float] | NDArray[np.float64]

# Differences of equal decimals leave rounding errors of this relative size, which are not variation.
ROUNDING_ERROR = 1e-12
_SMALLEST_SCALE = 1e-300


def as_sample(values: Values) -> Sample:
    """One-dimensional float64 array of the values."""
    return np.asarray(values, dtype=np.float64).reshape(-1)


def find_defect(*samples: Sample) -> str | None:
    """Why nothing can be computed from these samples: one is empty or holds a NaN or an infinity."""
    if any(sample.size == 0 for sample in samples):
        return "no values"
    unusable = sum(int(np.count_nonzero(~np.isfinite(sample))) for sample in samples)
    return f"{unusable} of the values are missing or infinite" if unusable else None


def require_pairs(*samples: Sample) -> None:
    """Refuse samples of different lengths: their elements are meant to belong together."""
    sizes = [int(sample.size) for sample in samples]
    if len(set(sizes)) > 1:
        raise ValueError(f"samples of lengths {sizes} do not pair up")


def has_no_spread(sample: Sample, scale: float | None = None) -> bool:
    """Whether the values differ by no more than rounding, relative to `scale` or to their own size."""
    size = float(np.abs(sample).max()) if scale is None else scale
    # Halved, because the range of the largest floats overflows.
    return bool(sample.max() / 2 - sample.min() / 2 <= ROUNDING_ERROR * (size / 2) + _SMALLEST_SCALE)


def zero_rounding_errors(sample: Sample) -> Sample:
    """The sample with zeros where a difference of equal numbers left a rounding error, so that signs can be counted."""
    return np.where(np.abs(sample) <= ROUNDING_ERROR * np.abs(sample).max(), 0.0, sample)


def sample_mean(sample: Sample) -> float:
    """Arithmetic mean, scaled so that huge values do not overflow."""
    scale = _magnitude(sample)
    return float((sample / scale).mean()) * scale


def sample_deviation(sample: Sample) -> float:
    """Standard deviation with n - 1, scaled so that squares neither overflow nor underflow."""
    scale = _magnitude(sample)
    return float((sample / scale).std(ddof=1)) * scale


def _magnitude(sample: Sample) -> float:
    return max(float(np.abs(sample).max()), _SMALLEST_SCALE)


MODE_DECIMALS = 6


class Description:
    """Location and spread of the known values; `unknown` counts the ones that are not in it.

    Each figure is computed when it is asked for, of values that are taken again, because there may be millions.
    """

    def __init__(self, values: Callable[[], Sample]) -> None:
        self._values = values

    def _of(self, figure: Callable[[Sample], float]) -> float | None:
        everything = self._values()
        unknown = np.isnan(everything)
        sample = everything[~unknown] if unknown.any() else everything
        return figure(sample) if sample.size else None

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        everything = self._values()
        unknown = int(np.count_nonzero(np.isnan(everything)))
        return everything.size - unknown, unknown

    def figures(self) -> dict[str, float | None]:
        """Every figure by its name."""
        names = ("median", "mean", "mode", "min", "max", "population_std", "sample_std", "count", "unknown")
        return {name: getattr(self, name) for name in names}

    @property
    def count(self) -> int:
        """How many values are known."""
        return self._sizes[0]

    @property
    def unknown(self) -> int:
        """How many are not."""
        return self._sizes[1]

    @cached_property
    def median(self) -> float | None:
        """The middle value, or the mean of the middle two."""
        return self._of(_middle)

    @cached_property
    def mean(self) -> float | None:
        """The arithmetic mean."""
        return self._of(lambda sample: float(sample.mean()))

    @cached_property
    def mode(self) -> float | None:
        """The most common value, rounded; the smallest of several."""
        return self._of(_smallest_mode)

    @cached_property
    def min(self) -> float | None:
        """The smallest value."""
        return self._of(lambda sample: float(sample.min()))

    @cached_property
    def max(self) -> float | None:
        """The largest value."""
        return self._of(lambda sample: float(sample.max()))

    @cached_property
    def population_std(self) -> float | None:
        """The standard deviation with n."""
        return self._of(lambda sample: float(sample.std()))

    @cached_property
    def sample_std(self) -> float | None:
        """The standard deviation with n - 1; None for a single value."""
        return self._of(lambda sample: float(sample.std(ddof=1))) if self.count > 1 else None


def describe(values: Sequence[float | None] | NDArray[np.float64]) -> Description:
    """Describe the known values of a sample (None or NaN is unknown); nothing known gives `None` throughout."""
    everything = np.asarray(values, dtype=np.float64)
    return Description(lambda: everything)


def median(values: Values) -> Quantity:
    """Middle value, or the mean of the middle two."""
    return known(_middle(np.asarray(values, dtype=np.float64))) if len(values) else unknown("no values")


def mean(values: Values) -> Quantity:
    """Arithmetic mean."""
    return known(float(np.mean(values))) if len(values) else unknown("no values")


def population_variance(values: Values) -> Quantity:
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


def pass_at_k(attempts: int, passes: int, k: int) -> Quantity:
    """Chance that at least one of k attempts, drawn from those made, passes."""
    if reason := _undefined(attempts, passes, k):
        return unknown(reason)
    return known(1.0 - comb(attempts - passes, k) / comb(attempts, k))


def pass_hat_k(attempts: int, passes: int, k: int) -> Quantity:
    """Chance that all of k attempts, drawn from those made, pass."""
    if reason := _undefined(attempts, passes, k):
        return unknown(reason)
    return known(comb(passes, k) / comb(attempts, k))


def _undefined(attempts: int, passes: int, k: int) -> str | None:
    if not 0 <= passes <= attempts:
        return f"{passes} passes of {attempts} attempts is impossible"
    if k < 1:
        return "k must be at least 1"
    if attempts < k:
        return f"{attempts} attempts cannot say anything about {k}"
    return None


def reliability_curves(attempts: int, passes: int, largest: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """pass@k and pass^k for k = 1 … largest, as running products instead of huge binomials."""
    drawn = np.arange(largest, dtype=np.float64)
    all_fail = np.cumprod(np.maximum(attempts - passes - drawn, 0) / (attempts - drawn))
    all_pass = np.cumprod(np.maximum(passes - drawn, 0) / (attempts - drawn))
    return (1.0 - all_fail).astype(np.float64), all_pass.astype(np.float64)
