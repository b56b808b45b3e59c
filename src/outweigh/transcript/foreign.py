"""Values out of JSON that others wrote: each is what it should be, or unknown. Nothing here trusts a shape."""

from math import isfinite
from typing import Any

from outweigh.record.usage import NO_USAGE, Usage

LARGEST_COUNT = 10**15
LARGEST_AMOUNT = 1e12
LONGEST_NAME = 500


def mapping(value: object) -> dict[str, Any]:
    """An object; an empty one where there is none."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """An array; an empty one where there is none."""
    return value if isinstance(value, list) else []


def text(value: object) -> str | None:
    """A string."""
    return value if isinstance(value, str) else None


def name(value: object) -> str | None:
    """A string that a record can hold as a name."""
    return value[:LONGEST_NAME] if isinstance(value, str) and value else None


def names(value: object) -> tuple[str, ...] | None:
    """An array of names; None where there is no array. What is no name is left out."""
    if not isinstance(value, list):
        return None
    return tuple(each for each in map(name, value) if each is not None)


def count(value: object) -> int | None:
    """A number of things: whole, not negative, and no larger than a record can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value <= LARGEST_COUNT or value != int(value):
        return None
    return int(value)


def amount(value: object) -> float | None:
    """A quantity: finite, not negative, and no larger than a record can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isfinite(value) and 0 <= value <= LARGEST_AMOUNT else None


def total_usage(parts: list[Usage]) -> Usage:
    """The sum kind by kind; a kind that is unknown in one part is unknown in the sum. Nothing at all is unknown."""
    if not parts:
        return NO_USAGE

    def total(kind: str) -> int | None:
        known = [getattr(part, kind) for part in parts]
        return None if None in known else sum(known)

    return Usage(
        input_tokens=total("input_tokens"),
        output_tokens=total("output_tokens"),
        cache_read_tokens=total("cache_read_tokens"),
        cache_write_tokens=total("cache_write_tokens"),
    )
