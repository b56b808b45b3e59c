"""Letters for composites. A scale is data."""

from dataclasses import dataclass
from math import isnan


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeScale:
    """Thresholds from best to worst; a score below them all gets `lowest`."""

    name: str
    thresholds: tuple[tuple[str, float], ...]
    lowest: str


SEED = GradeScale(name="seed", thresholds=(("A", 0.95), ("B", 0.85), ("C", 0.75), ("D", 0.65)), lowest="F")
S_SCALE = GradeScale(
    name="s_scale", thresholds=(("S", 1.0), ("A", 0.8), ("B", 0.6), ("C", 0.4), ("D", 0.2)), lowest="F"
)
SCALES = {scale.name: scale for scale in (SEED, S_SCALE)}


def grade(score: float | None, scale: GradeScale = SEED) -> str | None:
    """The letter of a composite; no score, no letter."""
    if score is None or isnan(score):
        return None
    # A composite of exactly .85 may come out as .8499999999999999; that dust must not cost a letter.
    rounded = round(score, 9)
    return next((letter for letter, threshold in scale.thresholds if rounded >= threshold), scale.lowest)
