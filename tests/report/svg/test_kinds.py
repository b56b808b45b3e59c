"""What each kind of chart shows, and that more of it is where more belongs."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.svg.parsed_svg import marks, parsed, place, written

from outweigh.report.axis import dollar_tick, linear_axis, percent_tick, plain_tick
from outweigh.report.interval_rows import ChangeMarker
from outweigh.report.svg.bars import (
    BINS,
    BarSegment,
    Distribution,
    StackedBar,
    TierBar,
    bin_values,
    distribution_axis,
    draw_distributions,
    draw_stacked_bars,
    draw_tiers,
    quartiles,
)
from outweigh.report.svg.cost_quality import FrontierPoint, draw_frontier
from outweigh.report.svg.elements import CIRCLE, DIAMOND
from outweigh.report.svg.heat_map import HeatCell, HeatRow, draw_heat_map
from outweigh.report.svg.lines import LineAxes, LineSeries, Slope, draw_lines, draw_slopes, sample_evenly

AMOUNTS = st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=40)


def test_a_steeper_slope_has_its_ends_further_apart_and_more_tasks_make_it_thicker() -> None:
    slopes = [
        Slope(before=0.0, after=1.0, tasks=1, mark=ChangeMarker.BETTER, description="one"),
        Slope(before=0.5, after=0.5, tasks=9, mark=ChangeMarker.OPEN, description="nine"),
    ]
    svg = draw_slopes("slopes", ("a", "b"), slopes, linear_axis((0.0, 1.0)), percent_tick)

    nine, one = [line for line in marks(svg) if line.tag.endswith("line")]
    assert place(one, "y1") > place(one, "y2")
    assert place(nine, "y1") == place(nine, "y2")
    assert place(nine, "stroke-width") > place(one, "stroke-width")
    assert nine.attrib["stroke-dasharray"] != one.attrib["stroke-dasharray"]


def a_spot(
    name: str, cost: float, quality: float, *, best: bool, mark: ChangeMarker = ChangeMarker.OPEN
) -> FrontierPoint:
    return FrontierPoint(
        name=name,
        cost=cost,
        quality=quality,
        cost_interval=None,
        quality_interval=None,
        on_frontier=best,
        mark=mark,
        description=name,
    )


def test_dearer_is_further_right_and_better_is_higher() -> None:
    spots = [a_spot("cheap", 0.1, 0.2, best=True), a_spot("dear", 0.4, 0.9, best=True)]

    svg = draw_frontier("frontier", spots, dollar_tick, percent_tick, "cost")

    cheap, dear = [nested for nested in parsed(svg) if nested.tag.endswith("svg")]
    assert place(cheap, "x") < place(dear, "x")
    assert place(cheap, "y") > place(dear, "y")


def test_a_cheap_loser_on_the_frontier_has_the_mark_of_a_loser() -> None:
    spots = [
        a_spot("loser", 0.1, 0.2, best=True, mark=ChangeMarker.WORSE),
        a_spot("winner", 0.4, 0.9, best=True, mark=ChangeMarker.BETTER),
    ]

    svg = draw_frontier("frontier", spots, dollar_tick, percent_tick, "cost")

    assert [mark.attrib["d"] for mark in marks(svg, "ow-worse")] == [DIAMOND]
    assert [mark.attrib["d"] for mark in marks(svg, "ow-better")] == [CIRCLE]


def test_names_of_spots_on_the_same_place_are_moved_apart() -> None:
    spots = [a_spot(name, 0.1, 0.5, best=False) for name in ("one", "two", "three")]

    root = parsed(draw_frontier("frontier", spots, dollar_tick, percent_tick, "cost"))

    names = [element for element in root.iter() if element.attrib.get("class") == "ow-name"]
    heights = sorted(place(name, "y") for name in names)
    assert all(after - before >= 14 for before, after in pairwise(heights))


def test_names_that_have_no_room_are_left_to_their_marks() -> None:
    spots = [a_spot(f"arm {number}", 0.1, 0.5, best=False) for number in range(30)]

    root = parsed(draw_frontier("frontier", spots, dollar_tick, percent_tick, "cost"))

    names = [element for element in root.iter() if element.attrib.get("class") == "ow-name"]
    assert 0 < len(names) < 30
    assert all(place(name, "y") <= 200 for name in names)


@given(AMOUNTS)
def test_strips_lose_no_run(values: list[float]) -> None:
    strip = Distribution(name="arm", values=values, unknown=0)

    assert sum(map(len, bin_values(values, distribution_axis([strip])))) == len(values)


@given(AMOUNTS)
def test_quartiles_are_in_order_and_within_the_values(values: list[float]) -> None:
    found = quartiles(values)

    assert min(values) <= found.low <= found.middle <= found.high <= max(values) * (1 + 1e-12)


def test_quartiles_by_hand() -> None:
    found = quartiles([4.0, 1.0, 3.0, 2.0])

    assert (found.low, found.middle, found.high) == (1.75, 2.5, 3.25)


def test_strips_stay_small_whatever_the_number_of_runs() -> None:
    many = Distribution(name="arm", values=[1.0 + number / 7 for number in range(20_000)], unknown=0)

    svg = draw_distributions("strips", [many], plain_tick, plain_tick)

    assert len(marks(svg, "ow-bar")) <= BINS


def test_an_arm_that_knows_nothing_says_unknown() -> None:
    strips = [Distribution(name="a", values=[1.0], unknown=0), Distribution(name="b", values=[], unknown=3)]

    assert "unknown" in written(draw_distributions("strips", strips, plain_tick, plain_tick))


def test_a_better_tier_has_a_longer_bar_and_an_unknown_one_none() -> None:
    rungs = [
        TierBar(name=name, score=score, mean=None, label="", description=name)
        for name, score in (("low", 0.4), ("high", 0.8), ("unknown", None))
    ]

    low, high = marks(draw_tiers("ladder", rungs, {"A": 0.95}), "ow-bar")
    assert 2 * place(low, "width") == pytest.approx(place(high, "width"))


def test_a_task_that_passes_more_often_has_a_stronger_shade_and_a_flaky_one_is_marked() -> None:
    cells = (
        HeatCell(passes=1, runs=5, flaky=True, description="one"),
        HeatCell(passes=5, runs=5, flaky=False, description="all"),
        None,
    )
    svg = draw_heat_map("heat", ["a", "b", "c"], [HeatRow(task="task", cells=cells)])

    one, everything = marks(svg, "ow-cell")
    assert place(one, "fill-opacity") < place(everything, "fill-opacity")
    assert {"1/5 ~", "5/5"} <= set(written(svg))
    assert len(marks(svg, "ow-empty")) == 1


def test_lines_have_dashes_of_their_own_and_a_legend_with_figures() -> None:
    lines = [LineSeries(name=f"arm {n}", places=[(0.0, 0.0), (1.0, float(n))], label=f"${n}") for n in range(1, 4)]

    svg = draw_lines("spent", lines, LineAxes(show_x=plain_tick, show_y=dollar_tick, x_title="hours"))

    assert len({path.attrib["class"] for path in marks(svg, "ow-path")}) == 3
    assert {"arm 1", "$3"} <= set(written(svg))


def test_parts_of_a_bar_add_up_and_are_named_by_number() -> None:
    bar = StackedBar(
        name="arm",
        label="4",
        parts=(BarSegment(number=1, size=3, description="three"), BarSegment(number=2, size=1, description="one")),
    )
    svg = draw_stacked_bars("parts", [bar], ["big", "small"])

    three, one = [part for part in marks(svg) if part.findtext("{http://www.w3.org/2000/svg}title") in ("three", "one")]
    assert place(three, "x") + place(three, "width") < place(one, "x")
    assert place(three, "width") == pytest.approx(75, abs=0.5)
    assert "1  big" in written(svg)


@given(st.integers(1, 1000), st.integers(2, 60))
def test_a_sample_of_many_is_even_and_has_both_ends(size: int, most: int) -> None:
    found = sample_evenly(range(size), most)

    assert len(found) == min(size, most)
    assert (found[0], found[-1]) == (0, size - 1)
    assert list(found) == sorted(set(found))


@pytest.mark.parametrize(
    ("shown", "description"),
    [
        (dollar_tick(0.05), "$0.05"),
        (dollar_tick(20_000), "$20,000"),
        (percent_tick(0.5), "50 %"),
        (plain_tick(1_500), "1,500"),
        (plain_tick(20_000), "20k"),
        (plain_tick(3e6), "3M"),
        (plain_tick(0), "0"),
    ],
)
def test_ticks_are_short(shown: str, description: str) -> None:
    assert shown == description
