"""Stacked bars: what a whole is made of, per arm. Parts carry numbers, so that no colour is needed to name them."""

from collections.abc import Sequence
from dataclasses import dataclass

from outweigh.report.charts.style import LINES
from outweigh.report.charts.svg import block, drawing, mark, shortened, text

ROW_HEIGHT, BAR_HEIGHT, LEGEND_HEIGHT = 56, 24, 20
LEAST_FOR_A_NUMBER = 0.04


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a bar: its number in the legend, its size, and what it says."""

    number: int
    size: float
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One whole."""

    name: str
    figures: str
    parts: tuple[Part, ...]


def stack_chart(title: str, bars: Sequence[Bar], legend: Sequence[str]) -> str:
    """Bars on one scale, so that their lengths compare; the legend below names the parts by number."""
    longest = max((sum(part.size for part in bar.parts) for bar in bars), default=0.0) or 1.0
    parts = [_row(bar, number * ROW_HEIGHT, longest) for number, bar in enumerate(bars)]
    top = ROW_HEIGHT * len(bars) + 8
    for number, words in enumerate(legend, start=1):
        y = top + LEGEND_HEIGHT * (number - 1)
        parts.append(mark("rect", words, class_=_kind(number), x=0, y=y, width=14, height=14))
        parts.append(text(f"{number}  {words}", x="22", y=y + 12, kind="ow-small"))
    return drawing(title, top + LEGEND_HEIGHT * len(legend), parts)


def _kind(number: int) -> str:
    return f"ow-part-{(number - 1) % LINES + 1}"


def _row(bar: Bar, top: int, longest: float) -> str:
    drawn = [
        "<g>",
        text(shortened(bar.name), x="0", y=top + 16, kind="ow-name"),
        text(bar.figures, x="100%", y=top + 16, anchor="end"),
    ]
    left = 0.0
    for part in bar.parts:
        width = 100 * part.size / longest
        look = _kind(part.number)
        drawn.append(block(part.words, kind=look, left=left, top=top + 22, width=width - 0.3, height=BAR_HEIGHT))
        if part.size >= LEAST_FOR_A_NUMBER * longest:
            x = f"{left + width / 2:.2f}%"
            drawn.append(text(str(part.number), x=x, y=top + 39, anchor="middle", kind="ow-on-part"))
        left += width
    return "\n".join([*drawn, "</g>"])
