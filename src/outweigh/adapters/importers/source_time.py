"""Moments and durations as other programs write them: ISO texts, seconds or milliseconds since 1970."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from math import isfinite
from operator import attrgetter
from typing import cast

from outweigh.transcript.foreign import amount

_FIRST_MILLISECONDS = 1e11
"""As seconds this is the year 5138, as milliseconds 1973: no moment of an agent's run is in doubt."""

_zone = attrgetter("tzinfo")


def moment(value: object) -> datetime | None:
    """A moment with its zone; a text without one is taken as UTC. None for anything else."""
    if isinstance(value, datetime):
        found = value
    elif isinstance(value, str):
        try:
            found = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    elif isinstance(value, int | float) and not isinstance(value, bool):
        return _since_1970(value)
    else:
        return None
    try:
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (OverflowError, ValueError):
        return None


def moments(values: Sequence[object]) -> list[datetime | None]:
    """Many moments; texts in UTC, as programs write them, are read without looking at each."""
    with suppress(TypeError, ValueError):
        found: list[datetime | None] = [*map(datetime.fromisoformat, cast("Sequence[str]", values))]
        if {*map(_zone, found)} == {UTC}:
            return found
    return [*map(moment, values)]


def seconds_between(start: object, end: object) -> float | None:
    """How long something took; None where an end is unknown or comes first."""
    first, last = moment(start), moment(end)
    return None if first is None or last is None else amount((last - first).total_seconds())


def seconds_of_milliseconds(value: object) -> float | None:
    """A duration that the source states in milliseconds."""
    found = amount(value)
    return None if found is None else found / 1000


def _since_1970(value: float) -> datetime | None:
    if not isfinite(value) or value <= 0:
        return None
    try:
        return datetime.fromtimestamp(value / 1000 if value >= _FIRST_MILLISECONDS else value, UTC)
    except (OverflowError, ValueError, OSError):
        return None
