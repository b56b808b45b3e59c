"""How often at least one, or every one, of k attempts passes (unbiased estimators)."""

from math import comb

import numpy as np
from numpy.typing import NDArray

from outweigh.stats.quantity import Quantity, known, unknown


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
