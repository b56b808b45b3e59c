"""The chart is an XML document that says everything twice: in marks and in words."""

from xml.etree import ElementTree as ET

import pytest

from outweigh.report.interval_rows import ChangeMarker, IntervalRow
from outweigh.report.svg.intervals import draw_intervals

SVG = "{http://www.w3.org/2000/svg}"


def a_row(**fields: object) -> IntervalRow:
    usual = {
        "name": "duration",
        "state": "holds",
        "mark": ChangeMarker.BETTER,
        "label": "-20.6 % (-26.2 to -14.6)",
        "point": 0.206,
        "interval": (0.146, 0.262),
        "band": (-0.05, 0.048),
        "description": "duration holds",
        "band_description": "within the margin of 5 %",
    }
    return IntervalRow(**(usual | fields))  # type: ignore[arg-type]


def drawn(*rows: IntervalRow, title: str = "a chart") -> ET.Element:
    return ET.fromstring(draw_intervals(title, rows))


def place(element: ET.Element, name: str) -> float:
    return float(element.attrib[name].removesuffix("%"))


def marks(chart: ET.Element, kind: str) -> list[ET.Element]:
    return [element for element in chart.iter() if element.attrib.get("class") == f"ow-{kind}"]


def points(chart: ET.Element) -> list[float]:
    """Where closed shapes were put, the arrows among them."""
    return [
        place(carrier, "x")
        for carrier in chart.iter(f"{SVG}svg")
        if "x" in carrier.attrib and carrier[0].attrib["d"].endswith("Z")
    ]


def test_better_is_drawn_to_the_right_of_no_change() -> None:
    chart = drawn(a_row(point=0.2, interval=(0.1, 0.3)))
    [zero] = marks(chart, "zero")

    assert points(chart)[0] > place(zero, "x1")


def test_worse_is_drawn_to_the_left_of_no_change() -> None:
    chart = drawn(a_row(point=-0.2, interval=(-0.3, -0.1)))
    [zero] = marks(chart, "zero")

    assert points(chart)[0] < place(zero, "x1")


def test_the_point_lies_within_its_interval_and_no_change_within_its_margin() -> None:
    chart = drawn(a_row())
    [bar] = [mark for mark in marks(chart, "better") if mark.tag == f"{SVG}line"]
    [band], [zero] = marks(chart, "band"), marks(chart, "zero")

    assert place(bar, "x1") < points(chart)[0] < place(bar, "x2")
    assert place(band, "x") < place(zero, "x1") < place(band, "x") + place(band, "width")


def test_every_mark_of_a_row_has_a_title() -> None:
    chart = drawn(a_row(), a_row(mark=ChangeMarker.WORSE), a_row(mark=ChangeMarker.OPEN, interval=None))
    kinds = ("band", "zero", "better", "worse", "open")

    assert all(mark.findtext(f"{SVG}title") for kind in kinds for mark in marks(chart, kind))
    assert chart.findtext(f"{SVG}title") == "a chart"


def test_the_numbers_are_there_as_text() -> None:
    written = ["".join(text.itertext()) for text in drawn(a_row()).iter(f"{SVG}text")]

    assert "duration holds" in written
    assert "-20.6 % (-26.2 to -14.6)" in written


def test_states_differ_in_shape_and_not_only_in_colour() -> None:
    shapes = [
        next(path.attrib["d"] for path in drawn(a_row(mark=mark)).iter(f"{SVG}path") if path.attrib["d"].endswith("Z"))
        for mark in (ChangeMarker.BETTER, ChangeMarker.WORSE)
    ]

    assert shapes[0] != shapes[1]


@pytest.mark.parametrize(
    ("point", "interval", "edge"),
    [(-5.0, (-6.0, -4.0), 4.0), (-0.5, (-3.0, 0.1), 4.0), (3.0, (0.5, 4.0), 96.0)],
)
def test_what_lies_beyond_the_chart_is_pointed_at_from_its_edge(
    point: float, interval: tuple[float, float], edge: float
) -> None:
    chart = drawn(a_row(point=point, interval=interval))

    assert edge in points(chart)
    assert all(4 <= place(bar, "x1") <= place(bar, "x2") <= 96 for bar in marks(chart, "better") if "x1" in bar.attrib)


def test_a_row_without_a_change_has_only_its_margin_and_its_words() -> None:
    chart = drawn(a_row(mark=ChangeMarker.OPEN, point=None, interval=None, label=""))

    assert points(chart) == []
    assert len(marks(chart, "band")) == 1


@pytest.mark.parametrize("size", [1e-6, 0.001, 0.01, 0.07, 0.3, 0.99, 1.0, 50.0])
def test_the_axis_has_few_round_ticks_and_shows_no_change_whatever_the_size(size: float) -> None:
    chart = drawn(a_row(point=size / 2, interval=(-size, size)))
    ticks = [text.text for text in marks(chart, "small") if text.attrib["text-anchor"] == "middle"]

    assert 2 <= len(ticks) <= 10
    assert "0" in ticks


def test_hostile_words_stay_words() -> None:
    hostile = "</title><script>alert('1')</script>\u202e\x1b\"&"

    svg = draw_intervals(hostile, [a_row(name=hostile, description=hostile, label=hostile, band_description=hostile)])

    assert "<script" not in svg
    assert "\u202e" not in svg
    assert "\x1b" not in svg
    ET.fromstring(svg)


def test_the_same_rows_give_the_same_drawing() -> None:
    assert draw_intervals("t", [a_row()]) == draw_intervals("t", [a_row()])
