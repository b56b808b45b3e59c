"""Profiles as a suite writes them: the weights of a composite, by its own name for them."""

from typing import Annotated, Literal

from msgspec import Meta

from outweigh.model.base import Fraction, Spec

BUILT_IN_PROFILES = ("objective_first", "even")
WeighedDimension = Literal["objective", "judge_score", "passed"]
Weight = Annotated[float, Meta(ge=0, le=1000)]


class ProfileSpec(Spec, frozen=True, kw_only=True):
    """`[profiles.NAME]`: the weight of each dimension of a run.

    A composite needs the dimensions in `requires`; where it is left out, all that weigh anything. `cost_weight` is how
    much a composite may gain or lose at most by what the run cost.
    """

    weights: Annotated[dict[WeighedDimension, Weight], Meta(min_length=1)]
    requires: list[WeighedDimension] | None = None
    cost_weight: Fraction = 0.0


def profile_fault(name: str, spec: ProfileSpec) -> str | None:
    """What is wrong with a profile of a suite; None where nothing is."""
    if name in BUILT_IN_PROFILES:
        return f"profiles.{name} has the name of a built-in profile; choose another name."
    if not sum(spec.weights.values()) > 0:
        return f"profiles.{name}.weights are all 0; at least one dimension must weigh something."
    if strange := [each for each in spec.requires or () if not spec.weights.get(each, 0)]:
        return f"profiles.{name}.requires names {strange[0]!r}, which has no weight; give it one, or leave it out."
    return None
