"""Figures of what changed between two arms: per metric, per task, and each task before and after."""

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from functools import partial
from math import isfinite

import numpy as np

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.comparison import Comparison
from outweigh.compare.deltas import Delta
from outweigh.compare.inference import Inference, Population
from outweigh.compare.task_alignment import align_tasks
from outweigh.report.axis import UNIT_TICKS, AxisScale, linear_axis, log_axis, needs_log_axis
from outweigh.report.document import Block, Figure
from outweigh.report.figures.text_charts import text_intervals
from outweigh.report.formatting import ROUNDING_ERROR, UNIT_FORMATS, format_signed
from outweigh.report.interval_rows import ChangeMarker, IntervalRow
from outweigh.report.svg.intervals import draw_intervals
from outweigh.report.svg.lines import Slope, draw_slopes, sample_evenly
from outweigh.score.metrics import METRICS_BY_NAME, Metric
from outweigh.stats.distributions import t_quantile
from outweigh.stats.estimate import Estimate, Interval, Unit
from outweigh.stats.proportions import proportion_difference_interval

METRICS_CAPTION = (
    "Mean change over tasks with its 95 % interval: rates in points, amounts in percent of the baseline's mean. "
    "Nothing is decided by these figures. A filled circle (better) or a diamond (worse) marks a change that chance "
    "hardly explains, even though several figures are looked at."
)
METRICS_LEVEL = 0.95


def metric_figures(comparison: Comparison, inference: Inference, gated: Set[str]) -> list[Block]:
    """One chart of all metrics for which one way is better and that no gate shows already."""
    rows = list(_metric_rows(comparison, inference, gated))
    if not rows:
        return []
    title = "Change of the other metrics" if gated else "Change of every metric"
    draw = partial(draw_intervals, title, rows, compact=True)
    return [Figure(title=title, draw=draw, caption=METRICS_CAPTION, text_lines=(), text_chart=text_intervals(rows))]


def _metric_rows(comparison: Comparison, inference: Inference, gated: Set[str]) -> Iterator[IntervalRow]:
    shown = [
        delta
        for delta in comparison.deltas.values()
        if delta.metric.name not in gated
        and delta.metric.charted
        and delta.metric.better != 0
        and delta.task_mean is not None
    ]
    estimates = [chosen_estimate(inference, delta.metric.delta) for delta in shown]
    clear = beyond_chance(estimates)
    for delta, estimate, told in zip(shown, estimates, clear, strict=True):
        unit = 1.0 if _is_rate(delta.metric) else _baseline_mean(comparison, delta.metric.name)
        if unit > 0:
            yield _metric_row(delta, delta.task_mean or 0.0, estimate.interval, unit, told=told)


def chosen_estimate(inference: Inference, delta: str) -> Estimate:
    """What is known about a delta, over the population that the numbers are about."""
    inferred = inference.deltas[delta]
    return inferred.over_tasks if inference.population is Population.TASKS else inferred.on_suite


def beyond_chance(estimates: Sequence[Estimate]) -> list[bool]:
    """Which of these changes chance hardly explains although all of them are looked at: Bonferroni by Student's t."""
    return [_excludes_zero(estimate, len(estimates)) for estimate in estimates]


def _excludes_zero(estimate: Estimate, figures: int) -> bool:
    interval, tail = estimate.interval, (1 - METRICS_LEVEL) / 2
    if interval is None or estimate.n < 2 or not (isfinite(interval.low) and isfinite(interval.high)):
        return False
    wider = t_quantile(1 - tail / figures, estimate.n - 1) / t_quantile(1 - tail, estimate.n - 1)
    middle, half = (interval.low + interval.high) / 2, wider * (interval.high - interval.low) / 2
    return middle - half > 0 or middle + half < 0


def _metric_row(delta: Delta, change: float, interval: Interval | None, unit: float, *, told: bool) -> IntervalRow:
    better, name = delta.metric.better, delta.metric.title
    measure = "points" if _is_rate(delta.metric) else "%"
    label, span = f"{_format_signed(change / unit)} {measure}", None
    if interval is not None and isfinite(interval.low) and isfinite(interval.high):
        low, high = sorted((better * interval.low / unit, better * interval.high / unit))
        span = low, high
        label += f" ({_format_signed(interval.low / unit)} to {_format_signed(interval.high / unit)})"
    mark = _metric_marker(better * change, told=told)
    state = {ChangeMarker.BETTER: "better", ChangeMarker.WORSE: "worse"}.get(mark, "~")
    return IntervalRow(
        name=name,
        state=state,
        mark=mark,
        label=label,
        point=better * change / unit,
        interval=span,
        band=None,
        description=f"{name} {state}: {label}",
        band_description="",
    )


def _is_rate(metric: Metric) -> bool:
    """Whether it lies between 0 and 1, so that its change is told in points; amounts change by a percentage."""
    return metric.unit in ("share", "score")


def _metric_marker(benefit: float, *, told: bool) -> ChangeMarker:
    if not told or abs(benefit) < ROUNDING_ERROR:
        return ChangeMarker.OPEN
    return ChangeMarker.BETTER if benefit > 0 else ChangeMarker.WORSE


def _baseline_mean(comparison: Comparison, metric: str) -> float:
    """Over the tasks that both arms know, as the deltas are."""
    rows = align_tasks(comparison.baseline_table, comparison.candidate_table)
    before = comparison.baseline_table.mean_per_task(metric)[rows[:, 0]]
    after = comparison.candidate_table.mean_per_task(metric)[rows[:, 1]]
    shared = before[~np.isnan(before) & ~np.isnan(after)]
    return float(shared.mean()) if len(shared) else 0.0


def _format_signed(share: float) -> str:
    return format_signed(100 * share)


MOST_FOREST_ROWS = 16
MOST_SLOPES = 60
TASK_LEVEL = 0.95

FOREST_CAPTION = (
    "Passes of every task, candidate minus baseline, with a 95 % interval from its repeats alone (Newcombe). Among "
    "many tasks some lie beyond no change by chance, so none is coloured; the verdict corrects for that."
)
SLOPE_CAPTION = (
    "Each line is a task, or several that share it (thicker), by the mean over its repeats. Solid: better; dashed: "
    "worse; dotted: the same. Single tasks vary by chance, so none is coloured."
)
SLOPE_METRICS = tuple(METRICS_BY_NAME[name] for name in ("passed", "cost_usd", "duration_seconds"))


def task_change_figures(comparison: Comparison) -> list[Block]:
    """How the passes of every task changed; of many tasks, those that changed the most."""
    rows = sorted(_task_rows(comparison), key=lambda row: row.point or 0.0)
    if not rows:
        return []
    shown = rows if len(rows) <= MOST_FOREST_ROWS else [*rows[: MOST_FOREST_ROWS // 2], *rows[-MOST_FOREST_ROWS // 2 :]]
    some = "" if shown is rows else f" ({len(shown)} of {len(rows)} tasks: those that changed the most)"
    title = f"Passes, task by task{some}"
    draw = partial(draw_intervals, title, shown, compact=True)
    return [Figure(title=title, draw=draw, caption=FOREST_CAPTION, text_lines=(), text_chart=text_intervals(shown))]


def _task_rows(comparison: Comparison) -> Iterator[IntervalRow]:
    before, after = comparison.baseline_table, comparison.candidate_table
    mine, theirs = _task_passes(after), _task_passes(before)
    for ours, place in align_tasks(before, after).tolist():
        (won, runs), (won_before, runs_before) = mine[place], theirs[ours]
        estimate = proportion_difference_interval(won, runs, won_before, runs_before, level=TASK_LEVEL, unit=Unit.RUN)
        if estimate.point is None or estimate.interval is None:
            continue
        name, interval = before.tasks[ours], estimate.interval
        label = f"{won_before}/{runs_before} → {won}/{runs}"
        yield IntervalRow(
            name=name,
            state="",
            mark=ChangeMarker.OPEN,
            label=label,
            point=estimate.point,
            interval=(interval.low, interval.high),
            band=None,
            description=f"{name}: {label} passed, {100 * estimate.point:+.1f} points "
            f"(95 % interval {100 * interval.low:+.1f} to {100 * interval.high:+.1f})",
            band_description="",
        )


def _task_passes(arm: ArmTable) -> list[tuple[int, int]]:
    known, sums = arm.known_per_task("passed").tolist(), arm.sum_per_task("passed").tolist()
    return [(round(won), runs) for won, runs in zip(sums, known, strict=True)]


def task_slope_figures(comparison: Comparison) -> list[Block]:
    """The way of every task, for passes and what it takes to get them."""
    figures: list[Block] = []
    for metric in SLOPE_METRICS:
        if comparison.simulated and metric.unit == "dollars":
            continue
        slopes = _task_slopes(comparison, metric)
        if slopes:
            # What the lines mean is said once.
            figures.append(_slope_figure(comparison, metric, slopes, "" if figures else SLOPE_CAPTION))
    return figures


def _slope_figure(comparison: Comparison, metric: Metric, slopes: Sequence[Slope], caption: str) -> Figure:
    arms = comparison.baseline.name, comparison.candidate.name
    title = f"{metric.title.capitalize()} of every task, {arms[0]} to {arms[1]}"
    # The most extreme tasks alone would look as if everything changed; a sample over all changes does not.
    drawn = sample_evenly(sorted(slopes, key=lambda slope: slope.after - slope.before), MOST_SLOPES)
    if len(drawn) < len(slopes):
        sample = f"Of {len(slopes)} lines {len(drawn)} are drawn, evenly from the largest loss to the largest gain."
        caption = f"{caption} {sample}".lstrip()
    tally = Counter[ChangeMarker]()
    for slope in slopes:
        tally[slope.mark] += slope.tasks
    better, worse, same = (tally[mark] for mark in (ChangeMarker.BETTER, ChangeMarker.WORSE, ChangeMarker.OPEN))
    description = f"{better} tasks better, {worse} worse, {same} the same"
    draw = partial(draw_slopes, title, arms, drawn, _slope_axis(metric, drawn), UNIT_TICKS[metric.unit])
    return Figure(title=title, draw=draw, caption=caption, text_lines=(description,))


def _slope_axis(metric: Metric, slopes: Sequence[Slope]) -> AxisScale:
    """Rates from none to all; amounts as close as they lie, for it is the slope that counts."""
    ends = [end for slope in slopes for end in (slope.before, slope.after)]
    if metric.unit == "share":
        return linear_axis((0.0, 1.0), most=6)
    return log_axis(ends) if needs_log_axis(ends) else linear_axis(ends, most=6)


def _task_slopes(comparison: Comparison, metric: Metric) -> list[Slope]:
    before, after = comparison.baseline_table, comparison.candidate_table
    rows = align_tasks(before, after)
    old, new = before.mean_per_task(metric.name)[rows[:, 0]], after.mean_per_task(metric.name)[rows[:, 1]]
    tasks: dict[tuple[float, float], list[str]] = {}
    for place in np.flatnonzero(~np.isnan(old) & ~np.isnan(new)).tolist():
        ends = round(float(old[place]), 9), round(float(new[place]), 9)
        tasks.setdefault(ends, []).append(before.tasks[rows[place, 0]])
    return [_task_slope(metric, ends, names) for ends, names in tasks.items()]


def _task_slope(metric: Metric, ends: tuple[float, float], names: Sequence[str]) -> Slope:
    benefit, show = metric.better * (ends[1] - ends[0]), UNIT_FORMATS[metric.unit].value
    mark = (
        ChangeMarker.OPEN
        if abs(benefit) < ROUNDING_ERROR
        else ChangeMarker.BETTER
        if benefit > 0
        else ChangeMarker.WORSE
    )
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    description = f"{shown}: {show(ends[0])} to {show(ends[1])}"
    return Slope(before=ends[0], after=ends[1], tasks=len(names), mark=mark, description=description)
