"""Tiers from the first rung up: how far each gets, its grade, and what it gains over the first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from outweigh.report.charts.svg import block, drawing, mark, rule, shortened, text

ROW_HEIGHT, BAR_HEIGHT, AXIS_HEIGHT = 52, 16, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One tier: its score from 0 to 1 (None where unknown), its mean beside, and what is written about it."""

    name: str
    score: float | None
    mean: float | None
    figures: str
    words: str


def ladder_chart(title: str, rungs: Sequence[Rung], grades: Mapping[str, float]) -> str:
    """Bars for the median, a diamond for the mean, dashed lines where a better grade begins."""
    floor = ROW_HEIGHT * len(rungs)
    parts = []
    for letter, least in grades.items():
        x = _place(least)
        for number in range(len(rungs)):
            top = number * ROW_HEIGHT
            parts.append(rule("line", class_="ow-limit", x1=x, x2=x, y1=top + 22, y2=top + ROW_HEIGHT))
        parts.append(text(letter, x=x, y=floor + 16, anchor="middle", kind="ow-small"))
    parts.append(text("0", x=_place(0.0), y=floor + 16, anchor="middle", kind="ow-small"))
    parts.append(text("composite; letters where a grade begins", x="0", y=floor + 34, kind="ow-small"))
    for number, rung in enumerate(rungs):
        parts.append(_row(rung, number * ROW_HEIGHT))
    return drawing(title, floor + AXIS_HEIGHT, parts)


def _row(rung: Rung, top: int) -> str:
    parts = [
        "<g>",
        text(shortened(rung.name), x="0", y=top + 16, kind="ow-name"),
        text(rung.figures, x="100%", y=top + 16, anchor="end"),
    ]
    if rung.score is not None:
        size = {"left": 4.0, "top": top + 24.0, "width": 92 * rung.score, "height": float(BAR_HEIGHT)}
        parts.append(block(rung.words, kind="ow-bar ow-of-2", **size))
    if rung.mean is not None:
        y = top + 24 + BAR_HEIGHT / 2
        parts.append(mark("circle", rung.words, class_="ow-ink", cx=_place(rung.mean), cy=y, r=4))
    return "\n".join([*parts, "</g>"])


def _place(score: float) -> str:
    return f"{4 + 92 * min(1.0, max(0.0, score)):.2f}%"
