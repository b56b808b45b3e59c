"""The SVG elements that charts are made of, and the style sheet for them.

All text is escaped here; no number is NaN.

Positions along a chart are percentages, so that it fills any width while its text keeps its size. Shapes, dashes and
words say the same as the colours, so that a chart can be read in grey.
"""

import re
from collections.abc import Iterable
from html import escape
from math import isfinite

from outweigh.report.formatting import escape_controls
from outweigh.report.palette import INK, PAPER, chart_variables

CHART_STYLE = f"""
.ow-chart {{
  {chart_variables("light")}
  font: 14px system-ui, sans-serif; overflow: visible; font-variant-numeric: tabular-nums;
}}
@media (prefers-color-scheme: dark) {{ .ow-chart {{ {chart_variables("dark")} }} }}
@media print {{ .ow-chart {{ {chart_variables("light")} }} }}
@media (max-width: 30rem) {{ .ow-chart {{ font-size: 12px; }} }}
/* A halo in the colour of the page keeps words readable where a line passes behind them. */
.ow-chart text {{ fill: currentColor; stroke: var(--paper, Canvas); stroke-width: 4px; paint-order: stroke; }}
.ow-chart text.ow-figure, .ow-chart text.ow-on-part {{ stroke: none; }}
.ow-chart .ow-small {{ font-size: 12px; fill-opacity: 0.8; }}
.ow-chart .ow-name {{ font-weight: 600; }}
.ow-chart .ow-band {{ fill: currentColor; opacity: 0.13; }}
.ow-chart .ow-line {{ stroke: currentColor; opacity: 0.25; }}
.ow-chart .ow-zero {{ stroke: currentColor; stroke-width: 1.5; }}
.ow-chart .ow-limit {{ stroke: currentColor; stroke-dasharray: 4 4; opacity: 0.7; }}
.ow-chart .ow-better {{ fill: var(--ow-better); stroke: var(--ow-better); }}
.ow-chart .ow-worse {{ fill: var(--ow-worse); stroke: var(--ow-worse); }}
.ow-chart .ow-neutral {{ fill: var(--ow-neutral); stroke: var(--ow-neutral); }}
.ow-chart .ow-unknown {{ fill: var(--paper, Canvas); stroke: var(--ow-unknown); }}
.ow-chart .ow-open {{ fill: var(--paper, Canvas); stroke: var(--ow-neutral); }}
.ow-chart .ow-word-better {{ fill: var(--ow-better); }} .ow-chart .ow-word-worse {{ fill: var(--ow-worse); }}
.ow-chart .ow-word-neutral, .ow-chart .ow-word-open {{ fill: var(--ow-neutral); }}
.ow-chart .ow-word-unknown {{ fill: var(--ow-unknown); }}
.ow-chart .ow-ink {{ fill: currentColor; stroke: currentColor; }}
.ow-chart .ow-bar {{ fill: var(--ow-line-1); }}
.ow-chart .ow-bar.ow-of-2 {{ fill: var(--ow-line-2); }}
.ow-chart .ow-box {{ fill: none; stroke: currentColor; }}
.ow-chart .ow-cell {{ fill: currentColor; stroke: currentColor; stroke-opacity: 0.35; }}
.ow-chart .ow-empty {{ fill: none; stroke: currentColor; stroke-opacity: 0.35; stroke-dasharray: 3 3; }}
.ow-chart text.ow-on-part {{ fill: var(--ow-on-part); }}
.ow-chart .ow-figure {{ font-size: 12px; }}
.ow-chart .ow-path {{ fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; }}
.ow-chart .ow-area {{ fill: currentColor; fill-opacity: 0.12; stroke: none; }}
.ow-chart .ow-path.ow-of-1, .ow-chart .ow-swatch.ow-of-1 {{ stroke: var(--ow-line-1); }}
.ow-chart .ow-path.ow-of-2, .ow-chart .ow-swatch.ow-of-2 {{ stroke: var(--ow-line-2); }}
.ow-chart .ow-path.ow-of-3, .ow-chart .ow-swatch.ow-of-3 {{ stroke: var(--ow-line-3); stroke-dasharray: 8 4; }}
.ow-chart .ow-path.ow-of-4, .ow-chart .ow-swatch.ow-of-4 {{ stroke: var(--ow-line-4); stroke-dasharray: 2 3; }}
.ow-chart .ow-path.ow-of-5, .ow-chart .ow-swatch.ow-of-5 {{ stroke: var(--ow-line-5); stroke-dasharray: 12 3 2 3; }}
.ow-chart .ow-path.ow-of-6, .ow-chart .ow-swatch.ow-of-6 {{ stroke: var(--ow-line-6); stroke-dasharray: 5 2; }}
.ow-chart .ow-swatch {{ stroke-width: 3; }}
.ow-chart .ow-part-1 {{ fill: var(--ow-line-2); }} .ow-chart .ow-part-2 {{ fill: var(--ow-line-3); }}
.ow-chart .ow-part-3 {{ fill: var(--ow-line-1); }} .ow-chart .ow-part-4 {{ fill: var(--ow-line-2); }}
.ow-chart .ow-part-5 {{ fill: var(--ow-line-3); }} .ow-chart .ow-part-6 {{ fill: var(--ow-line-1); }}
"""

CIRCLE = "M-6.5 0A6.5 6.5 0 1 1 6.5 0A6.5 6.5 0 1 1-6.5 0Z"
DIAMOND = "M-8 0 0-8 8 0 0 8Z"
"""The marks of a value: a diamond where it is worse, so that colour is not needed to tell."""

LINE_STYLES = 6
"""How many looks of lines and parts there are; further ones repeat them and differ by name only."""


STANDALONE_WIDTH = 720
"""Of a drawing in a file of its own, in pixels; it can be scaled."""


def standalone_svg(svg: str) -> str:
    """The drawing as a file of its own: with its style, on white paper, and of a fixed size.

    Programs that convert drawings for print know no variables and no colour schemes, so that it has neither.
    """
    head, rest = svg.split("\n", 1)
    height = head.rpartition('height="')[2].partition('"')[0]
    size = f'width="{STANDALONE_WIDTH}" height="{height}" viewBox="0 0 {STANDALONE_WIDTH} {height}">'
    paper = f'<rect width="100%" height="100%" fill="{PAPER["light"]}" aria-hidden="true"/>'
    return f"{head.partition('width=')[0]}{size}\n<style>{_print_style()}</style>\n{paper}\n{rest}\n"


def _print_style() -> str:
    """The style sheet with the light colours in place of its variables."""
    colours = dict(re.findall(r"(--[\w-]+): ([^;]+);", chart_variables("light"))) | {"--paper": PAPER["light"]}
    lines = [line for line in CHART_STYLE.split("\n") if "@media" not in line and "--ow-better: " not in line]
    styles = re.sub(r"var\((--[\w-]+)[^)]*\)", lambda found: colours[found[1]], "\n".join(lines))
    return f"{styles}.ow-chart {{ color: {INK['light']}; }}\n"


AttributeValue = str | float


def svg_document(title: str, height: float, parts: Iterable[str]) -> str:
    """A whole chart. It is a group and no image, so that the titles of its marks are read out, too."""
    name = escape(escape_controls(title), quote=True)
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" class="ow-chart" role="group" '
            f'aria-label="{name}" width="100%" height="{_format_attribute(height)}">',
            title_element(title),
            *parts,
            "</svg>",
        ]
    )


def titled_element(tag: str, description: str, /, **attributes: AttributeValue) -> str:
    """A mark that stands for a number; its description is shown when pointed at."""
    return f"<{tag}{_format_attributes(attributes)}>{title_element(description)}</{tag}>"


def grid_element(tag: str, /, **attributes: AttributeValue) -> str:
    """A line of the grid, which stands for nothing by itself."""
    return f'<{tag}{_format_attributes(attributes)} aria-hidden="true"/>'


def rectangle(
    description: str, /, *, kind: str, left: float, top: float, width: float, height: float, shade: float = 1.0
) -> str:
    """A rectangle, left and width in percent."""
    box: dict[str, AttributeValue] = {
        "x": f"{left:.2f}%",
        "y": top,
        "width": f"{max(0.0, width):.2f}%",
        "height": height,
    }
    return titled_element("rect", description, class_=kind, **box, **({} if shade == 1.0 else {"fill_opacity": shade}))


def placed_path(path: str, description: str, /, *, x: str, y: float, kind: str) -> str:
    """A path at a position in percent, which a path itself cannot have: a nested drawing carries it there."""
    drawn = titled_element("path", description, class_=kind, stroke_width=2, d=path)
    return f'<svg x="{x}" y="{_format_attribute(y)}" overflow="visible">{drawn}</svg>'


def text_element(text: str, /, *, x: str, y: float, anchor: str = "start", kind: str = "") -> str:
    """A text in the chart."""
    look = {"class_": kind} if kind else {}
    return f"<text{_format_attributes({**look, 'x': x, 'y': y, 'text_anchor': anchor})}>{escape_text(text)}</text>"


def stretched_canvas(body: str, *, x: str, y: float, width: str, height: float) -> str:
    """A canvas of 1000 by 1000 for paths, which follows the width of the chart; lines keep their weight."""
    place = _format_attributes({"x": x, "y": y, "width": width, "height": height})
    return f'<svg{place} viewBox="0 0 1000 1000" preserveAspectRatio="none" overflow="visible">{body}</svg>'


def title_element(text: str) -> str:
    """What a screen reader reads out, and what is shown when pointed at."""
    return f"<title>{escape_text(text)}</title>"


def escape_text(text: str) -> str:
    """Text from a file as it may stand in SVG: without markup, control or direction-changing characters."""
    return escape(escape_controls(text))


def _format_attributes(attributes: dict[str, AttributeValue]) -> str:
    return "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_format_attribute(value)}"' for name, value in attributes.items()
    )


def _format_attribute(value: AttributeValue) -> str:
    if isinstance(value, str):
        return escape(value, quote=True)
    if not isfinite(value):
        raise ValueError("what is not known has no place on a chart")
    return f"{value:.2f}".rstrip("0").rstrip(".")
