"""Tiers of a ladder as a suite writes them, and how an arm of a higher tier inherits the best arm of lower ones."""

from typing import Annotated, Literal

from msgspec import Meta

from outweigh.model.base import Dollars, Fraction, Repeats, Spec

TierNumber = Annotated[int, Meta(ge=0, le=10_000)]
TierKey = Annotated[str, Meta(pattern="^(0|[1-9][0-9]{0,3})$", description="the number of a tier")]


class TierSpec(Spec, frozen=True, kw_only=True):
    """What a suite says about one tier: its name, what its runs may cost together, and its own repeats."""

    name: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    budget_usd: Dollars | None = None
    repeats: Repeats | None = None


class InheritSpec(Spec, frozen=True, kw_only=True):
    """An arm that is built on the best arm of these tiers.

    `by` is what the arms are compared by. Arms within `margin` of the best count as equal, and `tie` chooses among
    them. Unless `held_out` is false, the tiers are repeated as often again, and only those runs are reported.
    """

    best_of: Annotated[list[TierNumber], Meta(min_length=1)]
    by: Literal["median-judge", "evidence", "cost-of-pass"] = "evidence"
    margin: Fraction = 0.05
    tie: Literal["fewest-tokens", "cheapest", "first"] = "fewest-tokens"
    held_out: bool = True
