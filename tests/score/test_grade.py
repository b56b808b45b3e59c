from math import nan

import pytest

from outweigh.score.composite import S_GRADES, grade


@pytest.mark.parametrize(
    ("score", "letter"),
    [
        (1.0, "A"),
        (0.95, "A"),
        (0.9499, "B"),
        (0.925, "B"),
        (0.85, "B"),
        (0.75, "C"),
        (0.65, "D"),
        (0.6499, "F"),
        (0, "F"),
    ],
)
def test_the_seed_scale_has_its_thresholds_inclusive(score: float, letter: str) -> None:
    assert grade(score) == letter


@pytest.mark.parametrize(
    ("score", "letter"), [(1.0, "S"), (0.999, "A"), (0.8, "A"), (0.6, "B"), (0.4, "C"), (0.2, "D"), (0.19, "F")]
)
def test_the_s_scale_keeps_its_best_letter_for_perfection(score: float, letter: str) -> None:
    assert grade(score, S_GRADES) == letter


@pytest.mark.parametrize("score", [None, nan])
def test_no_score_gets_no_letter(score: float | None) -> None:
    assert grade(score) is None


def test_rounding_dust_costs_no_letter() -> None:
    assert grade((1.0 + (0.15 + 0.95 + 1.0) / 3) / 2) == "B"
