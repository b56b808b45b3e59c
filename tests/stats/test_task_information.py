"""What tasks tell, by hand, by properties, and against implementations of others."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from outweigh.stats.task_information import (
    TaskInformation,
    estimate_information,
    expected_variance,
    kept_share,
    level_reliability,
    usual_rates,
)
from outweigh.stats.task_selection import Fold, HeldOutRuns, folds_of_arms, order_tasks, task_t

Counts = NDArray[np.intp]


def counts(*rows: list[int]) -> Counts:
    return np.array(rows, dtype=np.intp)


def information(gain: list[float], variance: list[float]) -> TaskInformation:
    unknown = np.full(len(gain), np.nan)
    return TaskInformation(variance=np.array(variance), gain=np.array(gain), slope=unknown, slope_error=unknown.copy())


def simulate(tasks: int, arms: int, repeats: int, seed: int) -> tuple[Counts, Counts]:
    """Agents of different strength on tasks of different difficulty."""
    draw = np.random.default_rng(seed)
    logits = draw.normal(0.4, 2.0, (tasks, 1)) + draw.normal(0, 0.8, (1, arms)) + draw.normal(0, 0.5, (tasks, arms))
    runs = np.full((tasks, arms), repeats, dtype=np.intp)
    return draw.binomial(repeats, 1 / (1 + np.exp(-logits))).astype(np.intp), runs


class TestByHand:
    def test_the_variance_of_two_tasks(self) -> None:
        """Rates 0 and 1: all scatter is between tasks, so the prior has the strength 1 / 0.95 - 1 and the mean 1/2."""
        found = expected_variance(counts([0, 2])[0], counts([2, 2])[0])

        assert found == pytest.approx([0.0085102, 0.0085102], rel=1e-4)

    def test_the_usual_rate_of_a_family_is_drawn_to_that_of_all_tasks(self) -> None:
        """Means 0.9 and 0.1 of two tasks each, which differ by 0.2 within: 0.02 within, 0.31 between families."""
        found = usual_rates(np.array([1.0, 0.8, 0.2, 0.0]), ["a", "a", "b", "b"])

        assert found == pytest.approx([0.5 + 0.4 * 0.31 / 0.32] * 2 + [0.5 - 0.4 * 0.31 / 0.32] * 2)

    @pytest.mark.parametrize("strata", [(), (None, None, None, None), ("a", "a", "a", "a"), ("a", "b", "c", "d")])
    def test_without_families_that_group_tasks_all_have_one_usual_rate(self, strata: tuple[str | None, ...]) -> None:
        assert usual_rates(np.array([1.0, 0.8, 0.2, 0.0]), strata) == pytest.approx([0.5] * 4)

    def test_the_slope_between_two_arms(self) -> None:
        """On the third task the better arm loses 0.2, where it gains 0.3 on the others; on the first it gains 0."""
        found = estimate_information(counts([200, 600], [400, 600], [700, 500]), np.full((3, 2), 1000, dtype=np.intp))

        assert found.slope[2] == pytest.approx(-0.2 / 0.3)
        assert np.isnan(found.slope[0])

    def test_what_a_subset_keeps(self) -> None:
        """Of gains 3 and 1 with the variance 1 each, the first keeps 3 / (4 / √2)."""
        assert kept_share(information([3, 1], [1, 1]), np.array([0])) == pytest.approx(3 / (4 / np.sqrt(2)))

    def test_the_shares_of_information(self) -> None:
        assert information([2, 1, -1], [1, 0.5, 1]).shares == pytest.approx([4 / 6, 2 / 6, 0])

    def test_the_order_of_three_tasks(self) -> None:
        """Without the contrary one the t statistic rises, so it goes first; of the others the one that gains less."""
        order = order_tasks(information([1, -1, 2], [1, 1, 1]), np.ones(3), [None] * 3)

        assert order.places == (2, 0, 1)

    def test_an_expensive_task_goes_before_a_cheap_one_that_tells_as_much(self) -> None:
        order = order_tasks(information([1, 1, 1], [1, 1, 1]), np.array([1.0, 9.0, 1.0]), [None] * 3)

        assert order.places[-1] == 1

    def test_a_family_keeps_a_task_that_tells_little(self) -> None:
        families = ["a", "a", "a", "b"]
        order = order_tasks(information([3, 2, 1, 0.1], [1, 1, 1, 1]), np.ones(4), families)

        assert order.fewest == 2
        assert {families[place] for place in order.places[:2]} == {"a", "b"}

    def test_where_all_runs_pass_there_is_nothing_to_learn(self) -> None:
        found = estimate_information(counts([2, 2], [2, 2]), counts([2, 2], [2, 2]))

        assert found.variance.tolist() == [0, 0]
        assert found.shares.tolist() == [0, 0]


class TestAgainstOthers:
    def test_the_posterior_variance_is_that_of_scipy(self) -> None:
        passes, runs = (each.sum(axis=1) for each in simulate(30, 4, 5, seed=1))
        rates = passes / runs
        mean = rates.mean()
        alike = (rates.var(ddof=1) / (mean * (1 - mean)) - 1 / 20) / (1 - 1 / 20)
        strength = 1 / alike - 1
        posterior = stats.beta(mean * strength + passes, (1 - mean) * strength + runs - passes)

        assert expected_variance(passes, runs) == pytest.approx(posterior.mean() - posterior.moment(2))

    def test_slopes_are_those_of_a_regression(self) -> None:
        passes, runs = simulate(12, 5, 4, seed=2)
        rates = passes / runs
        expected = [
            stats.linregress(np.delete(rates, row, axis=0).mean(axis=0), rates[row]).slope for row in range(len(rates))
        ]

        assert estimate_information(passes, runs).slope == pytest.approx(expected)

    def test_arms_that_did_not_run_a_task_do_not_count_for_it(self) -> None:
        passes, runs = simulate(12, 5, 4, seed=2)
        passes[3, 1] = runs[3, 1] = 0
        rates = np.where(runs > 0, passes / np.maximum(runs, 1), np.nan)
        levels = np.nanmean(np.delete(rates, 3, axis=0), axis=0)
        ran = runs[3] > 0

        assert estimate_information(passes, runs).slope[3] == pytest.approx(
            stats.linregress(levels[ran], rates[3][ran]).slope
        )

    def test_the_t_statistic_is_that_of_scipy(self) -> None:
        deltas = np.random.default_rng(3).normal(0.2, 1, 20)

        assert task_t(deltas) == pytest.approx(stats.ttest_1samp(deltas, 0).statistic)

    def test_the_components_of_variance_are_those_of_a_one_way_analysis(self) -> None:
        draw = np.random.default_rng(2)
        groups = [draw.normal(0.5 + 0.1 * place, 0.1, 6 + 3 * place) for place in range(3)]
        strata = [name for name, group in zip("abc", groups, strict=True) for _ in group]
        rates, sizes = np.concatenate(groups), np.array([len(group) for group in groups])

        found = usual_rates(rates, strata)

        ratio = stats.f_oneway(*groups).statistic
        effective = (sizes.sum() - (sizes**2).sum() / sizes.sum()) / 2
        between_to_within = (ratio - 1) / effective
        weights = between_to_within / (between_to_within + 1 / sizes)
        expected = [
            rates.mean() + weight * (group.mean() - rates.mean()) for weight, group in zip(weights, groups, strict=True)
        ]
        assert found == pytest.approx(np.repeat(expected, sizes))

    def test_the_choice_is_close_to_the_best_of_all_subsets(self) -> None:
        for seed in range(5):
            found = estimate_information(*simulate(12, 6, 3, seed))
            best = max(kept_share(found, np.array(subset)) for subset in combinations(range(12), 6))

            chosen = order_tasks(found, np.ones(12), [None] * 12).keep(6)

            assert kept_share(found, chosen) > 0.98 * best


class TestProperties:
    @settings(max_examples=25, deadline=None)
    @given(seed=st.integers(0, 10_000))
    def test_the_order_of_tasks_and_arms_does_not_matter(self, seed: int) -> None:
        passes, runs = simulate(10, 4, 3, seed)
        draw = np.random.default_rng(seed)
        rows, columns = draw.permutation(10), draw.permutation(4)

        whole, shuffled = (
            estimate_information(passes, runs),
            estimate_information(passes[rows][:, columns], runs[rows][:, columns]),
        )

        assert shuffled.gain == pytest.approx(whole.gain[rows])
        assert shuffled.variance == pytest.approx(whole.variance[rows])

    @settings(max_examples=25, deadline=None)
    @given(seed=st.integers(0, 10_000), factor=st.floats(0.01, 100))
    def test_the_currency_does_not_matter(self, seed: int, factor: float) -> None:
        found = estimate_information(*simulate(10, 4, 3, seed))
        prices = np.random.default_rng(seed).lognormal(size=10)

        assert order_tasks(found, prices, [None] * 10).places == order_tasks(found, prices * factor, [None] * 10).places

    @settings(max_examples=25, deadline=None)
    @given(seed=st.integers(0, 10_000), size=st.integers(1, 24))
    def test_families_stay_and_keep_half_their_share(self, seed: int, size: int) -> None:
        families = ["a"] * 12 + ["b"] * 8 + ["c"] * 4
        order = order_tasks(estimate_information(*simulate(24, 4, 3, seed)), np.ones(24), families)

        kept = [families[place] for place in order.keep(max(size, order.fewest))]

        for name in "abc":
            assert kept.count(name) >= max(1, families.count(name) * len(kept) / 24 / 2 - 1e-9)

    @pytest.mark.parametrize("repeats", [1, 5])
    def test_equal_arms_are_not_called_better_and_worse(self, repeats: int) -> None:
        draw = np.random.default_rng(4)
        reliable = []
        for _ in range(100):
            rates = draw.beta(0.6, 0.6, (60, 1)).repeat(4, axis=1)
            runs = np.full((60, 4), repeats, dtype=np.intp)
            passes = draw.binomial(repeats, rates).astype(np.intp)
            reliable.append(level_reliability(passes, runs, expected_variance(passes.sum(1), runs.sum(1))) >= 0.5)

        assert np.mean(reliable) < 0.2

    def test_arms_that_differ_are(self) -> None:
        passes, runs = simulate(60, 4, 5, seed=6)

        assert level_reliability(passes, runs, expected_variance(passes.sum(1), runs.sum(1))) > 0.8


class TestHoldingOut:
    def test_every_pair_is_judged_by_a_choice_of_the_others(self) -> None:
        passes, runs = simulate(20, 5, 2, seed=7)

        folds = list(folds_of_arms(passes, runs))

        assert len(folds) == 10
        assert {fold.passes.shape[1] for fold in folds} == {3}

    def test_three_arms_leave_none_to_choose_by_and_to_judge(self) -> None:
        assert list(folds_of_arms(*simulate(20, 3, 2, seed=7))) == []

    def test_all_tasks_keep_everything(self) -> None:
        passes, runs = simulate(20, 5, 2, seed=8)

        held_out = HeldOutRuns(list(folds_of_arms(passes, runs)), np.ones(20), [None] * 20).measure(20)

        assert held_out is not None
        assert held_out.share == pytest.approx(1)
        assert held_out.pairs == 10

    def test_arms_without_any_difference_measure_nothing(self) -> None:
        passes, runs = simulate(20, 2, 2, seed=9)
        same = Fold(passes=passes, runs=runs, held_out_passes=passes[:, [0, 0]], held_out_runs=runs)

        assert HeldOutRuns([same], np.ones(20), [None] * 20).measure(10) is None


def test_half_the_tasks_keep_most_of_the_t_statistic_of_other_arms() -> None:
    """Agents on tasks as they are in public: most tasks are nearly always or nearly never solved. A random half keeps
    0.71. The larger simulation with more worlds is in `calibration`.
    """
    products, squares, at_random = 0.0, 0.0, 0.0
    draw = np.random.default_rng(10)
    for seed in range(60):
        passes, runs = simulate_public(80, 8, 3, seed)
        rates = passes[:, :2] / runs[:, :2]
        deltas = rates[:, 1] - rates[:, 0]
        order = order_tasks(estimate_information(passes[:, 2:], runs[:, 2:]), np.ones(80), [None] * 80)
        whole = task_t(deltas)
        products += whole * task_t(deltas[order.keep(40)])
        at_random += whole * task_t(deltas[draw.permutation(80)[:40]])
        squares += whole**2

    assert products / squares >= 0.85
    assert at_random / squares == pytest.approx(0.71, abs=0.06)


@pytest.mark.parametrize(("arms", "repeats"), [(4, 3), (8, 1)])
def test_tasks_that_follow_better_arms_stay_before_those_that_are_as_open_by_chance(arms: int, repeats: int) -> None:
    """Of 100 tasks 60 are decided, 20 pass more often by better arms, and 20 are coins that every arm throws. The few
    that follow must not be drawn to the coins because the many that are decided follow nothing.
    """
    follow = []
    for seed in range(40):
        draw = np.random.default_rng(2000 + seed)
        strength = draw.normal(0, 1, arms)
        decided = np.repeat(draw.choice([0.02, 0.98], (60, 1)), arms, axis=1)
        following = 1 / (1 + np.exp(-2.5 * np.repeat(strength[None], 20, axis=0)))
        chances = np.concatenate([decided, following, np.full((20, arms), 0.5)])
        passes = draw.binomial(repeats, chances).astype(np.intp)
        found = estimate_information(passes, np.full(chances.shape, repeats, dtype=np.intp))
        kept = order_tasks(found, np.ones(100), [None] * 100).keep(20)
        follow.append(np.mean((kept >= 60) & (kept < 80)))

    assert np.mean(follow) >= 0.8


def test_where_families_differ_few_runs_choose_better_by_them() -> None:
    """One arm that ran every task once says little about a task, and more about its family."""
    products, squares = {"tasks": 0.0, "families": 0.0}, 0.0
    for seed in range(60):
        draw = np.random.default_rng(500 + seed)
        families = [f"family-{number // 20}" for number in range(120)]
        logits = np.repeat(draw.normal(0.5, 2.5, 6), 20)[:, None] + draw.normal(0, 1.0, (120, 1))
        chances = 1 / (1 + np.exp(-logits - np.array([0.0, -0.4, 0.4])))
        passes = draw.binomial(1, chances).astype(np.intp)
        deltas = draw.binomial(3, chances[:, 2]) / 3 - draw.binomial(3, chances[:, 1]) / 3
        whole = task_t(deltas)
        squares += whole**2
        for name, strata in (("tasks", ()), ("families", families)):
            found = estimate_information(passes[:, :1], np.ones((120, 1), dtype=np.intp), strata)
            chosen = order_tasks(found, np.ones(120), [None] * 120).keep(60)
            products[name] += whole * task_t(deltas[chosen])

    assert products["families"] / squares > products["tasks"] / squares + 0.04


def simulate_public(tasks: int, arms: int, repeats: int, seed: int) -> tuple[Counts, Counts]:
    draw = np.random.default_rng(1000 + seed)
    logits = draw.normal(0.5, 3.0, (tasks, 1)) + draw.normal(0, 0.8, (1, arms)) + draw.normal(0, 0.8, (tasks, arms))
    runs = np.full((tasks, arms), repeats, dtype=np.intp)
    return draw.binomial(repeats, 1 / (1 + np.exp(-logits))).astype(np.intp), runs
