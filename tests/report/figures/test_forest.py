"""The forest of effects and the matrix of interactions, as drawn, as text and as values."""

from tests.report.svg.parsed_svg import marks, titles, written

from outweigh.report.figures.forest import ForestEffect, forest_figure, interaction_figure
from outweigh.report.interval_rows import ChangeMarker

BETTER = ForestEffect(name="skills", value=0.13, interval=(0.02, 0.24), mark=ChangeMarker.BETTER, state="better")
WORSE = ForestEffect(name="hooks", value=-0.2, interval=(-0.3, -0.1), mark=ChangeMarker.WORSE, state="worse")
OPEN = ForestEffect(name="tools", value=0.0, interval=None, mark=ChangeMarker.OPEN)
UNKNOWN = ForestEffect(name="agents", value=None, interval=None, mark=ChangeMarker.UNKNOWN, reason="no run was judged")


def test_a_forest_says_every_effect_with_its_interval_and_why_one_is_unknown() -> None:
    figure = forest_figure("uplift", "Uplift", "caption", [BETTER, WORSE, OPEN, UNKNOWN])

    assert {"+13 (+2 to +24)", "-20 (-30 to -10)", "+0, no interval", "unknown"} <= set(written(figure.draw()))
    assert "agents: unknown points; no run was judged" in figure.draw()
    assert len(marks(figure.draw(), "ow-worse")) == len(marks(figure.draw(), "ow-better"))


def test_the_values_of_a_forest_are_what_is_drawn_in_full_precision() -> None:
    values = forest_figure("uplift", "Uplift", "caption", [BETTER, UNKNOWN]).values

    assert values is not None
    assert values.columns == ("name", "effect", "low", "high", "state")
    assert values.rows == (("skills", 0.13, 0.02, 0.24, "better"), ("agents", None, None, None, "unknown"))


def test_a_matrix_has_a_cell_for_every_two_parts_and_marks_what_chance_hardly_explains() -> None:
    figure = interaction_figure("Interactions", ["a", "b", "c"], {("c", "a"): WORSE, ("a", "b"): OPEN})

    assert len(marks(figure.draw(), "ow-cell")) == 2
    assert titles(figure.draw()).count("b and c: unknown") == 1
    assert {"▼ -20", "+0"} <= set(written(figure.draw()))
    assert "c and a worse: -20 (-30 to -10) points" in titles(figure.draw())
    assert figure.values is not None
    assert figure.values.rows[0] == ("c", "a", -0.2, -0.3, -0.1, "worse")


def test_with_many_parts_cells_have_marks_alone_so_that_no_figure_is_wider_than_its_cell() -> None:
    parts = [f"part-{number}" for number in range(20)]
    effects = {(one, other): BETTER for place, one in enumerate(parts) for other in parts[:place]}

    drawn = written(interaction_figure("Interactions", parts, effects).draw())

    assert drawn.count("▲") == 190
    assert not any("+13" in text for text in drawn)
