"""Figures of the arms: cost against pass rate, tasks passed, distribution of runs, tokens by component, tiers."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from outweigh.compare.arm_summary import ArmSummary
from outweigh.compare.arm_table import ArmTable
from outweigh.compare.comparison import Comparison
from outweigh.compare.inference import LEVEL, pass_rate_estimate
from outweigh.compare.ladder import Ladder, Tier
from outweigh.compare.ladder_contenders import CostQuality, pareto_frontier
from outweigh.model.usage import Component
from outweigh.report.axis import UNIT_TICKS, dollar_tick, percent_tick
from outweigh.report.document import Block, Figure, FigureValues
from outweigh.report.figures.text_charts import TEXT_WIDTH, sparkline, text_bar
from outweigh.report.formatting import (
    UNIT_FORMATS,
    UNKNOWN,
    format_count,
    format_dollars,
    format_percent,
    format_score,
    format_signed,
    shorten_name,
)
from outweigh.report.interval_rows import ChangeMarker
from outweigh.report.svg.bars import (
    BarSegment,
    Distribution,
    StackedBar,
    TierBar,
    bin_values,
    distribution_axis,
    draw_distributions,
    draw_stacked_bars,
    draw_tiers,
)
from outweigh.report.svg.cost_quality import FrontierPoint, draw_frontier
from outweigh.report.svg.heat_map import HeatCell, HeatRow, draw_heat_map
from outweigh.score.metrics import METRICS_BY_NAME, Metric
from outweigh.stats.estimate import Estimate, Unit
from outweigh.stats.means import mean_interval

MOST_HEAT_ROWS = 30
MOST_TEXT_ROWS = 24
MOST_HEAT_ARMS = 8

FRONTIER_CAPTION = (
    "Up is better, left is cheaper. Lines: 95 % intervals of each arm's own mean over tasks, which decide nothing; "
    "gates have 90 % intervals of the change, because each end is tested at 5 %. The mark has the colour of the "
    "decision. Dashed: no arm above and to the left."
)
HEAT_MAP_CAPTION = (
    "Runs that passed, of those that count; the stronger the shade, the more. ~ marks a flaky task: some passed, some "
    "did not."
)

Span = tuple[float, float]


def frontier_figures(
    arms: Sequence[ArmTable], marks: Mapping[str, ChangeMarker], *, simulated: bool = False
) -> list[Block]:
    """Cost and quality of every arm that knows both. The mark of an arm goes by its decision; the baseline has none.

    Costs that were simulated are in percent of the first arm's.
    """
    known = {arm.name: (pass_rate_estimate(arm), _mean_cost(arm)) for arm in arms}
    points = {
        name: (rate.point, cost.point)
        for name, (rate, cost) in known.items()
        if rate.point is not None and cost.point is not None and cost.point > 0
    }
    if len(points) < 2:
        return []
    best = pareto_frontier(CostQuality(name, cost, rate) for name, (rate, cost) in points.items())
    first = next(iter(points))
    unit = points[first][1] if simulated else 1.0
    spots = [
        FrontierPoint(
            name=name,
            cost=cost / unit,
            quality=rate,
            cost_interval=_span(known[name][1], unit),
            quality_interval=_span(known[name][0]),
            on_frontier=name in best,
            mark=marks.get(name, ChangeMarker.OPEN),
            description=f"{name}: {format_percent(rate)} passed at {_price(cost, unit if simulated else None, first)}"
            + ("; no other arm is both cheaper and at least as good" if name in best else ""),
        )
        for name, (rate, cost) in points.items()
    ]
    title = "Cost against pass rate"
    cost_title = f"simulated cost of a run, {shorten_name(first, 20)} = 100 %" if simulated else "mean cost of a run"
    tick = percent_tick if simulated else dollar_tick
    draw = partial(draw_frontier, title, spots, tick, percent_tick, cost_title)
    return [
        Figure(title=title, draw=draw, caption=FRONTIER_CAPTION, text_lines=tuple(spot.description for spot in spots))
    ]


def _price(cost: float, unit: float | None, first: str) -> str:
    return f"{format_dollars(cost)} a run" if unit is None else f"{format_percent(cost / unit)} of the cost of {first}"


def _mean_cost(arm: ArmTable) -> Estimate:
    costs = arm.mean_per_task("cost_usd")
    return mean_interval(costs[~np.isnan(costs)], level=LEVEL, unit=Unit.TASK)


def _span(estimate: Estimate, unit: float = 1.0) -> Span | None:
    """Costs are above 0, and so is what is drawn of them."""
    found = estimate.interval
    return None if found is None else (max(found.low, 0.0) / unit, found.high / unit)


def heat_map_figures(arms: Sequence[ArmTable], most: int = MOST_HEAT_ROWS) -> list[Block]:
    """Which arm passes which task; of many tasks, those on which the arms differ the most."""
    shown_arms = arms[:MOST_HEAT_ARMS]
    cells = [_heat_cells(arm) for arm in shown_arms]
    tasks = list(dict.fromkeys(task for found in cells for task in found))
    if not tasks:
        return []
    rows = [HeatRow(task=task, cells=tuple(found.get(task) for found in cells)) for task in tasks]
    shown = rows if len(rows) <= most else sorted(rows, key=_rate_difference, reverse=True)[:most]
    some = "" if shown is rows else f" ({len(shown)} of {len(rows)} tasks: those on which the arms differ the most)"
    title = f"Which arm passes which task{some}"
    names = [arm.name for arm in shown_arms]
    flaky = sum(any(cell is not None and cell.flaky for cell in row.cells) for row in rows)
    return [
        Figure(
            title=title,
            draw=partial(draw_heat_map, title, names, shown),
            caption=HEAT_MAP_CAPTION,
            text_lines=(f"{flaky} of {len(rows)} tasks are flaky in at least one arm",),
            text_chart=_heat_map_text(names, shown[:MOST_TEXT_ROWS]),
        )
    ]


def _heat_cells(arm: ArmTable) -> Mapping[str, HeatCell]:
    known, sums = arm.known_per_task("passed").tolist(), arm.sum_per_task("passed").tolist()
    return {
        task: HeatCell(
            passes=round(won),
            runs=runs,
            flaky=0 < won < runs,
            description=f"{task}, {arm.name}: {round(won)} of {runs} runs passed{', flaky' * (0 < won < runs)}",
        )
        for task, won, runs in zip(arm.tasks, sums, known, strict=True)
        if runs
    }


def _rate_difference(row: HeatRow) -> float:
    rates = [cell.passes / cell.runs for cell in row.cells if cell is not None]
    return max(rates) - min(rates) if rates else 0.0


def _heat_map_text(arms: Sequence[str], rows: Sequence[HeatRow]) -> tuple[str, ...]:
    names = [shorten_name(row.task) for row in rows]
    heads = [shorten_name(arm, 14) for arm in arms]
    widest = max(map(len, names))
    lines = [
        f"{name:<{widest}}  "
        + "  ".join(f"{_format_cell(cell):>{max(6, len(head))}}" for cell, head in _cells_with_heads(row, heads))
        for name, row in zip(names, rows, strict=True)
    ]
    return (f"{'':<{widest}}  " + "  ".join(f"{head:>{max(6, len(head))}}" for head in heads), *lines)


def _cells_with_heads(row: HeatRow, heads: Sequence[str]) -> list[tuple[HeatCell | None, str]]:
    return list(zip(row.cells, heads, strict=True))


def _format_cell(cell: HeatCell | None) -> str:
    return "-" if cell is None else f"{cell.passes}/{cell.runs}{'~' if cell.flaky else ' '}"


DISTRIBUTION_METRICS = tuple(METRICS_BY_NAME[name] for name in ("duration_seconds", "non_cache_tokens", "cost_usd"))
DISTRIBUTION_CAPTION = (
    "Bars are runs, the box is their middle half, the upright line the median. A long tail shows here first."
)


def distribution_figures(comparison: Comparison) -> list[Block]:
    """A strip per arm for everything that both arms know of any run."""
    known = [
        metric
        for metric in DISTRIBUTION_METRICS
        if comparison.baseline.metrics[metric.name].count
        and comparison.candidate.metrics[metric.name].count
        and not (comparison.simulated and metric.unit == "dollars")
    ]
    # How to read them is said once.
    return [_distribution_figure(comparison, metric, first=metric == known[0]) for metric in known]


def _distribution_figure(comparison: Comparison, metric: Metric, *, first: bool) -> Figure:
    strips = [_distribution(arm, metric.name) for arm in (comparison.baseline_table, comparison.candidate_table)]
    title, show = f"{metric.title.capitalize()} of every run", UNIT_FORMATS[metric.unit].value
    scale, names = distribution_axis(strips), [shorten_name(strip.name) for strip in strips]
    widest = max(map(len, names))
    chart = [
        f"{name:<{widest}}  {sparkline([len(part) for part in bin_values(strip.values, scale, TEXT_WIDTH)])}"
        for name, strip in zip(names, strips, strict=True)
    ]
    ends = f"{show(scale.low)} to {show(scale.high)}{', logarithmic' if scale.log else ''}"
    return Figure(
        title=title,
        draw=partial(draw_distributions, title, strips, show, UNIT_TICKS[metric.unit]),
        caption=DISTRIBUTION_CAPTION if first else "",
        text_lines=(),
        text_chart=(*chart, f"{'':<{widest}}  {ends}"),
    )


def _distribution(arm: ArmTable, metric: str) -> Distribution:
    column = arm.columns[metric]
    known = column[~np.isnan(column)]
    return Distribution(name=arm.name, values=known.tolist(), unknown=len(column) - len(known))


COMPONENTS_CAPTION = (
    "Tokens of all counted runs by the part of the set-up they went to, the arms on one scale. Arms whose agent "
    "exposes nothing have no bar."
)


def component_figures(arms: Sequence[ArmSummary]) -> list[Block]:
    """One bar per arm that knows its components."""
    known = [arm for arm in arms if any(part.tokens for part in arm.components)]
    present = [kind for kind in Component if any(part.component is kind for arm in known for part in arm.components)]
    if not known:
        return []
    bars = [_component_bar(arm, present) for arm in known]
    title = "Tokens by component"
    return [
        Figure(
            title=title,
            draw=partial(draw_stacked_bars, title, bars, [_component_name(kind) for kind in present]),
            caption=COMPONENTS_CAPTION,
            text_lines=(),
            text_chart=tuple(_components_text(known)),
        )
    ]


def _component_bar(arm: ArmSummary, present: Sequence[Component]) -> StackedBar:
    parts = tuple(
        BarSegment(
            number=present.index(part.component) + 1,
            size=part.tokens,
            description=f"{arm.name}, {_component_name(part.component)}: {format_count(part.tokens)} tokens, "
            + format_percent(part.token_share.value),
        )
        for part in arm.components
    )
    return StackedBar(
        name=arm.name, label=f"{format_count(sum(part.tokens for part in arm.components))} tokens", parts=parts
    )


def _components_text(arms: Sequence[ArmSummary]) -> list[str]:
    lines = []
    for arm in arms:
        lines.append(arm.name)
        lines.extend(
            f"  {_component_name(part.component):<17}{text_bar(part.token_share.value or 0.0)}  "
            + format_percent(part.token_share.value)
            for part in arm.components
        )
    return lines


def _component_name(kind: Component) -> str:
    return kind.value.replace("_", " ")


TIERS_CAPTION = (
    "Bars end at the median composite (both dimensions, even weights), dots at its mean; the uplift is the median's "
    "gain over the first tier. No interval is drawn: a ladder ranks, `outweigh verdict` decides."
)


def tier_figures(ladder: Ladder) -> list[Block]:
    """One bar per tier, where any tier has a composite."""
    bars = [_tier_bar(tier) for tier in ladder.tiers]
    if all(bar.score is None for bar in bars):
        return []
    title = "The ladder: composite, grade and uplift of every tier"
    widest = max(len(shorten_name(bar.name)) for bar in bars)
    chart = tuple(f"{shorten_name(bar.name):<{widest}}  {text_bar(bar.score or 0.0)}  {bar.label}" for bar in bars)
    draw = partial(draw_tiers, title, bars, dict(ladder.scale.thresholds))
    values = FigureValues(
        columns=("tier", "composite_median", "composite_mean"),
        rows=tuple((bar.name, bar.score, bar.mean) for bar in bars),
    )
    return [
        Figure(
            title=title,
            draw=draw,
            caption=TIERS_CAPTION,
            text_lines=(),
            text_chart=chart,
            name="composite",
            values=values,
        )
    ]


def _tier_bar(tier: Tier) -> TierBar:
    summary, composite = tier.summary, tier.summary.metrics["composite"]
    uplift = UNKNOWN if tier.uplift.value is None else f"{format_signed(100 * tier.uplift.value)} %"
    label = f"{format_score(composite.median)}, {tier.grade or 'no grade'}"
    if tier.number > 0:
        label += f", uplift {uplift}"
    means = f"mean {format_score(composite.mean)}; pass rate {format_percent(summary.pass_rate.value)}"
    description = f"{summary.name}: {label}; {means}"
    name = f"{tier.number}. {summary.name}"
    return TierBar(name=name, score=composite.median, mean=composite.mean, label=label, description=description)
