"""How runs are spread: time, tokens and cost."""

import numpy as np

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.comparison import Comparison
from outweigh.report.charts.sketch import WIDTH, spark
from outweigh.report.charts.strips import Strip, binned, strip_chart, strip_scale
from outweigh.report.charts.svg import shortened
from outweigh.report.charts.ticks import dollar_tick, plain_tick, second_tick
from outweigh.report.document import Block, Picture
from outweigh.report.formatting import FORMATS
from outweigh.report.wording import count, dollars, seconds

SHOWN = {
    "duration_seconds": (seconds, second_tick),
    "non_cache_tokens": (count, plain_tick),
    "cost_usd": (dollars, dollar_tick),
}
CAPTION = "Bars are runs, the box is their middle half, the upright line the median. A long tail shows here first."


def spread_pictures(comparison: Comparison) -> list[Block]:
    """A strip per arm for everything that both arms know of any run."""
    known = [
        metric
        for metric in SHOWN
        if comparison.baseline.metrics[metric].count and comparison.candidate.metrics[metric].count
    ]
    # How to read them is said once.
    return [_picture(comparison, metric, first=metric == known[0]) for metric in known]


def _picture(comparison: Comparison, metric: str, *, first: bool) -> Picture:
    strips = [_strip(arm, metric) for arm in (comparison.baseline_table, comparison.candidate_table)]
    title, show = f"{FORMATS[metric].title.capitalize()} of every run", SHOWN[metric][0]
    scale, names = strip_scale(strips), [shortened(strip.name) for strip in strips]
    widest = max(map(len, names))
    sketch = [
        f"{name:<{widest}}  {spark([len(part) for part in binned(strip.values, scale, WIDTH)])}"
        for name, strip in zip(names, strips, strict=True)
    ]
    ends = f"{show(scale.low)} to {show(scale.high)}{', logarithmic' if scale.log else ''}"
    return Picture(
        title=title,
        svg=strip_chart(title, strips, show, SHOWN[metric][1]),
        caption=CAPTION if first else "",
        words=(),
        sketch=(*sketch, f"{'':<{widest}}  {ends}"),
    )


def _strip(arm: ArmTable, metric: str) -> Strip:
    column = arm.columns[metric]
    known = column[~np.isnan(column)]
    return Strip(name=arm.name, values=known.tolist(), unknown=len(column) - len(known))
