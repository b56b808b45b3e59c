"""One number per run: weighted dimensions, nudged by cost, clamped to [0, 1]."""

from collections.abc import Mapping
from math import isnan
from typing import NamedTuple

from outweigh.score.profile import Dimension, Profile
from outweigh.stats.quantity import Quantity, known, unknown

SIGNALS = ("total_tokens", "tool_calls", "steps", "duration_seconds")
"""The cost signals; each is a field of Score."""


class CostAdjustment(NamedTuple):
    """The nudge, and the signals that one side or the other does not report."""

    value: float
    left_out: tuple[str, ...]


NEUTRAL = CostAdjustment(0.0, ())
"""The baseline is the reference of everybody and has none itself."""


def composite(dimensions: Mapping[Dimension, float | None], profile: Profile, adjustment: float) -> Quantity:
    """clamp(Σ weight·dimension / Σ weight + adjustment, 0, 1) over the dimensions that are present."""
    present = [(weight, value) for name, weight in profile.weights if (value := dimensions[name]) is not None]
    missing = [name.value for name, _ in profile.weights if name in profile.requires and dimensions[name] is None]
    if missing:
        return unknown(f"profile {profile.name} requires {' and '.join(missing)}")
    total = sum(weight for weight, _ in present)
    if total == 0:
        return unknown(f"profile {profile.name} weighs nothing that is present")
    return known(_clamp(sum(weight * value for weight, value in present) / total + adjustment, 0.0, 1.0))


def cost_adjustment(
    run: Mapping[str, float | None], reference: Mapping[str, float | None], cost_weight: float
) -> CostAdjustment:
    """cost_weight · clamp(1 − mean(run / reference), −1, 1): cheaper than the reference is positive."""
    left_out = tuple(name for name in SIGNALS if run[name] is None or reference[name] is None)
    ratios = [
        _ratio(mine, theirs)
        for name in SIGNALS
        if (mine := run[name]) is not None and (theirs := reference[name]) is not None
    ]
    if not ratios:
        return CostAdjustment(0.0, left_out)
    return CostAdjustment(cost_weight * _clamp(1.0 - sum(ratios) / len(ratios), -1.0, 1.0), left_out)


def _ratio(mine: float, reference: float) -> float:
    if reference == 0:
        return 1.0 if mine == 0 else 2.0
    return mine / reference


def _clamp(value: float, low: float, high: float) -> float:
    # max and min would turn NaN into one of the limits, and a broken score into a perfect one.
    return value if isnan(value) else max(low, min(high, value))
