"""Identical arms with a single gate: what the cells of the study measure, on a few draws."""

from calibration.single_gate_cells import AT_TWO_PER_CENT, HALF_PASS, single_gate_readings
from calibration.worlds import world


def test_a_real_gain_is_found_and_more_often_at_the_level_of_both_ways() -> None:
    gain = world("a gain", effect=1.0, effect_deviation=0.0)

    found = single_gate_readings(gain, 20, 3, 3, 1, 200, 5)

    assert 0.2 < found["improved"].value < found[AT_TWO_PER_CENT].value
    assert found["regressed"].value < 0.02


def test_any_of_several_candidates_counts_as_improved_and_each_as_regressed() -> None:
    loss = world("a loss", effect=-2.0, effect_deviation=0.0)

    found = single_gate_readings(loss, 30, 5, 5, 3, 30, 5)

    assert found["improved"].value == 0
    assert 0.9 < found["regressed"].value <= 1


def test_identical_arms_are_rarely_told_apart_with_fewer_runs_of_the_baseline() -> None:
    found = single_gate_readings(HALF_PASS, 20, 5, 2, 1, 300, 5)

    assert found["improved"].value <= 0.02 + 3 * found["improved"].error
    assert found["regressed"].value <= 0.07 + 3 * found["regressed"].error
