"""One drawing of every kind, with names that try to be markup."""

from collections.abc import Callable

from outweigh.report.charts.agreement import Accord, agreement_chart
from outweigh.report.charts.dial import Dial, dial_chart
from outweigh.report.charts.frontier import Spot, frontier_chart
from outweigh.report.charts.heat import Cell, HeatRow, heat_chart
from outweigh.report.charts.interval import ChartRow, Mark, interval_chart
from outweigh.report.charts.ladder import Rung, ladder_chart
from outweigh.report.charts.lines import Area, Axes, Limit, Line, line_chart
from outweigh.report.charts.scale import linear
from outweigh.report.charts.slope import Slope, slope_chart
from outweigh.report.charts.stack import Bar, Part, stack_chart
from outweigh.report.charts.strips import Strip, strip_chart
from outweigh.report.charts.ticks import dollar_tick, percent_tick, plain_tick

HOSTILE = "</title><script>alert('1')</script>\u202e\x1b\"&" * 3


def _interval(name: str) -> str:
    row = ChartRow(
        name=name,
        state=name,
        mark=Mark.BETTER,
        figures=name,
        point=0.1,
        interval=(0.0, 0.2),
        band=(-0.05, 0.05),
        words=name,
        band_words=name,
    )
    return interval_chart(name, [row])


def _dial(name: str) -> str:
    dial = Dial(
        word=name,
        name=name,
        figures=name,
        mark=Mark.WORSE,
        point=-0.25,
        interval=(-0.3, -0.2),
        band=(-0.05, 0.05),
        band_figures=(name, name),
        words=name,
    )
    return dial_chart(name, dial)


def _slope(name: str) -> str:
    slopes = [Slope(before=0.2, after=0.8, tasks=3, mark=Mark.BETTER, words=name)]
    return slope_chart(name, (name, name), slopes, linear((0.0, 1.0)), percent_tick)


def _frontier(name: str) -> str:
    spots = [
        Spot(
            name=name,
            cost=cost,
            quality=0.5,
            cost_interval=(cost / 2, cost * 2),
            quality_interval=None,
            on_frontier=cost < 0.2,
            words=name,
        )
        for cost in (0.1, 0.2)
    ]
    return frontier_chart(name, spots, dollar_tick, percent_tick)


def _strips(name: str) -> str:
    strips = [Strip(name=name, values=[1.0, 2.0, 300.0], unknown=1), Strip(name=name, values=[], unknown=2)]
    return strip_chart(name, strips, plain_tick, plain_tick)


def _ladder(name: str) -> str:
    return ladder_chart(name, [Rung(name=name, score=0.8, mean=0.7, figures=name, words=name)], {"A": 0.95, "B": 0.85})


def _heat(name: str) -> str:
    cell = Cell(passes=3, runs=5, flaky=True, words=name)
    return heat_chart(name, [name, name], [HeatRow(task=name, cells=(cell, None))])


def _lines(name: str) -> str:
    line = Line(name=name, places=[(0.0, 0.0), (1.0, 2.0)], figures=name)
    area = Area(places=[(0.0, -1.0, 1.0), (1.0, 1.0, 3.0)], words=name)
    axes = Axes(show_x=plain_tick, show_y=plain_tick, x_words=name)
    return line_chart(name, [line, line], axes, area=area, limits=[Limit(level=0.0, words=name)], stairs=True)


def _stack(name: str) -> str:
    bar = Bar(name=name, figures=name, parts=(Part(number=1, size=3, words=name), Part(number=2, size=1, words=name)))
    return stack_chart(name, [bar], [name, name])


def _agreement(name: str) -> str:
    return agreement_chart(name, [Accord(name=name, alpha=0.7, interval=(0.5, 0.9), figures=name, words=name)])


CHARTS: dict[str, Callable[[str], str]] = {
    "interval": _interval,
    "dial": _dial,
    "slope": _slope,
    "frontier": _frontier,
    "strips": _strips,
    "ladder": _ladder,
    "heat": _heat,
    "lines": _lines,
    "stack": _stack,
    "agreement": _agreement,
}
