"""All arms on one picture: what they cost and achieve, and which tasks they pass."""

from collections.abc import Mapping, Sequence

import numpy as np

from outweigh.compare.arm_inference import LEVEL, pass_rate_estimate
from outweigh.compare.arm_table import ArmTable
from outweigh.compare.frontier import Offer, frontier
from outweigh.report.charts.frontier import Spot, frontier_chart
from outweigh.report.charts.heat import Cell, HeatRow, heat_chart
from outweigh.report.charts.svg import shortened
from outweigh.report.charts.ticks import dollar_tick, percent_tick
from outweigh.report.document import Block, Picture
from outweigh.report.wording import dollars, percent
from outweigh.stats.estimate import Estimate, Unit
from outweigh.stats.mean import mean_interval

MOST_TASKS = 30
MOST_SKETCHED = 24
MOST_ARMS = 8

FRONTIER_CAPTION = (
    "Up is better, left is cheaper; lines are 95 % intervals over tasks. A filled circle is on the frontier: no "
    "other arm is both cheaper and at least as good. Where the lines overlap, so may the order."
)
HEAT_CAPTION = (
    "Runs that passed, of those that count; the darker, the more. ~ marks a flaky task: some passed, some did not."
)

Span = tuple[float, float]


def frontier_pictures(arms: Sequence[ArmTable]) -> list[Block]:
    """Cost and quality of every arm that knows both."""
    known = {arm.name: (pass_rate_estimate(arm), _mean_cost(arm)) for arm in arms}
    points = {
        name: (rate.point, cost.point)
        for name, (rate, cost) in known.items()
        if rate.point is not None and cost.point is not None and cost.point > 0
    }
    if len(points) < 2:
        return []
    best = frontier(Offer(name, cost, rate) for name, (rate, cost) in points.items())
    spots = [
        Spot(
            name=name,
            cost=cost,
            quality=rate,
            cost_interval=_span(known[name][1]),
            quality_interval=_span(known[name][0]),
            on_frontier=name in best,
            words=f"{name}: {percent(rate)} passed at {dollars(cost)} a run{', on the frontier' * (name in best)}",
        )
        for name, (rate, cost) in points.items()
    ]
    title = "Cost and pass rate of the arms"
    svg = frontier_chart(title, spots, dollar_tick, percent_tick)
    return [Picture(title=title, svg=svg, caption=FRONTIER_CAPTION, words=tuple(spot.words for spot in spots))]


def _mean_cost(arm: ArmTable) -> Estimate:
    costs = arm.mean_per_task("cost_usd")
    return mean_interval(costs[~np.isnan(costs)], level=LEVEL, unit=Unit.TASK)


def _span(estimate: Estimate) -> Span | None:
    """Costs are above 0, and so is what is drawn of them."""
    found = estimate.interval
    return None if found is None else (max(found.low, 0.0), found.high)


def heat_pictures(arms: Sequence[ArmTable]) -> list[Block]:
    """Which arm passes which task; of many tasks, those on which the arms differ the most."""
    shown_arms = arms[:MOST_ARMS]
    cells = [_cells(arm) for arm in shown_arms]
    tasks = list(dict.fromkeys(task for found in cells for task in found))
    if not tasks:
        return []
    rows = [HeatRow(task=task, cells=tuple(found.get(task) for found in cells)) for task in tasks]
    shown = rows if len(rows) <= MOST_TASKS else sorted(rows, key=_difference, reverse=True)[:MOST_TASKS]
    some = "" if shown is rows else f" ({len(shown)} of {len(rows)} tasks: those on which the arms differ the most)"
    title = f"Which arm passes which task{some}"
    names = [arm.name for arm in shown_arms]
    flaky = sum(any(cell is not None and cell.flaky for cell in row.cells) for row in rows)
    return [
        Picture(
            title=title,
            svg=heat_chart(title, names, shown),
            caption=HEAT_CAPTION,
            words=(f"{flaky} of {len(rows)} tasks are flaky in at least one arm",),
            sketch=_sketch(names, shown[:MOST_SKETCHED]),
        )
    ]


def _cells(arm: ArmTable) -> Mapping[str, Cell]:
    known, sums = arm.known_per_task("passed").tolist(), arm.sum_per_task("passed").tolist()
    return {
        task: Cell(
            passes=round(won),
            runs=runs,
            flaky=0 < won < runs,
            words=f"{task}, {arm.name}: {round(won)} of {runs} runs passed{', flaky' * (0 < won < runs)}",
        )
        for task, won, runs in zip(arm.tasks, sums, known, strict=True)
        if runs
    }


def _difference(row: HeatRow) -> float:
    rates = [cell.passes / cell.runs for cell in row.cells if cell is not None]
    return max(rates) - min(rates) if rates else 0.0


def _sketch(arms: Sequence[str], rows: Sequence[HeatRow]) -> tuple[str, ...]:
    names = [shortened(row.task) for row in rows]
    heads = [shortened(arm, 14) for arm in arms]
    widest = max(map(len, names))
    lines = [
        f"{name:<{widest}}  "
        + "  ".join(f"{_figure(cell):>{max(6, len(head))}}" for cell, head in _cells_of(row, heads))
        for name, row in zip(names, rows, strict=True)
    ]
    return (f"{'':<{widest}}  " + "  ".join(f"{head:>{max(6, len(head))}}" for head in heads), *lines)


def _cells_of(row: HeatRow, heads: Sequence[str]) -> list[tuple[Cell | None, str]]:
    return list(zip(row.cells, heads, strict=True))


def _figure(cell: Cell | None) -> str:
    return "-" if cell is None else f"{cell.passes}/{cell.runs}{'~' if cell.flaky else ' '}"
