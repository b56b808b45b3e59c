"""The forest of metrics: every paired delta on one axis."""

from collections.abc import Iterator
from math import isfinite

import numpy as np

from outweigh.compare.comparison import Comparison
from outweigh.compare.delta import Delta, align_tasks
from outweigh.compare.inference import Inference, Population
from outweigh.report.charts.interval import ChartRow, Mark, interval_chart
from outweigh.report.charts.sketch import interval_sketch
from outweigh.report.document import Block, Picture
from outweigh.report.formatting import FORMATS
from outweigh.report.wording import DUST
from outweigh.stats.equivalence import excludes
from outweigh.stats.estimate import Interval

RATES = ("passed", "objective", "judge_score", "composite")
AMOUNTS = (
    "cost_usd",
    "cache_normalised_cost_usd",
    "duration_seconds",
    "non_cache_tokens",
    "total_tokens",
    "steps",
    "tool_calls",
)
CAPTION = (
    "Mean of task deltas with its 95 % interval: rates in points, amounts in percent of the baseline's mean. Filled "
    "circle: better; diamond: worse; empty circle: the interval does not tell the arms apart. No policy decides by "
    "this."
)


def metric_pictures(comparison: Comparison, inference: Inference) -> list[Block]:
    """One picture of all metrics for which one way is better."""
    rows = list(_rows(comparison, inference))
    if not rows:
        return []
    title = "Change of every metric"
    svg = interval_chart(title, rows, compact=True)
    return [Picture(title=title, svg=svg, caption=CAPTION, words=(), sketch=interval_sketch(rows))]


def _rows(comparison: Comparison, inference: Inference) -> Iterator[ChartRow]:
    for delta in comparison.deltas.values():
        name = delta.metric.name
        if name in (*RATES, *AMOUNTS) and delta.task_mean is not None:
            inferred = inference.deltas[delta.metric.delta]
            chosen = inferred.over_tasks if inference.population is Population.TASKS else inferred.on_suite
            unit = 1.0 if name in RATES else _baseline_mean(comparison, name)
            if unit > 0:
                yield _row(delta, delta.task_mean, chosen.interval, unit)


def _row(delta: Delta, change: float, interval: Interval | None, unit: float) -> ChartRow:
    better, name = delta.metric.better, FORMATS[delta.metric.name].title
    measure = "points" if delta.metric.name in RATES else "%"
    figures, span = f"{_signed(change / unit)} {measure}", None
    if interval is not None and isfinite(interval.low) and isfinite(interval.high):
        low, high = sorted((better * interval.low / unit, better * interval.high / unit))
        span = low, high
        figures += f" ({_signed(interval.low / unit)} to {_signed(interval.high / unit)})"
    mark = _mark(better * change, interval)
    state = {Mark.BETTER: "better", Mark.WORSE: "worse", Mark.OPEN: "~"}[mark]
    return ChartRow(
        name=name,
        state=state,
        mark=mark,
        figures=figures,
        point=better * change / unit,
        interval=span,
        band=None,
        words=f"{name} {state}: {figures}",
        band_words="",
    )


def _mark(benefit: float, interval: Interval | None) -> Mark:
    if not excludes(interval, 0.0) or abs(benefit) < DUST:
        return Mark.OPEN
    return Mark.BETTER if benefit > 0 else Mark.WORSE


def _baseline_mean(comparison: Comparison, metric: str) -> float:
    """Over the tasks that both arms know, as the deltas are."""
    rows = align_tasks(comparison.baseline_table, comparison.candidate_table)
    before = comparison.baseline_table.mean_per_task(metric)[rows[:, 0]]
    after = comparison.candidate_table.mean_per_task(metric)[rows[:, 1]]
    shared = before[~np.isnan(before) & ~np.isnan(after)]
    return float(shared.mean()) if len(shared) else 0.0


def _signed(share: float) -> str:
    return f"{100 * share:+.1f}".replace("-0.0", "+0.0")
