"""Arms that inherit the best of equal arms: what the cells of the study measure, on 20 fixed seeds."""

import pytest
from calibration.inherit_cells import HELD_OUT, SAME_RUNS, SHRUNKEN, inherited_gains

from outweigh.model.tiers import InheritSpec

SEEDS = range(20)
BY_JUDGES = InheritSpec(best_of=[0], by="median-judge")


@pytest.fixture(scope="module")
def gains() -> dict[str, list[float]]:
    """What the chosen one of 18 equal arms seems to gain, 12 tasks × 5 repeats, for every seed."""
    found = [inherited_gains(18, 12, 5, BY_JUDGES, 10, seed) for seed in SEEDS]
    return {name: [readings[name].value for readings in found] for name in (HELD_OUT, SAME_RUNS, SHRUNKEN)}


def test_on_held_out_runs_the_chosen_arm_gains_nothing(gains: dict[str, list[float]]) -> None:
    assert sum(gain > 0 for gain in gains[HELD_OUT]) == 7
    assert abs(sum(gains[HELD_OUT])) / len(SEEDS) <= 0.01


def test_on_the_runs_that_chose_it_the_arm_seems_better_than_it_is(gains: dict[str, list[float]]) -> None:
    assert sum(gain > 0 for gain in gains[SAME_RUNS]) == 20
    assert sum(gains[SAME_RUNS]) / len(SEEDS) > 0.03


def test_shrinking_removes_most_of_that_and_not_all(gains: dict[str, list[float]]) -> None:
    excess, left = (sum(gains[name]) / len(SEEDS) for name in (SAME_RUNS, SHRUNKEN))
    assert 0 < left < excess / 3
