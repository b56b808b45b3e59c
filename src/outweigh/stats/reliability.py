"""How often at least one, or every one, of k attempts passes (unbiased estimators)."""

from math import comb

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
