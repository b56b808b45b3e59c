"""What holds of every chart, whatever it shows."""

import re
from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest
from tests.report.svg.parsed_svg import SVG, marks, parsed, titles, written
from tests.report.svg.samples import CHARTS, HOSTILE

from outweigh.report.formatting import shorten_name
from outweigh.report.svg.elements import CHART_STYLE, standalone_svg, titled_element

Draw = Callable[[str], str]
every_chart = pytest.mark.parametrize("draw", CHARTS.values(), ids=CHARTS.keys())


@every_chart
def test_every_mark_has_words(draw: Draw) -> None:
    assert len(marks(draw("plain"))) > 0
    assert all(titles(draw("plain")))


@every_chart
def test_the_chart_says_what_it_is(draw: Draw) -> None:
    root = parsed(draw("plain"))

    assert root.attrib["aria-label"] == "plain"
    assert root.findtext(f"{SVG}title") == "plain"


@every_chart
def test_hostile_names_stay_text(draw: Draw) -> None:
    svg = draw(HOSTILE)

    assert "<script" not in svg
    assert not {"\u202e", "\x1b"} & set(svg)
    assert parsed(svg).attrib["aria-label"].startswith("</title><script>")


@every_chart
def test_nothing_is_placed_nowhere(draw: Draw) -> None:
    assert not re.search(r"=\"-?(nan|inf)", draw("plain"))


@every_chart
def test_it_is_the_same_each_time(draw: Draw) -> None:
    assert draw("plain") == draw("plain")


@every_chart
def test_every_class_has_a_look(draw: Draw) -> None:
    used = {name for element in parsed(draw("plain")).iter() for name in element.attrib.get("class", "").split()}

    assert [name for name in used if f".{name}" not in CHART_STYLE] == []


@every_chart
def test_its_figures_can_be_copied(draw: Draw) -> None:
    assert written(draw("plain"))


@every_chart
def test_a_drawing_of_its_own_has_a_size_and_a_style_without_variables_and_schemes(draw: Draw) -> None:
    root = ET.fromstring(standalone_svg(draw("plain")))
    style = root.findtext(f"{SVG}style") or ""

    assert root.attrib["viewBox"] == f"0 0 {root.attrib['width']} {root.attrib['height']}"
    assert ".ow-better { fill: #004A8F" in style
    assert not re.search(r"var\(|--|@media|Canvas", style)
    assert style.count("{") == style.count("}")
    assert [mark.attrib for mark in root.iter(f"{SVG}title")] != []


def test_what_is_not_known_cannot_be_placed() -> None:
    with pytest.raises(ValueError, match="not known"):
        titled_element("circle", "words", cx=float("nan"))


@pytest.mark.parametrize("most", [5, 18, 28])
def test_a_long_name_keeps_both_its_ends(most: int) -> None:
    name = "repository-one/" + "x" * 60 + "/the-task"

    assert len(shorten_name(name, most)) == most
    assert shorten_name(name, most)[0] == "r"
    assert shorten_name(name, most)[-1] == "k"
    assert shorten_name("short", most) == "short"
