"""One number per run: named weights over its dimensions, adjusted by cost, clamped to [0, 1]; and the letter grade
of it.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from math import isnan
from typing import Any, NamedTuple

from msgspec import Struct

from outweigh.stats.estimate import Quantity, known, unknown


class Dimension(StrEnum):
    """What a composite may weigh; each is a field of Score."""

    OBJECTIVE = "objective"
    JUDGE_SCORE = "judge_score"
    PASSED = "passed"


class Profile(Struct, frozen=True, kw_only=True):
    """Weights per dimension, the dimensions without which there is no composite, and the cap of the cost term."""

    name: str
    weights: tuple[tuple[Dimension, float], ...]
    requires: frozenset[Dimension]
    cost_weight: float


OBJECTIVE_FIRST = Profile(
    name="objective_first",
    weights=((Dimension.OBJECTIVE, 0.6), (Dimension.JUDGE_SCORE, 0.4)),
    requires=frozenset({Dimension.OBJECTIVE}),
    cost_weight=0.1,
)
EVEN = Profile(
    name="even",
    weights=((Dimension.PASSED, 0.5), (Dimension.JUDGE_SCORE, 0.5)),
    requires=frozenset({Dimension.PASSED, Dimension.JUDGE_SCORE}),
    cost_weight=0.0,
)
PROFILES = {profile.name: profile for profile in (OBJECTIVE_FIRST, EVEN)}


def weigh(
    name: str, weights: Mapping[Any, float], requires: Collection[str] | None = None, cost_weight: float = 0.0
) -> Profile:
    """A profile with weights of somebody's own; without `requires`, it requires all that weigh anything."""
    heavy = {Dimension(dimension): weight for dimension, weight in weights.items() if weight > 0}
    return Profile(
        name=name,
        weights=tuple(heavy.items()),
        requires=frozenset(heavy if requires is None else map(Dimension, requires)),
        cost_weight=cost_weight,
    )


COST_SIGNALS = ("total_tokens", "tool_calls", "steps", "duration_seconds")
"""The cost signals; each is a field of Score."""


class CostAdjustment(NamedTuple):
    """The adjustment, and the signals that one of the two sides does not report."""

    value: float
    left_out: tuple[str, ...]


def composite(dimensions: Mapping[Dimension, float | None], profile: Profile, adjustment: float) -> Quantity:
    """clamp(Σ weight·dimension / Σ weight + adjustment, 0, 1) over the dimensions that are present."""
    total = weighted = 0.0
    missing = []
    for name, weight in profile.weights:
        if (value := dimensions[name]) is not None:
            total += weight
            weighted += weight * value
        elif name in profile.requires:
            missing.append(name.value)
    if missing:
        return unknown(f"profile {profile.name} requires {' and '.join(missing)}")
    if total == 0:
        return unknown(f"profile {profile.name} weighs nothing that is present")
    return known(_clamp(weighted / total + adjustment, 0.0, 1.0))


def cost_adjustment(
    run: Mapping[str, float | None], reference: Mapping[str, float | None], cost_weight: float
) -> CostAdjustment:
    """cost_weight · clamp(1 − mean(run / reference), −1, 1): cheaper than the reference is positive."""
    left_out = tuple(name for name in COST_SIGNALS if run[name] is None or reference[name] is None)
    ratios = [
        _ratio(mine, theirs)
        for name in COST_SIGNALS
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


class GradeScale(Struct, frozen=True, kw_only=True):
    """Thresholds from best to worst; a score below them all gets `lowest`."""

    name: str
    thresholds: tuple[tuple[str, float], ...]
    lowest: str


SEED_GRADES = GradeScale(name="seed", thresholds=(("A", 0.95), ("B", 0.85), ("C", 0.75), ("D", 0.65)), lowest="F")
S_GRADES = GradeScale(
    name="s_scale", thresholds=(("S", 1.0), ("A", 0.8), ("B", 0.6), ("C", 0.4), ("D", 0.2)), lowest="F"
)
GRADE_SCALES = {scale.name: scale for scale in (SEED_GRADES, S_GRADES)}


def grade(score: float | None, scale: GradeScale = SEED_GRADES) -> str | None:
    """The letter of a composite; no score, no letter."""
    if score is None or isnan(score):
        return None
    # A composite of exactly .85 may come out as .8499999999999999; a rounding error must not cost a letter.
    rounded = round(score, 9)
    return next((letter for letter, threshold in scale.thresholds if rounded >= threshold), scale.lowest)
