"""A number that may be unknown, and then says why."""

from typing import NamedTuple


class Quantity(NamedTuple):
    """Either a value or the reason why there is none; never both, never neither."""

    value: float | None
    reason: str | None


def known(value: float) -> Quantity:
    """Wrap a number that was measured or computed."""
    return Quantity(value, None)


def unknown(reason: str) -> Quantity:
    """Stand in for a number that cannot be known."""
    return Quantity(None, reason)
