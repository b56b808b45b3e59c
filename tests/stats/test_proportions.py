import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import binomtest, brunnermunzel
from scipy.stats import norm as stats_norm
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from outweigh.stats.estimate import Estimate, Unit
from outweigh.stats.proportions import (
    cliff_delta,
    clustered_rate_interval,
    dominance,
    paired_difference_interval,
    proportion_difference_interval,
    wilson_interval,
)


def success_rate(successes: int, n: int, level: float = 0.95) -> Estimate:
    return wilson_interval(successes, n, level=level, unit=Unit.TASK)


def ends(estimate: Estimate) -> tuple[float, float]:
    assert estimate.interval is not None
    return estimate.interval.low, estimate.interval.high


@pytest.mark.parametrize(
    ("successes", "n", "wilson"),
    [
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0.0, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
    ],
)
def test_newcombes_four_cases_are_reproduced(successes: int, n: int, wilson: tuple[float, float]) -> None:
    assert ends(success_rate(successes, n)) == pytest.approx(wilson, abs=5e-5)


def test_no_success_in_ten_never_gives_walds_empty_interval() -> None:
    estimate = success_rate(0, 10)

    assert ends(estimate)[1] > 0.25
    assert estimate.standard_error != 0


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (3, 7), (50, 100), (99_990, 100_000)])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_intervals_agree_with_scipy_and_statsmodels(successes: int, n: int, level: float) -> None:
    score = binomtest(successes, n).proportion_ci(level, "wilson")

    assert ends(success_rate(successes, n, level)) == pytest.approx((score.low, score.high), rel=1e-9, abs=1e-15)
    assert ends(success_rate(successes, n, level)) == pytest.approx(
        proportion_confint(successes, n, 1 - level, "wilson"), rel=1e-9, abs=1e-15
    )


@given(n=st.integers(1, 400), share=st.floats(0, 1))
def test_counting_failures_instead_mirrors_the_interval(n: int, share: float) -> None:
    successes = round(share * n)
    low, high = ends(success_rate(successes, n))

    assert ends(success_rate(n - successes, n)) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@given(n=st.integers(1, 400), share=st.floats(0, 1))
def test_the_point_lies_in_an_interval_that_has_width(n: int, share: float) -> None:
    estimate = success_rate(round(share * n), n)
    low, high = ends(estimate)

    assert estimate.point is not None
    assert 0 <= low <= estimate.point <= high <= 1
    assert low < high


def test_no_trials_are_unknown_and_not_zero() -> None:
    estimate = success_rate(0, 0)

    assert (estimate.point, estimate.interval, estimate.warnings) == (None, None, ("no trials",))


def test_more_successes_than_trials_are_refused() -> None:
    with pytest.raises(ValueError, match="impossible"):
        success_rate(11, 10)


@pytest.mark.parametrize(("won", "n", "won_before", "n_before"), [(4, 5, 1, 5), (0, 5, 5, 5), (56, 70, 48, 80)])
def test_the_difference_of_two_rates_agrees_with_statsmodels(won: int, n: int, won_before: int, n_before: int) -> None:
    ours = proportion_difference_interval(won, n, won_before, n_before, level=0.95, unit=Unit.RUN).interval

    low, high = confint_proportions_2indep(won, n, won_before, n_before, method="newcomb", compare="diff")
    assert ours is not None
    assert (ours.low, ours.high) == pytest.approx((low, high))


def test_newcombes_own_example() -> None:
    found = proportion_difference_interval(56, 70, 48, 80, level=0.95, unit=Unit.RUN).interval

    assert found is not None
    assert (round(found.low, 4), round(found.high, 4)) == (0.0524, 0.3339)


def test_without_a_trial_on_one_side_nothing_is_known() -> None:
    found = proportion_difference_interval(1, 2, 0, 0, level=0.95, unit=Unit.RUN)

    assert (found.point, found.interval) == (None, None)
    assert found.warnings


@given(st.integers(0, 9), st.integers(0, 9))
def test_the_difference_lies_within_its_interval_and_that_within_one(won: int, won_before: int) -> None:
    found = proportion_difference_interval(won, 9, won_before, 9, level=0.9, unit=Unit.RUN)

    assert found.interval is not None
    assert found.point is not None
    assert -1 <= found.interval.low <= found.point <= found.interval.high <= 1


Z = 1.959963984540054


def difference(wins: int, losses: int, n: int) -> Estimate:
    return paired_difference_interval(wins, losses, n, level=0.95, unit=Unit.TASK)


def numeric_score(wins: int, losses: int, n: int, delta: float) -> float:
    def loss(rate: float) -> float:
        cells = ((wins, rate + delta), (losses, rate), (n - wins - losses, 1 - 2 * rate - delta))
        return -sum(count * math.log(max(chance, 1e-300)) for count, chance in cells if count)

    bounds = (max(0.0, -delta), (1 - delta) / 2)
    rate = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
    return float((wins - losses - n * delta) / math.sqrt(n * (2 * rate + delta * (1 - delta))))


@pytest.mark.parametrize(("wins", "losses", "n"), [(9, 1, 100), (15, 19, 88), (3, 2, 12), (40, 5, 60)])
def test_the_ends_are_where_a_numerically_maximised_score_is_just_significant(wins: int, losses: int, n: int) -> None:
    point = (wins - losses) / n
    high = brentq(lambda delta: numeric_score(wins, losses, n, delta) + Z, point, 0.999)
    low = brentq(lambda delta: numeric_score(wins, losses, n, delta) - Z, -0.999, point)

    assert ends(difference(wins, losses, n)) == pytest.approx((low, high), abs=1e-6)


def test_pairs_without_a_winner_leave_a_symmetric_interval_with_width() -> None:
    estimate = difference(0, 0, 20)

    assert ends(estimate) == pytest.approx((-(Z**2) / (20 + Z**2), Z**2 / (20 + Z**2)))
    assert estimate.standard_error is None


def test_winning_every_pair_leaves_room_below() -> None:
    low, high = ends(difference(10, 0, 10))

    assert 0 < low < 0.9
    assert high == 1


def test_the_standard_error_is_that_of_a_mean_of_signs() -> None:
    signs = [1] * 9 + [-1] + [0] * 90
    mean = sum(signs) / 100
    variance = sum((sign - mean) ** 2 for sign in signs) / 100

    assert difference(9, 1, 100).standard_error == pytest.approx(math.sqrt(variance / 100))


@given(wins=st.integers(0, 60), losses=st.integers(0, 60), ties=st.integers(0, 60))
def test_swapping_the_arms_mirrors_the_interval_and_it_always_holds_the_point(
    wins: int, losses: int, ties: int
) -> None:
    n = max(1, wins + losses + ties)
    estimate = difference(wins, losses, n)
    low, high = ends(estimate)
    mirrored_low, mirrored_high = ends(difference(losses, wins, n))

    assert (low, high) == pytest.approx((-mirrored_high, -mirrored_low), abs=1e-12)
    assert estimate.point is not None
    assert -1 <= low <= estimate.point <= high <= 1
    assert low < high


def test_four_times_the_pairs_about_halve_the_interval() -> None:
    low, high = ends(difference(30, 10, 100))
    lower, higher = ends(difference(120, 40, 400))

    assert (high - low) / (higher - lower) == pytest.approx(2, rel=0.05)


def test_no_pairs_are_unknown() -> None:
    estimate = difference(0, 0, 0)

    assert (estimate.point, estimate.interval, estimate.warnings) == (None, None, ("no pairs",))


def test_more_winners_than_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="impossible"):
        difference(8, 3, 10)


scores = st.lists(st.integers(-5, 5), min_size=2, max_size=25)


def task_dominance(deltas: object) -> Estimate:
    return dominance(np.array(deltas, dtype=float), level=0.95, unit=Unit.TASK)


def cliff(a: object, b: object, level: float = 0.95) -> Estimate:
    return cliff_delta(np.array(a, dtype=float), np.array(b, dtype=float), level=level, unit=Unit.RUN)


def test_dominance_is_the_share_of_gains_less_the_share_of_losses() -> None:
    estimate = task_dominance([3, 1, 0, -2, 5, 0, 2, 1, 4, -9])

    assert estimate.point == pytest.approx(0.6 - 0.2)
    assert estimate.unit is Unit.TASK


def test_gains_on_every_task_still_leave_doubt() -> None:
    low, high = ends(task_dominance([0.1] * 8))

    assert low < 0.5 < high == 1


def test_rounding_dust_is_neither_gain_nor_loss() -> None:
    assert task_dominance([1, -1, 0.3 - 0.2 - 0.1, 1]).point == pytest.approx(0.25)


@given(deltas=st.lists(st.integers(-5, 5), min_size=1, max_size=40))
def test_swapping_the_arms_flips_dominance_and_units_do_not_matter(deltas: list[int]) -> None:
    low, high = ends(task_dominance(deltas))

    assert ends(task_dominance(np.array(deltas) * -1e3)) == pytest.approx((-high, -low), abs=1e-12)


def test_cliffs_delta_of_a_small_example_is_counted_by_hand() -> None:
    # Of the six pairs A is above in four, below in one, and one is tied.
    assert cliff([1, 3, 4], [1, 2]).point == pytest.approx((4 - 1) / 6)


@given(a=scores, b=scores)
def test_ranks_count_the_pairs_that_a_double_loop_counts(a: list[int], b: list[int]) -> None:
    pairs = [(x > y) - (x < y) for x in a for y in b]

    assert cliff(a, b).point == sum(pairs) / len(pairs)


@given(a=scores, b=scores)
def test_samples_that_win_equally_often_have_a_delta_of_exactly_zero(a: list[int], b: list[int]) -> None:
    mirrored = [-value for value in a]

    assert cliff(a, a).point == 0
    assert cliff([*a, *mirrored], [*b, *(-value for value in b)]).point == 0


@pytest.mark.parametrize("seed", range(4))
def test_the_placement_error_and_degrees_of_freedom_agree_with_brunner_and_munzel(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 9, size=12).astype(float), rng.integers(0, 12, size=19).astype(float)
    p_value = brunnermunzel(a, b).pvalue
    low, high = ends(cliff(a, b, 1 - p_value))

    # At the level of the test's own p-value, zero is just an end of the interval.
    assert min(abs(low), abs(high)) == pytest.approx(0, abs=1e-9)


def test_swapping_the_samples_flips_cliffs_delta() -> None:
    low, high = ends(cliff([1, 3, 4, 9], [1, 2, 5]))

    assert ends(cliff([1, 2, 5], [1, 3, 4, 9])) == pytest.approx((-high, -low))


def test_samples_that_do_not_overlap_have_a_delta_of_one_without_an_interval() -> None:
    estimate = cliff([5, 6, 7], [1, 2, 3])

    assert (estimate.point, estimate.interval, estimate.standard_error) == (1, None, None)
    assert "do not overlap" in estimate.warnings[0]


def test_a_single_value_has_a_delta_without_an_interval() -> None:
    assert cliff([5], [1, 9]).point == 0
    assert "need >= 2 values" in cliff([5], [1, 9]).warnings[0]
    assert cliff([5, 0], [1, 9]).interval is not None


def test_no_interval_reaches_beyond_one() -> None:
    assert ends(cliff([4, 6, 7], [1, 2, 5]))[1] == 1


@pytest.mark.parametrize("spoiled", [[], [1.0, math.nan], [1.0, math.inf]])
def test_missing_values_have_no_effect_size(spoiled: list[float]) -> None:
    estimates = [task_dominance(spoiled), cliff(spoiled, [1, 2]), cliff([1, 2], spoiled)]

    assert [(estimate.point, estimate.interval) for estimate in estimates] == [(None, None)] * 3
    assert all(estimate.warnings for estimate in estimates)


def test_two_hundred_thousand_values_are_not_too_many() -> None:
    """All their pairs would not fit into memory."""
    a, b = np.random.default_rng(2).normal(size=(2, 100_000))

    low, high = ends(cliff(a, b))

    assert -0.02 < low < high < 0.02


def clustered(by_task: list[list[bool]]) -> Estimate:
    tasks = [str(place) for place, items in enumerate(by_task) for _ in items]
    return clustered_rate_interval([one for items in by_task for one in items], tasks, level=0.95)


def test_a_rate_over_tasks_has_wilsons_interval_for_the_items_its_spread_is_worth() -> None:
    # Tasks with 4, 4, 4, 4, 4 and 0 of 4 right: rate 20/24. Residuals 4 - 10/3 five times and -10/3, so the variance
    # is 6/5 * (5 * 4/9 + 100/9) / 24**2 = 1/36, and 5/36 over that makes 5 items. The t of 5 degrees is 2.5706.
    found = clustered([[True] * 4] * 5 + [[False] * 4])

    low, high = proportion_confint(5 * 20 / 24, 5, alpha=2 * stats_norm.sf(2.570582), method="wilson")
    assert found.point == pytest.approx(20 / 24)
    assert found.standard_error == pytest.approx(1 / 6)
    assert ends(found) == pytest.approx((low, high), abs=1e-5)
    assert found.warnings == ("the interval rests on only 6 tasks",)


def test_items_that_all_agree_say_no_more_than_their_tasks() -> None:
    few, many = clustered([[True]] * 12), clustered([[True] * 50] * 12)

    assert ends(few) == ends(many)
    assert ends(many)[1] == 1
    assert ends(many)[0] < 0.8


def test_the_interval_of_a_rate_over_tasks_is_never_narrower_than_over_independent_items() -> None:
    # Every task has one of two: its tasks differ less than chance would make them.
    found = clustered([[True, False]] * 20)

    assert ends(found)[0] < ends(success_rate(20, 40))[0]


def test_fewer_than_five_tasks_give_a_rate_without_an_interval() -> None:
    found = clustered([[True, False]] * 4)

    assert (found.point, found.interval) == (0.5, None)
    assert "all runs are of 4 tasks" in found.warnings[0]
    assert clustered([]).point is None


def test_a_rate_over_tasks_holds_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(300):
        ease = rng.beta(3.2, 0.8, 8)
        low, high = ends(clustered([[*(rng.uniform(size=6) < chance)] for chance in ease]))
        held += low <= 0.8 <= high

    # 95 % less what 300 draws leave to chance; treated as independent, it would be about 80 %.
    assert held / 300 >= 0.92
