"""Rows of an interval chart: the data that the drawing and its text version share, and their common axis."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from outweigh.report.axis import AxisScale, linear_axis

LARGEST_CHANGE = 1.0
"""Nothing is drawn beyond a change of 100 %: an interval that goes on ends in an arrow."""


class ChangeMarker(StrEnum):
    """How a row stands: better or neutral (filled circles), worse (a diamond), unknown (an empty circle).

    An open row is one that nothing is decided by and that chance can explain; it is an empty circle, too.
    """

    BETTER = "better"
    WORSE = "worse"
    NEUTRAL = "neutral"
    UNKNOWN = "unknown"
    OPEN = "open"


class IntervalRow(Struct, frozen=True, kw_only=True):
    """One interval, oriented so that more is better. `band` is the margin; `description` says it all in words."""

    name: str
    state: str
    mark: ChangeMarker
    label: str
    point: float | None
    interval: tuple[float, float] | None
    band: tuple[float, float] | None
    description: str
    band_description: str


def change_axis(rows: Sequence[IntervalRow]) -> AxisScale:
    """An axis that holds every row and no change."""
    ends = [end for row in rows for end in (*(row.band or ()), *(row.interval or ()))]
    points = [row.point for row in rows if row.point is not None]
    inside = [min(LARGEST_CHANGE, max(-LARGEST_CHANGE, value)) for value in (*ends, *points)]
    # With all of it at 0 there is still a little room on both sides.
    least = () if any(inside) else (-0.01, 0.01)
    return linear_axis((0.0, *inside, *least))
