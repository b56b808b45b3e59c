"""Numbers on the command line of `outweigh plan`, each within what can be planned for."""

import argparse
from collections.abc import Callable
from math import isfinite

MOST_SIZES = 20


def number_between(low: float, high: float) -> Callable[[str], float]:
    """A reader of numbers in that range."""

    def read(text: str) -> float:
        number = finite(text)
        if number is None or not low <= number <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {low:g} to {high:g}")
        return number

    return read


def amount(text: str) -> float:
    """Dollars."""
    number = finite(text)
    if number is None or not 0 <= number <= 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount from 0 to 1,000,000 dollars")
    return number


def sizes(fewest: int, most: int) -> Callable[[str], tuple[int, ...]]:
    """A reader of lists of whole numbers in that range, sorted."""

    def read(text: str) -> tuple[int, ...]:
        parts = [part.strip() for part in text.split(",")]
        numbers = {int(part) for part in parts if part.isdecimal() and len(part) < 10}
        if len(parts) > MOST_SIZES or len(numbers) < len(parts) or not fewest <= min(numbers) <= max(numbers) <= most:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a list of up to {MOST_SIZES} different whole numbers from {fewest} to {most:,}"
            )
        return tuple(sorted(numbers))

    return read


def finite(text: str) -> float | None:
    """The number that a text is; None where it is none, or none that could be reckoned with."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
