"""One drawing of every kind, with names that try to be markup."""

from collections.abc import Callable

from outweigh.report.axis import dollar_tick, linear_axis, percent_tick, plain_tick
from outweigh.report.interval_rows import ChangeMarker, IntervalRow
from outweigh.report.svg.bars import (
    BarSegment,
    Distribution,
    StackedBar,
    TierBar,
    draw_distributions,
    draw_stacked_bars,
    draw_tiers,
)
from outweigh.report.svg.cost_quality import FrontierChance, FrontierPoint, draw_frontier, draw_frontier_chances
from outweigh.report.svg.heat_map import HeatCell, HeatRow, draw_heat_map
from outweigh.report.svg.intervals import AgreementRow, draw_agreement, draw_intervals
from outweigh.report.svg.lines import LimitLine, LineAxes, LineBand, LineSeries, Slope, draw_lines, draw_slopes
from outweigh.report.svg.matrix import MatrixCell, draw_matrix
from outweigh.report.svg.steps import SubArmTick, TierStep, draw_steps

HOSTILE = "</title><script>alert('1')</script>\u202e\x1b\"&" * 3


def _interval(name: str) -> str:
    row = IntervalRow(
        name=name,
        state=name,
        mark=ChangeMarker.BETTER,
        label=name,
        point=0.1,
        interval=(0.0, 0.2),
        band=(-0.05, 0.05),
        description=name,
        band_description=name,
    )
    return draw_intervals(name, [row])


def _slope(name: str) -> str:
    slopes = [Slope(before=0.2, after=0.8, tasks=3, mark=ChangeMarker.BETTER, description=name)]
    return draw_slopes(name, (name, name), slopes, linear_axis((0.0, 1.0)), percent_tick)


def _frontier(name: str) -> str:
    spots = [
        FrontierPoint(
            name=name,
            cost=cost,
            quality=0.5,
            cost_interval=(cost / 2, cost * 2),
            quality_interval=None,
            on_frontier=cost < 0.2,
            mark=ChangeMarker.WORSE,
            description=name,
        )
        for cost in (0.1, 0.2)
    ]
    return draw_frontier(name, spots, dollar_tick, percent_tick, name)


def _strips(name: str) -> str:
    strips = [
        Distribution(name=name, values=[1.0, 2.0, 300.0], unknown=1),
        Distribution(name=name, values=[], unknown=2),
    ]
    return draw_distributions(name, strips, plain_tick, plain_tick)


def _ladder(name: str) -> str:
    return draw_tiers(
        name, [TierBar(name=name, score=0.8, mean=0.7, label=name, description=name)], {"A": 0.95, "B": 0.85}
    )


def _heat(name: str) -> str:
    cell = HeatCell(passes=3, runs=5, flaky=True, description=name)
    return draw_heat_map(name, [name, name], [HeatRow(task=name, cells=(cell, None))])


def _lines(name: str) -> str:
    line = LineSeries(name=name, places=[(0.0, 0.0), (1.0, 2.0)], label=name)
    area = LineBand(places=[(0.0, -1.0, 1.0), (1.0, 1.0, 3.0)], description=name)
    axes = LineAxes(show_x=plain_tick, show_y=plain_tick, x_title=name)
    return draw_lines(name, [line, line], axes, area=area, limits=[LimitLine(level=0.0, description=name)], stairs=True)


def _stack(name: str) -> str:
    bar = StackedBar(
        name=name,
        label=name,
        parts=(BarSegment(number=1, size=3, description=name), BarSegment(number=2, size=1, description=name)),
    )
    return draw_stacked_bars(name, [bar], [name, name])


def _agreement(name: str) -> str:
    return draw_agreement(name, [AgreementRow(name=name, alpha=0.7, interval=(0.5, 0.9), label=name, description=name)])


def _steps(name: str) -> str:
    steps = [
        TierStep(
            name=name,
            value=value,
            interval=(value - 0.1, value + 0.1),
            members=(SubArmTick(value=value, description=name),),
            mark=mark,
            state=name,
            label=name,
            description=name,
        )
        for value, mark in ((0.4, ChangeMarker.OPEN), (0.6, ChangeMarker.BETTER), (0.3, ChangeMarker.WORSE))
    ]
    return draw_steps(name, steps, percent_tick, name)


def _matrix(name: str) -> str:
    cell = MatrixCell(value=0.1, label=name, mark=ChangeMarker.BETTER, description=name)
    return draw_matrix(name, [name, name, name], {(1, 0): cell})


def _chances(name: str) -> str:
    points = [
        FrontierChance(
            cost=0.1,
            quality=0.5,
            cost_interval=(0.05, 0.2),
            quality_interval=(0.4, 0.6),
            chance=0.7,
            minor=minor,
            legend=name,
            description=name,
        )
        for minor in (False, True)
    ]
    return draw_frontier_chances(name, points, dollar_tick, percent_tick, (name, name))


CHARTS: dict[str, Callable[[str], str]] = {
    "interval": _interval,
    "slope": _slope,
    "frontier": _frontier,
    "strips": _strips,
    "ladder": _ladder,
    "heat": _heat,
    "lines": _lines,
    "stack": _stack,
    "agreement": _agreement,
    "steps": _steps,
    "matrix": _matrix,
    "chances": _chances,
}
