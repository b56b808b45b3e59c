"""Fewer of many, evenly chosen."""

from collections.abc import Sequence
from typing import TypeVar

ENOUGH = 150
"""More places than this along a line no eye can tell apart."""

Item = TypeVar("Item")


def thinned(items: Sequence[Item], most: int = ENOUGH) -> Sequence[Item]:
    """All of few; of many the first, the last, and evenly chosen ones between."""
    if len(items) <= most:
        return items
    step = (len(items) - 1) / (most - 1)
    return [items[round(number * step)] for number in range(most)]
