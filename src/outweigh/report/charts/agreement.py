"""Agreement of judges: alpha with its interval, against the levels people draw conclusions from."""

from collections.abc import Sequence
from dataclasses import dataclass

from outweigh.report.charts.scale import Scale, linear
from outweigh.report.charts.svg import drawing, mark, rule, shortened, text

ROW_HEIGHT, AXIS_HEIGHT = 46, 44
TENTATIVE, RELIABLE = 0.667, 0.8
"""Krippendorff's customary levels: below the first no conclusion, from the second on reliable ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accord:
    """How far some answers agree: 1 is perfectly, 0 is as by chance; None where it cannot be told."""

    name: str
    alpha: float | None
    interval: tuple[float, float] | None
    figures: str
    words: str


def agreement_chart(title: str, rows: Sequence[Accord]) -> str:
    """One row per judge with itself, and one for all judges with each other."""
    known = [end for row in rows for end in (*(row.interval or ()), *(() if row.alpha is None else (row.alpha,)))]
    scale = linear((0.0, 1.0, *known), most=6)
    floor = ROW_HEIGHT * len(rows)
    parts = []
    for level, words in ((TENTATIVE, "tentative"), (RELIABLE, "reliable")):
        x = scale.place(level)
        parts.append(mark("line", f"{words} from {level:g} on", class_="ow-limit", x1=x, x2=x, y1=22, y2=floor))
    parts.extend(_row(row, number * ROW_HEIGHT, scale) for number, row in enumerate(rows))
    for tick in scale.ticks:
        x = scale.place(tick)
        parts.append(rule("line", class_="ow-line", x1=x, x2=x, y1=floor, y2=floor + 5))
        parts.append(text(f"{tick:g}", x=x, y=floor + 19, anchor="middle", kind="ow-small"))
    levels = f"dashed: tentative {TENTATIVE:g}, reliable {RELIABLE:g}"
    parts.append(text(levels, x="0", y=floor + 38, kind="ow-small"))
    return drawing(title, floor + AXIS_HEIGHT, parts)


def _row(row: Accord, top: int, scale: Scale) -> str:
    y = top + 32
    parts = [
        "<g>",
        text(shortened(row.name), x="0", y=top + 16, kind="ow-name"),
        text(row.figures, x="100%", y=top + 16, anchor="end"),
    ]
    kind = "ow-better" if row.alpha is not None and row.alpha >= RELIABLE else "ow-open"
    if row.interval is not None:
        low, high = (scale.place(end) for end in row.interval)
        parts.append(mark("line", row.words, class_=kind, x1=low, x2=high, y1=y, y2=y, stroke_width=4))
    if row.alpha is not None:
        parts.append(mark("circle", row.words, class_=kind, cx=scale.place(row.alpha), cy=y, r=6.5, stroke_width=2))
    return "\n".join([*parts, "</g>"])
