"""Which arms are worth their money: nobody else is both cheaper and at least as good."""

from collections.abc import Iterable
from typing import NamedTuple


class Offer(NamedTuple):
    """What an arm costs and what it achieves."""

    arm: str
    cost: float
    quality: float


def frontier(offers: Iterable[Offer]) -> tuple[str, ...]:
    """Arms that no other arm dominates, cheapest first."""
    ranked = sorted(offers, key=lambda offer: (offer.cost, -offer.quality))
    undominated = [offer for offer in ranked if not any(_dominates(other, offer) for other in ranked)]
    return tuple(offer.arm for offer in undominated)


def _dominates(one: Offer, other: Offer) -> bool:
    at_least = one.cost <= other.cost and one.quality >= other.quality
    return at_least and (one.cost < other.cost or one.quality > other.quality)
