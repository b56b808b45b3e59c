"""Tasks one by one: how each changed, and the way from before to after."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.comparison import Comparison
from outweigh.compare.delta import align_tasks
from outweigh.compare.metric import METRICS
from outweigh.report.charts.interval import ChartRow, Mark, interval_chart
from outweigh.report.charts.sampling import thinned
from outweigh.report.charts.scale import Scale, is_wide, linear, logarithmic
from outweigh.report.charts.sketch import interval_sketch
from outweigh.report.charts.slope import Slope, slope_chart
from outweigh.report.charts.ticks import dollar_tick, percent_tick, second_tick
from outweigh.report.document import Block, Picture
from outweigh.report.formatting import FORMATS
from outweigh.report.wording import DUST, dollars, percent, seconds
from outweigh.stats.equivalence import excludes
from outweigh.stats.estimate import Unit
from outweigh.stats.two_proportions import proportion_difference_interval

MOST_ROWS = 16
MOST_SLOPES = 60
LEVEL = 0.95

FOREST_CAPTION = (
    "Passes of every task, candidate minus baseline, with a 95 % interval from its repeats alone (Newcombe). Among "
    "many tasks some lie beyond no change by chance; the verdict corrects for that, this picture does not."
)
SLOPE_CAPTION = (
    "Each line is a task, or several that share it (thicker). Solid: better; dashed: worse; dotted: the same. The mean "
    "over the repeats of a task is shown."
)
BETTER = {metric.name: metric.better for metric in METRICS}
SHOWN = {
    "passed": (percent, percent_tick),
    "cost_usd": (dollars, dollar_tick),
    "duration_seconds": (seconds, second_tick),
}


def task_forest(comparison: Comparison) -> list[Block]:
    """How the passes of every task changed; of many tasks, those that changed the most."""
    rows = sorted(_forest_rows(comparison), key=lambda row: row.point or 0.0)
    if not rows:
        return []
    shown = rows if len(rows) <= MOST_ROWS else [*rows[: MOST_ROWS // 2], *rows[-MOST_ROWS // 2 :]]
    some = "" if shown is rows else f" ({len(shown)} of {len(rows)} tasks: those that changed the most)"
    title = f"Passes, task by task{some}"
    svg = interval_chart(title, shown, compact=True)
    return [Picture(title=title, svg=svg, caption=FOREST_CAPTION, words=(), sketch=interval_sketch(shown))]


def _forest_rows(comparison: Comparison) -> Iterator[ChartRow]:
    before, after = comparison.baseline_table, comparison.candidate_table
    mine, theirs = _passes(after), _passes(before)
    for ours, place in align_tasks(before, after).tolist():
        (won, runs), (won_before, runs_before) = mine[place], theirs[ours]
        estimate = proportion_difference_interval(won, runs, won_before, runs_before, level=LEVEL, unit=Unit.RUN)
        if estimate.point is None or estimate.interval is None:
            continue
        name, interval = before.tasks[ours], estimate.interval
        told = excludes(interval, 0.0)
        mark = Mark.OPEN if not told else Mark.BETTER if estimate.point > 0 else Mark.WORSE
        figures = f"{won_before}/{runs_before} → {won}/{runs}"
        yield ChartRow(
            name=name,
            state="",
            mark=mark,
            figures=figures,
            point=estimate.point,
            interval=(interval.low, interval.high),
            band=None,
            words=f"{name}: {figures} passed, {100 * estimate.point:+.1f} points "
            f"(95 % interval {100 * interval.low:+.1f} to {100 * interval.high:+.1f})",
            band_words="",
        )


def _passes(arm: ArmTable) -> list[tuple[int, int]]:
    known, sums = arm.known_per_task("passed").tolist(), arm.sum_per_task("passed").tolist()
    return [(round(won), runs) for won, runs in zip(sums, known, strict=True)]


def slope_pictures(comparison: Comparison) -> list[Block]:
    """The way of every task, for passes and what it takes to get them."""
    pictures: list[Block] = []
    for metric in SHOWN:
        slopes = _slopes(comparison, metric)
        if slopes:
            # What the lines mean is said once.
            pictures.append(_slope_picture(comparison, metric, slopes, "" if pictures else SLOPE_CAPTION))
    return pictures


def _slope_picture(comparison: Comparison, metric: str, slopes: Sequence[Slope], caption: str) -> Picture:
    arms = comparison.baseline.name, comparison.candidate.name
    title = f"{FORMATS[metric].title.capitalize()} of every task, {arms[0]} to {arms[1]}"
    # The most extreme tasks alone would look as if everything changed; a sample over all changes does not.
    drawn = thinned(sorted(slopes, key=lambda slope: slope.after - slope.before), MOST_SLOPES)
    if len(drawn) < len(slopes):
        sample = f"Of {len(slopes)} lines {len(drawn)} are drawn, evenly from the largest loss to the largest gain."
        caption = f"{caption} {sample}".lstrip()
    tally = Counter[Mark]()
    for slope in slopes:
        tally[slope.mark] += slope.tasks
    words = f"{tally[Mark.BETTER]} tasks better, {tally[Mark.WORSE]} worse, {tally[Mark.OPEN]} the same"
    svg = slope_chart(title, arms, drawn, _scale(metric, drawn), SHOWN[metric][1])
    return Picture(title=title, svg=svg, caption=caption, words=(words,))


def _scale(metric: str, slopes: Sequence[Slope]) -> Scale:
    """Rates from none to all; amounts as close as they lie, for it is the slope that counts."""
    ends = [end for slope in slopes for end in (slope.before, slope.after)]
    if metric == "passed":
        return linear((0.0, 1.0), most=6)
    return logarithmic(ends) if is_wide(ends) else linear(ends, most=6)


def _slopes(comparison: Comparison, metric: str) -> list[Slope]:
    before, after = comparison.baseline_table, comparison.candidate_table
    rows = align_tasks(before, after)
    old, new = before.mean_per_task(metric)[rows[:, 0]], after.mean_per_task(metric)[rows[:, 1]]
    tasks: dict[tuple[float, float], list[str]] = {}
    for place in np.flatnonzero(~np.isnan(old) & ~np.isnan(new)).tolist():
        ends = round(float(old[place]), 9), round(float(new[place]), 9)
        tasks.setdefault(ends, []).append(before.tasks[rows[place, 0]])
    return [_slope(metric, ends, names) for ends, names in tasks.items()]


def _slope(metric: str, ends: tuple[float, float], names: Sequence[str]) -> Slope:
    benefit, show = BETTER[metric] * (ends[1] - ends[0]), SHOWN[metric][0]
    mark = Mark.OPEN if abs(benefit) < DUST else Mark.BETTER if benefit > 0 else Mark.WORSE
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    words = f"{shown}: {show(ends[0])} to {show(ends[1])}"
    return Slope(before=ends[0], after=ends[1], tasks=len(names), mark=mark, words=words)
