"""Small seeded versions of the cells about planned looks and about repeats by variance."""

import numpy as np
import pytest
from calibration.look_cells import LOOK_SECTIONS, POWER_LOST, TASKS_USED, look_readings, run_with_looks
from calibration.repeat_cells import known_variance, own_runs, own_runs_with_fixed_weights, repeat_readings
from calibration.worlds import NULLS, WIN, draw

from outweigh.model.look_plan import plan_even_looks
from outweigh.verdict.decision import Decision


def test_a_win_is_found_with_a_third_of_the_tasks() -> None:
    found = look_readings(WIN, 100, 5, 1, 40, seed=1)

    assert found["improved"].value == 1.0
    assert found[TASKS_USED].value < 40
    assert found[POWER_LOST].value == 0.0


def test_identical_arms_take_little_more_than_half_of_the_tasks_and_are_rarely_told_apart() -> None:
    found = look_readings(NULLS[0], 100, 5, 1, 60, seed=2)

    assert found[TASKS_USED].value < 65
    assert found["improved"].value + found["regressed"].value <= 0.15


def test_candidates_that_can_no_longer_win_are_dropped_before_one_alone_would_be() -> None:
    alone, many = (look_readings(NULLS[0], 60, 3, number, 25, seed=3)[TASKS_USED].value for number in (1, 4))

    assert many < alone


def test_without_an_early_end_every_look_is_taken_where_nothing_differs() -> None:
    plan = plan_even_looks([str(task) for task in range(20)], 5)
    dice = np.random.default_rng(4)

    (ending,) = run_with_looks([draw(NULLS[0], 20, 5, dice)], plan, stop_when_futile=False)

    assert (ending.decision, ending.tasks) == (Decision.INCONCLUSIVE, 20)


def test_all_limits_of_the_issue_are_promised() -> None:
    limits = {
        (cell.name, promise.reading): promise.limit
        for section in LOOK_SECTIONS
        for cell in section.cells
        for promise in cell.promises
    }

    assert limits["identical arms, 100 × 5", TASKS_USED] == 60
    assert limits["trap: cheaper but worse, 100 × 5", TASKS_USED] == 55
    assert limits["win, 100 × 5", TASKS_USED] == 35
    assert limits["small win, 100 × 5", TASKS_USED] == 75
    assert limits["identical arms, 100 × 5", "improved"] == 0.02
    assert limits["identical arms, 100 × 5", "regressed"] == 0.07
    assert limits["pure gain, 100 × 5", POWER_LOST] == 0.08


def test_repeats_by_own_first_runs_are_biased_toward_zero_and_fixed_weights_are_not() -> None:
    biased, fixed, known = (
        repeat_readings(WIN, allot, 1_000, 5)["bias, points"]
        for allot in (own_runs, own_runs_with_fixed_weights, known_variance)
    )

    assert biased.value < -3 * biased.error
    assert abs(fixed.value) < 3 * fixed.error
    assert abs(known.value) < 3 * known.error


@pytest.mark.parametrize("allot", [own_runs, known_variance])
def test_repeats_by_variance_help_the_pass_rate_and_cost_the_resources(allot: object) -> None:
    found = repeat_readings(NULLS[0], allot, 300, 6)  # type: ignore[arg-type]

    assert found["variance, pass rate"].value < 1 < found["variance, a resource"].value
