from typing import Any

import numpy as np
import pytest
from scipy import stats

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.compare.inference import Inference, IntervalMethod, Population, infer, reliability_intervals
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import UNKNOWN_COST, reported_cost
from outweigh.stats.sample import pass_at_k, pass_hat_k
from outweigh.testing.builders import a_run, evidence_of, runs_of_arm


def compared(before: list[RunRecord], after: list[RunRecord]) -> Comparison:
    return compare_arms(evidence_of(before, after), "old", "new")


def inferred(comparison: Comparison, **options: Any) -> Inference:
    usual: dict[str, Any] = {"population": Population.TASKS, "method": IntervalMethod.T, "seed": 0}
    return infer(comparison, **(usual | options))


@pytest.fixture
def noisy() -> Comparison:
    """Twelve tasks, four repeats, both arms scattered."""
    dice = np.random.default_rng(2)
    records = {
        arm: [
            a_run(
                f"task-{task}",
                arm,
                repeat,
                passed=bool(dice.random() < chance),
                duration_seconds=float(np.exp(dice.normal(4, 0.3))),
                cost=reported_cost(float(np.exp(dice.normal(-2, 0.3)))),
            )
            for task in range(12)
            for repeat in range(1, 5)
        ]
        for arm, chance in (("old", 0.5), ("new", 0.7))
    }
    return compared(records["old"], records["new"])


def test_a_deltas_interval_is_the_t_interval_of_the_task_deltas(noisy: Comparison) -> None:
    deltas = noisy.candidate_table.mean_per_task("passed") - noisy.baseline_table.mean_per_task("passed")
    low, high = stats.t.interval(0.95, 11, deltas.mean(), stats.sem(deltas))

    estimate = inferred(noisy).deltas["pass_delta"].over_tasks

    assert estimate.interval is not None
    assert (estimate.interval.low, estimate.interval.high) == pytest.approx((low, high))
    assert estimate.point == pytest.approx(noisy.deltas["pass_delta"].task_mean)


def test_both_estimands_have_the_same_point_and_their_own_error(noisy: Comparison) -> None:
    both = inferred(noisy).deltas["duration_delta_seconds"]

    assert both.over_tasks.point == pytest.approx(both.on_suite.point)
    assert both.over_tasks.standard_error != pytest.approx(both.on_suite.standard_error)


def test_repeats_do_not_count_as_tasks() -> None:
    once = compared(runs_of_arm("old", [[True], [False]] * 5), runs_of_arm("new", [[True], [True]] * 5))
    thrice = compared(
        runs_of_arm("old", [[True] * 3, [False] * 3] * 5), runs_of_arm("new", [[True] * 3, [True] * 3] * 5)
    )

    one, other = (inferred(each).deltas["pass_delta"].over_tasks for each in (once, thrice))

    assert one.standard_error == pytest.approx(other.standard_error)


def test_the_bootstrap_agrees_with_t_where_both_are_right(noisy: Comparison) -> None:
    by_t = inferred(noisy).deltas["pass_delta"].over_tasks.interval
    by_draws = inferred(noisy, method=IntervalMethod.BOOTSTRAP).deltas["pass_delta"].over_tasks.interval

    assert by_t is not None
    assert by_draws is not None
    assert by_draws.low == pytest.approx(by_t.low, abs=0.06)
    assert by_draws.high == pytest.approx(by_t.high, abs=0.06)


def test_the_same_seed_gives_the_same_draws(noisy: Comparison) -> None:
    one, other = (inferred(noisy, method=IntervalMethod.BOOTSTRAP, seed=7) for _ in range(2))

    assert one.deltas == other.deltas
    assert one.pass_at_k == other.pass_at_k


def test_ratios_are_geometric_over_tasks(noisy: Comparison) -> None:
    logs = []
    for arm in (noisy.baseline_table, noisy.candidate_table):
        by_task: dict[str, list[float]] = {}
        for run in arm.runs:
            by_task.setdefault(run.task_id, []).append(float(np.log(run.duration_seconds or 0)))
        logs.append(np.array([np.mean(values) for values in by_task.values()]))
    low, high = stats.t.interval(0.95, 11, (logs[1] - logs[0]).mean(), stats.sem(logs[1] - logs[0]))

    ratio = inferred(noisy).ratios["duration"]

    assert ratio.point == pytest.approx(np.exp((logs[1] - logs[0]).mean()))
    assert ratio.interval is not None
    assert (ratio.interval.low, ratio.interval.high) == pytest.approx((np.exp(low), np.exp(high)))


def test_the_cost_of_a_pass_is_a_ratio_of_pooled_ratios(noisy: Comparison) -> None:
    expected = (noisy.candidate.cost_of_pass_usd.value or 0) / (noisy.baseline.cost_of_pass_usd.value or 1)

    assert inferred(noisy).ratios["cost_of_pass"].point == pytest.approx(expected)


def test_an_unknown_cost_leaves_its_ratios_unknown() -> None:
    comparison = compared(runs_of_arm("old", [[True]] * 8), runs_of_arm("new", [[True]] * 8, cost=UNKNOWN_COST))

    ratios = inferred(comparison).ratios

    assert ratios["cost"].point is ratios["cost_of_pass"].point is None
    assert ratios["cost"].warnings


def test_one_run_per_task_gets_wilson_and_repeats_get_task_means(noisy: Comparison) -> None:
    single = compared(runs_of_arm("old", [[True]] * 8 + [[False]] * 2), runs_of_arm("new", [[True]] * 10))

    rate = inferred(single).pass_rates["old"]

    assert rate.interval is not None
    assert (rate.interval.low, rate.interval.high) == pytest.approx(
        tuple(stats.binomtest(8, 10).proportion_ci(0.95, "wilson")), abs=1e-9
    )
    assert "Student" in inferred(noisy).pass_rates["old"].method


def test_all_passing_has_no_zero_width_interval() -> None:
    rate = inferred(compared(runs_of_arm("old", [[True] * 3] * 8), runs_of_arm("new", [[True] * 3] * 8))).pass_rates[
        "new"
    ]

    assert (rate.point, rate.n) == (1.0, 8)
    assert rate.interval is not None
    assert rate.interval.low == pytest.approx(stats.binomtest(8, 8).proportion_ci(0.95, "wilson").low)


def test_mcnemar_needs_one_run_per_task_and_says_so_otherwise(noisy: Comparison) -> None:
    single = compared(
        runs_of_arm("old", [[True]] * 9 + [[False]] * 1), runs_of_arm("new", [[False]] * 9 + [[True]] * 1)
    )

    assert inferred(single).mcnemar.p_value == pytest.approx(stats.binomtest(1, 10).pvalue)
    assert inferred(noisy).mcnemar.p_value is None
    assert "not independent" in inferred(noisy).mcnemar.warnings[0]


def test_the_sign_flip_test_is_over_tasks(noisy: Comparison) -> None:
    deltas = noisy.candidate_table.mean_per_task("passed") - noisy.baseline_table.mean_per_task("passed")
    expected = stats.permutation_test(
        (deltas,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    ).pvalue

    assert inferred(noisy).sign_flip.p_value == pytest.approx(expected)


def test_families_widen_the_interval_when_their_tasks_move_together() -> None:
    outcomes = [[True]] * 10 + [[False]] * 10
    before = [a_run(f"task-{n}", "old", family=f"repo-{n // 5}", passed=False) for n in range(20)]
    after = [a_run(f"task-{n}", "new", family=f"repo-{n // 5}", passed=row[0]) for n, row in enumerate(outcomes)]
    plain = compared(
        [a_run(f"task-{n}", "old", passed=False) for n in range(20)],
        [a_run(f"task-{n}", "new", passed=row[0]) for n, row in enumerate(outcomes)],
    )

    clustered = inferred(compared(before, after)).deltas["pass_delta"].over_tasks
    alone = inferred(plain).deltas["pass_delta"].over_tasks

    assert (clustered.n, alone.n) == (4, 20)
    assert (clustered.standard_error or 0) > 2 * (alone.standard_error or 0)
    assert "cannot support a claim" in clustered.warnings[0]


def test_pass_at_k_and_pass_hat_k_have_intervals_around_their_definitions(noisy: Comparison) -> None:
    table = noisy.baseline_table
    passes = table.sum_per_task("passed").astype(int).tolist()
    for every, definition in ((False, pass_at_k), (True, pass_hat_k)):
        intervals = reliability_intervals(table, 0, every=every)
        assert list(intervals) == [1, 3]
        for k, interval in intervals.items():
            points = [value for count in passes if (value := definition(4, count, k).value) is not None]
            spread = stats.sem(points) * stats.t.ppf(0.975, 11)
            assert interval is not None
            assert interval.low == pytest.approx(max(0.0, np.mean(points) - spread), abs=0.06)
            assert interval.high == pytest.approx(min(1.0, np.mean(points) + spread), abs=0.06)


def test_two_tasks_are_enough_to_resample() -> None:
    before = runs_of_arm("old", [[True, False, True], [False, False, True]])
    after = runs_of_arm("new", [[True, True, True], [False, True, False]])

    by_bootstrap = inferred(compared(before, after), method=IntervalMethod.BOOTSTRAP).deltas["pass_delta"].over_tasks

    assert "bootstrap" in by_bootstrap.method


@pytest.mark.parametrize(("tasks", "answered"), [(1, []), (2, [1, 3])])
def test_pass_at_k_has_an_interval_from_two_tasks_on(tasks: int, answered: list[int]) -> None:
    before, after = (runs_of_arm(arm, [[True, False, True]] * tasks) for arm in ("old", "new"))

    assert list(reliability_intervals(compared(before, after).baseline_table, 0, every=False)) == answered


def test_measured_tasks_of_a_single_family_are_compared_as_if_they_had_none() -> None:
    seconds = {"old": (10.0, 30.0, 20.0), "new": (12.0, 28.0, 25.0)}
    plain, related = (
        compared(
            *(
                [
                    a_run("task-9", arm, duration_seconds=None, family=family and "another"),
                    *(
                        a_run(f"task-{task}", arm, duration_seconds=value, family=family)
                        for task, value in enumerate(seconds[arm])
                    ),
                ]
                for arm in ("old", "new")
            )
        )
        for family in (None, "repo")
    )

    assert inferred(related).ratios["duration"] == inferred(plain).ratios["duration"]
    assert inferred(related).ratios["duration"].interval is not None


def test_an_arm_without_counted_runs_has_no_pass_at_k() -> None:
    lost = [a_run(arm="new", status=Status.INFRA_ERROR)]

    summary = compared([a_run(arm="old")], lost).candidate

    assert (summary.pass_at_k, summary.pass_hat_k) == ({}, {})
