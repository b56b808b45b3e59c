"""The charts in letters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.svg.test_interval import a_row

from outweigh.report.figures.text_charts import TEXT_WIDTH, sparkline, text_bar, text_intervals
from outweigh.report.interval_rows import ChangeMarker


def test_an_interval_is_a_line_with_its_point_its_margin_and_no_change() -> None:
    line, legend = text_intervals([a_row(name="gate", point=0.2, interval=(0.1, 0.3), band=(-0.1, 0.05), label="")])

    assert line.index("░") < line.index("│") < line.index("├") < line.index("●") < line.index("┤")
    assert legend.strip().startswith("worse")
    assert legend.endswith("better")


def test_what_lies_beyond_is_pointed_at() -> None:
    line, _ = text_intervals([a_row(point=-5.0, interval=(-6.0, 3.0))])

    assert "◀" in line
    assert "▶" in line


@pytest.mark.parametrize(
    ("mark", "letter"), [(ChangeMarker.BETTER, "●"), (ChangeMarker.WORSE, "◆"), (ChangeMarker.OPEN, "○")]
)
def test_every_state_has_a_letter_of_its_own(mark: ChangeMarker, letter: str) -> None:
    assert letter in text_intervals([a_row(mark=mark)])[0]


@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(0, 3)), min_size=1, max_size=6))
def test_all_lines_are_equally_wide(ends: list[tuple[float, float]]) -> None:
    rows = [
        a_row(name=f"row {n}", point=low, interval=(low, low + size), label="") for n, (low, size) in enumerate(ends)
    ]

    assert {len(line) for line in text_intervals(rows)} == {len("row 0") + 2 + TEXT_WIDTH}


def test_nothing_to_draw_is_nothing() -> None:
    assert text_intervals([]) == ()


@pytest.mark.parametrize(("share", "drawn"), [(0.0, "····"), (0.5, "██··"), (1.0, "████"), (7.0, "████")])
def test_a_bar_is_as_long_as_its_share(share: float, drawn: str) -> None:
    assert text_bar(share, 4) == drawn


def test_a_spark_rises_with_its_counts_and_leaves_what_is_empty_empty() -> None:
    assert sparkline([0, 1, 4, 8]) == " ▁▄█"
    assert sparkline([0, 0]) == "  "
