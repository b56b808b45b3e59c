"""A sample as an array, and what may be wrong with it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Sample = NDArray[np.float64]
Values = Sequence[float] | NDArray[np.float64]

# Differences of equal decimals leave dust of this relative size; it is not variation.
ROUNDING_DUST = 1e-12
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
    return bool(sample.max() / 2 - sample.min() / 2 <= ROUNDING_DUST * (size / 2) + _SMALLEST_SCALE)


def clear_dust(sample: Sample) -> Sample:
    """The sample with zeros where a difference of equal numbers left rounding dust, so that signs can be counted."""
    return np.where(np.abs(sample) <= ROUNDING_DUST * np.abs(sample).max(), 0.0, sample)


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
