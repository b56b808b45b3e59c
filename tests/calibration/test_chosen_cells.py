"""Tasks that were chosen: what the cells of the study measure, on a few draws."""

from calibration.chosen_cells import (
    MOSTLY_PASSING,
    OTHER_ARMS,
    OTHER_REPEATS,
    SAME_RUNS,
    UNEVEN,
    chosen_readings,
    kept_readings,
)


def test_half_the_tasks_keep_most_of_the_t_statistic_of_arms_that_did_not_choose() -> None:
    found = kept_readings(UNEVEN, 80, 6, 3, OTHER_ARMS, 200, 3)

    assert found["kept"].value >= 0.85
    assert found["at random"].value < 0.8


def test_identical_arms_are_not_called_different_on_tasks_that_other_runs_chose() -> None:
    for how in (OTHER_ARMS, OTHER_REPEATS):
        found = chosen_readings(MOSTLY_PASSING, 80, 4, 5, how, 60, 3)

        assert found["improved"].value <= 0.02 + 3 * max(found["improved"].error, 0.02)
        assert found["regressed"].value <= 0.07 + 3 * max(found["regressed"].error, 0.02)


def test_runs_that_choose_and_judge_make_an_identical_candidate_look_better() -> None:
    found = chosen_readings(MOSTLY_PASSING, 80, 4, 5, SAME_RUNS, 60, 3)

    assert found["improved"].value > 0.1
    assert found["improved on all tasks"].value <= 0.05
