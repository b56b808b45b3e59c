"""Named weights: how the dimensions of a run become one composite."""

from dataclasses import dataclass
from enum import StrEnum


class Dimension(StrEnum):
    """What a composite may weigh; each is a field of Score."""

    OBJECTIVE = "objective"
    JUDGE_SCORE = "judge_score"
    PASSED = "passed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
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
