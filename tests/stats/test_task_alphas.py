"""Agreement where several runs are of one task: overall, between tasks and within tasks, with intervals over tasks."""

from itertools import product

import krippendorff
import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from outweigh.stats.agreement import MeasurementScale, TaskAlphas, alphas_by_task, krippendorff_alpha
from outweigh.stats.estimate import Estimate, Unit

Matrix = NDArray[np.float64]


def alphas(ratings: object, tasks: list[str], scale: MeasurementScale = MeasurementScale.ORDINAL) -> TaskAlphas:
    return alphas_by_task(np.asarray(ratings, dtype=np.float64), tasks, scale=scale, level=0.95)


def judged(
    rng: Generator, tasks: int, runs: int, *, judges: int = 3, between: float = 1.0, within: float = 0.0
) -> tuple[Matrix, list[str]]:
    """Scores of judges who agree about tasks by `between` and about runs of a task by `within`, plus noise of 0.5."""
    task, run = rng.normal(0, between, tasks), rng.normal(0, within, (tasks, runs))
    noise = rng.normal(0, 0.5, (judges, tasks, runs))
    return (task[:, None] + run + noise).reshape(judges, -1), [
        f"{place}" for place in range(tasks) for _ in range(runs)
    ]


# One task passes three of four runs, the other one of four, and the judges never agree which.
EASY_AND_HARD = [[1, 1, 1, 0, 0, 0, 0, 1], [1, 1, 0, 1, 0, 0, 1, 0]]
TASKS = ["easy"] * 4 + ["hard"] * 4


def test_the_three_alphas_of_two_tasks_are_what_they_are_by_hand() -> None:
    found = alphas(EASY_AND_HARD, TASKS, MeasurementScale.NOMINAL)

    # Observed: 4 of 8 runs differ, 0.5. Expected overall: 2 * 8 * 8 / (16 * 15); in each task 2 * 6 * 2 / (8 * 7).
    assert found.overall.point == pytest.approx(1 - 0.5 / (128 / 240))
    assert found.within.point == pytest.approx(1 - 0.5 / (24 / 56))
    # Both judges pass .75 of the one task and .25 of the other.
    assert found.between.point == 1
    assert found.by_task == {"easy": pytest.approx(-1 / 6), "hard": pytest.approx(-1 / 6)}
    assert (found.runs, found.overall.n, found.overall.unit) == (8, 2, Unit.TASK)


def test_tasks_count_within_by_the_disagreement_that_chance_gives_in_them() -> None:
    # Full agreement on four runs, and on one of two runs none: chance gives 8 * 32 / 56 and 4 * 8 / 12.
    found = alphas([[1, 1, 0, 0, 1, 0], [1, 1, 0, 0, 0, 1]], ["a"] * 4 + ["b"] * 2, MeasurementScale.NOMINAL)

    expected = [8 * 32 / 56, 4 * 8 / 12]
    assert found.by_task == {"a": 1, "b": pytest.approx(-0.5)}
    assert found.within.point == pytest.approx((expected[0] * 1 + expected[1] * -0.5) / sum(expected))


@pytest.mark.parametrize("scale", list(MeasurementScale))
@pytest.mark.parametrize("seed", range(6))
def test_every_task_alone_agrees_with_an_independent_implementation(seed: int, scale: MeasurementScale) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 5, size=(3, 40)).astype(float)
    matrix[rng.uniform(size=matrix.shape) < 0.2] = np.nan
    tasks = [str(task) for task in rng.integers(0, 4, size=40)]

    found = alphas(matrix, tasks, scale)

    for task in set(tasks):
        its = matrix[:, [one == task for one in tasks]]
        assert found.by_task[task] == pytest.approx(
            krippendorff.alpha(reliability_data=its, level_of_measurement=scale.value), abs=1e-9
        )


@pytest.mark.parametrize("scale", list(MeasurementScale))
def test_with_a_single_task_the_alpha_within_is_the_overall_one(scale: MeasurementScale) -> None:
    matrix = np.random.default_rng(3).integers(0, 4, size=(3, 12)).astype(float)
    found = alphas(matrix, ["only"] * 12, scale)

    assert found.within.point == pytest.approx(found.overall.point)
    assert found.within.point == pytest.approx(
        krippendorff.alpha(reliability_data=matrix, level_of_measurement=scale.value)
    )


def test_the_alpha_between_tasks_is_that_of_their_means_by_an_independent_implementation() -> None:
    matrix, tasks = judged(np.random.default_rng(1), 8, 5, judges=2)
    means = matrix.reshape(2, 8, 5).mean(axis=2)

    expected = krippendorff.alpha(reliability_data=means, level_of_measurement="interval")

    assert alphas(matrix, tasks).between.point == pytest.approx(expected, abs=1e-9)


def test_interval_alpha_within_is_that_of_ratings_centred_by_task() -> None:
    rng = np.random.default_rng(5)
    matrix, tasks = judged(rng, 6, 8, judges=2, within=0.5)
    by_task = matrix.reshape(2, 6, 8)
    centred = by_task - by_task.mean(axis=(0, 2), keepdims=True)

    # Pooled and centred, 6 tasks lose 6 degrees of freedom where the definition counts one.
    pooled = 1 - (1 - krippendorff.alpha(reliability_data=centred.reshape(2, -1), level_of_measurement="interval")) * (
        (96 - 6) / (96 - 1)
    )

    assert alphas(matrix, tasks, MeasurementScale.INTERVAL).within.point == pytest.approx(pooled, abs=1e-9)


def test_shifting_a_whole_task_changes_nothing_within_tasks() -> None:
    matrix, tasks = judged(np.random.default_rng(2), 7, 4, within=0.4)
    shifted = matrix + 3.0 * (np.array(tasks) == "2")

    for scale in (MeasurementScale.ORDINAL, MeasurementScale.INTERVAL):
        moved, still = alphas(shifted, tasks, scale), alphas(matrix, tasks, scale)
        assert moved.within.point == pytest.approx(still.within.point)
        assert moved.overall.point != pytest.approx(still.overall.point)


def test_the_order_of_runs_and_the_names_of_tasks_do_not_matter() -> None:
    matrix, tasks = judged(np.random.default_rng(4), 6, 5, within=0.3)
    order = np.random.default_rng(0).permutation(len(tasks))
    renamed = [f"task-{9 - int(tasks[place])}" for place in order]

    one, other = alphas(matrix, tasks), alphas(matrix[:, order], renamed)

    for before, after in ((one.overall, other.overall), (one.within, other.within), (one.between, other.between)):
        assert _figures(after) == pytest.approx(_figures(before))


def _figures(estimate: Estimate) -> list[float]:
    assert estimate.point is not None
    assert estimate.interval is not None
    return [estimate.point, estimate.interval.low, estimate.interval.high]


def three_tasks() -> tuple[Matrix, list[str]]:
    """1,080 runs of three tasks that judges can tell apart, and whose runs they cannot."""
    noise = np.random.default_rng(0).normal(0, 0.5, (3, 3, 360))
    return (np.array([-0.58, 0.0, 0.58])[:, None] + noise).reshape(3, -1), [*"a" * 360, *"b" * 360, *"c" * 360]


def test_many_runs_of_three_tasks_give_no_interval_and_say_why() -> None:
    """The shape of a public data set: alpha .470 over 1,079 runs of three tasks, and .04, -.18 and .05 inside them."""
    found = alphas(*three_tasks())

    assert found.overall.point == pytest.approx(0.47, abs=0.03)
    assert [*found.by_task.values()] == pytest.approx([0, 0, 0], abs=0.06)
    assert found.within.point == pytest.approx(0, abs=0.03)
    assert found.overall.interval is None
    assert found.overall.warnings == (
        "no interval, because all runs are of 3 tasks; an interval needs 5 tasks or more",
    )


def test_three_tasks_drawn_anew_spread_ten_times_as_far_as_their_runs_do() -> None:
    matrix, tasks = three_tasks()
    by_task = matrix.reshape(3, 3, 360)
    each_run = [str(place) for place in range(len(tasks))]

    over_runs = krippendorff_alpha(matrix, each_run, scale=MeasurementScale.INTERVAL, level=0.95).standard_error
    drawn = [
        krippendorff_alpha(by_task[:, list(draw)].reshape(3, -1), tasks, scale=MeasurementScale.INTERVAL, level=0.95)
        for draw in product(range(3), repeat=3)
    ]

    assert over_runs == pytest.approx(0.0165, abs=0.004)
    assert np.std([estimate.point or 0.0 for estimate in drawn]) > 0.15


def test_copies_of_every_run_do_not_make_the_interval_narrower() -> None:
    matrix, tasks = judged(np.random.default_rng(6), 12, 4, within=0.5)
    one, tenfold = alphas(matrix, tasks), alphas(np.tile(matrix, 10), tasks * 10)

    for few, many in ((one.overall, tenfold.overall), (one.within, tenfold.within)):
        assert few.interval is not None
        assert many.interval is not None
        assert many.interval.high - many.interval.low > 0.9 * (few.interval.high - few.interval.low)


def test_four_times_the_tasks_about_halve_the_interval() -> None:
    few, many = (alphas(*judged(np.random.default_rng(7), tasks, 4, within=0.5)).within for tasks in (40, 160))

    assert few.interval is not None
    assert many.interval is not None
    assert (few.interval.high - few.interval.low) / (many.interval.high - many.interval.low) == pytest.approx(
        2, rel=0.3
    )


def test_five_to_nine_tasks_have_an_interval_that_says_how_few_they_are() -> None:
    for tasks, words in ((5, ("the interval rests on only 5 tasks",)), (10, ())):
        found = alphas(*judged(np.random.default_rng(8), tasks, 4, within=0.5))
        assert found.within.interval is not None
        assert found.within.warnings == words


def test_more_than_two_hundred_tasks_are_left_out_in_groups_with_the_same_error() -> None:
    matrix, tasks = judged(np.random.default_rng(9), 400, 2, within=0.5)
    grouped = krippendorff_alpha(matrix, tasks, scale=MeasurementScale.INTERVAL, level=0.95)
    half = krippendorff_alpha(matrix[:, :400], tasks[:400], scale=MeasurementScale.INTERVAL, level=0.95)

    assert grouped.n == 400
    assert grouped.standard_error is not None
    assert half.standard_error is not None
    assert half.standard_error / grouped.standard_error == pytest.approx(np.sqrt(2), rel=0.15)


def test_a_task_with_one_run_or_one_value_says_nothing_within_tasks() -> None:
    found = alphas([[1, 2, 1, 1, 3], [1, 2, 1, 1, 2]], ["two", "two", "same", "same", "one"])

    assert found.by_task == {"two": 1, "same": None, "one": None}
    assert (found.within.point, found.within.n) == (1, 1)


def test_without_two_runs_of_a_task_the_alpha_within_is_unknown() -> None:
    found = alphas([[1, 2, 3], [1, 2, 3]], ["a", "b", "c"])

    assert found.within.point is None
    assert "no task has two runs that were rated differently" in found.within.warnings[0]


@pytest.mark.parametrize("tasks", [5, 10, 20])
@pytest.mark.parametrize(("between", "within"), [(1.0, 0.1), (0.5, 0.5)])
def test_intervals_over_tasks_hold_the_truth_as_often_as_they_say(tasks: int, between: float, within: float) -> None:
    """150 simulated studies each; taking runs to be independent holds the overall alpha in 58 to 88 of 100."""
    rng = np.random.default_rng(tasks)
    truth = _truth(between, within)
    held = {"overall": 0, "within": 0}
    for _ in range(150):
        found = alphas(*judged(rng, tasks, 6, between=between, within=within), scale=MeasurementScale.INTERVAL)
        for name, value in truth.items():
            interval = getattr(found, name).interval
            held[name] += interval.low <= value <= interval.high

    # 95 % less what 150 draws leave to chance, and less 2 points for the few tasks.
    assert min(held.values()) / 150 >= 0.88


def _truth(between: float, within: float) -> dict[str, float]:
    """The interval alphas of infinitely many tasks with 6 runs and 3 judges each."""
    runs, judges, noise = 6, 3, 0.25
    # Of the pairs of ratings in a task, this share are of one run, and differ by the noise alone.
    same = (judges - 1) / (runs * judges - 1)
    return {
        "overall": 1 - noise / (between**2 + within**2 + noise),
        "within": 1 - noise / ((1 - same) * within**2 + noise),
    }
