"""The few pieces of SVG that charts are made of. Everything from outside is escaped here, and nothing is NaN.

Places along a chart are percentages, so that it fills any width while its letters keep their size.
"""

from collections.abc import Iterable
from html import escape
from math import isfinite

from outweigh.report.wording import visible

Value = str | float

LONGEST_NAME = 28


def drawing(title: str, height: float, parts: Iterable[str]) -> str:
    """A whole chart. It is a group and no image, so that the titles of its marks are read out, too."""
    name = escape(visible(title), quote=True)
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" class="ow-chart" role="group" '
            f'aria-label="{name}" width="100%" height="{_written(height)}">',
            titled(title),
            *parts,
            "</svg>",
        ]
    )


def mark(tag: str, words: str, /, **attributes: Value) -> str:
    """Something that stands for a figure; pointed at, it says which."""
    return f"<{tag}{_attributes(attributes)}>{titled(words)}</{tag}>"


def rule(tag: str, /, **attributes: Value) -> str:
    """A line of the grid, which stands for nothing by itself."""
    return f'<{tag}{_attributes(attributes)} aria-hidden="true"/>'


def block(words: str, /, *, kind: str, left: float, top: float, width: float, height: float, shade: float = 1.0) -> str:
    """A rectangle, left and width in percent."""
    box: dict[str, Value] = {"x": f"{left:.2f}%", "y": top, "width": f"{max(0.0, width):.2f}%", "height": height}
    return mark("rect", words, class_=kind, **box, **({} if shade == 1.0 else {"fill_opacity": shade}))


def shape(path: str, words: str, /, *, x: str, y: float, kind: str) -> str:
    """A path cannot be placed in percent, so that a drawing of its own carries it there."""
    drawn = mark("path", words, class_=kind, stroke_width=2, d=path)
    return f'<svg x="{x}" y="{_written(y)}" overflow="visible">{drawn}</svg>'


def text(words: str, /, *, x: str, y: float, anchor: str = "start", kind: str = "") -> str:
    """Letters that can be copied."""
    look = {"class_": kind} if kind else {}
    return f"<text{_attributes({**look, 'x': x, 'y': y, 'text_anchor': anchor})}>{escaped(words)}</text>"


def stretched(body: str, *, x: str, y: float, width: str, height: float) -> str:
    """Room for paths on a canvas of 1000 by 1000 that follows the width of the chart; lines keep their weight."""
    place = _attributes({"x": x, "y": y, "width": width, "height": height})
    return f'<svg{place} viewBox="0 0 1000 1000" preserveAspectRatio="none" overflow="visible">{body}</svg>'


def titled(words: str) -> str:
    """What is read out, and shown when pointed at."""
    return f"<title>{escaped(words)}</title>"


def escaped(words: str) -> str:
    """Nothing in a name is obeyed: not its markup, not its control or direction-changing characters."""
    return escape(visible(words))


def shortened(name: str, most: int = LONGEST_NAME) -> str:
    """A name with its middle left out where it is long; the title of its mark has all of it."""
    if len(name) <= most:
        return name
    tail = (most - 1) // 2
    return f"{name[: most - 1 - tail]}…{name[-tail:]}"


def _attributes(attributes: dict[str, Value]) -> str:
    return "".join(f' {name.rstrip("_").replace("_", "-")}="{_written(value)}"' for name, value in attributes.items())


def _written(value: Value) -> str:
    if isinstance(value, str):
        return escape(value, quote=True)
    if not isfinite(value):
        raise ValueError("what is not known has no place on a chart")
    return f"{value:.2f}".rstrip("0").rstrip(".")
