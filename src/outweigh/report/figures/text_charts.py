"""Charts drawn with characters, for terminals and for formats without images."""

from collections.abc import Sequence

from outweigh.report.axis import AxisScale
from outweigh.report.formatting import shorten_name
from outweigh.report.interval_rows import ChangeMarker, IntervalRow, change_axis

TEXT_WIDTH = 41
SPARK_BLOCKS = "▁▂▃▄▅▆▇█"

_POINTS = {ChangeMarker.BETTER: "●", ChangeMarker.NEUTRAL: "●", ChangeMarker.WORSE: "◆"}


def text_intervals(rows: Sequence[IntervalRow], width: int = TEXT_WIDTH) -> tuple[str, ...]:
    """One line per interval: `├─●─┤` for the interval, `░` for the margin, `│` for no change."""
    if not rows:
        return ()
    scale, names = change_axis(rows), [shorten_name(row.name) for row in rows]
    widest, longest = max(map(len, names)), max(len(row.label) for row in rows)
    lines = [
        f"{name:<{widest}}  {interval_line(row, scale, width)}  {row.label:<{longest}}".rstrip()
        for name, row in zip(names, rows, strict=True)
    ]
    return (*lines, f"{'':<{widest}}  {'worse':<{width - 6}}better")


def interval_line(row: IntervalRow, scale: AxisScale, width: int) -> str:
    """One interval in so many characters; what lies beyond the axis ends in an arrow."""
    cells = ["·"] * width

    def at(value: float) -> int:
        return round(scale.fraction(value) * (width - 1))

    if row.band is not None:
        low, high = map(at, row.band)
        cells[low : high + 1] = "░" * (high + 1 - low)
    cells[at(0.0)] = "│"
    if row.interval is not None:
        low, high = map(at, row.interval)
        cells[low : high + 1] = ["┼" if place == at(0.0) else "─" for place in range(low, high + 1)]
        cells[low] = "├" if scale.contains(row.interval[0]) else "◀"
        cells[high] = "┤" if scale.contains(row.interval[1]) else "▶"
    if row.point is not None:
        beyond = "◀" if row.point < scale.low else "▶"
        cells[at(row.point)] = _POINTS.get(row.mark, "○") if scale.contains(row.point) else beyond
    return "".join(cells)


def text_bar(share: float, width: int = 20) -> str:
    """A share of one as a bar."""
    full = round(min(1.0, max(0.0, share)) * width)
    return "█" * full + "·" * (width - full)


def sparkline(counts: Sequence[float]) -> str:
    """Heights as one line of blocks; what is empty stays empty."""
    most = max(counts, default=0)
    return "".join(" " if count <= 0 else SPARK_BLOCKS[min(7, int(8 * count / most - 1e-9))] for count in counts)
