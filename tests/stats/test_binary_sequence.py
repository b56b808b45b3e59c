import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from outweigh.stats.binary_sequence import (
    KRICHEVSKY_TROFIMOV_PRIOR,
    log_beta_binomial_mixture,
    rate_confidence_sequence,
    weigh_discordant_pairs,
)
from outweigh.stats.confidence_sequence import tune_normal_mixture
from outweigh.stats.estimate import Interval


def rate_interval(successes: int, trials: int, planned: int) -> Interval:
    interval = rate_confidence_sequence(successes, trials, planned).interval
    assert interval is not None
    return interval


@pytest.mark.parametrize(
    ("wins", "losses", "e_value"), [(13, 2, 19.50476), (20, 10, 1.152831), (30, 30, 0.1598141), (0, 0, 1)]
)
def test_e_values_of_the_uniform_prior(wins: int, losses: int, e_value: float) -> None:
    significance = weigh_discordant_pairs(wins, losses)

    assert significance.statistic == pytest.approx(e_value, rel=5e-7)
    assert significance.p_value == pytest.approx(min(1, 1 / e_value), rel=5e-7)


def test_the_e_value_of_the_krichevsky_trofimov_prior() -> None:
    assert weigh_discordant_pairs(13, 2, KRICHEVSKY_TROFIMOV_PRIOR).statistic == pytest.approx(18.13721, abs=5e-6)


@pytest.mark.parametrize("prior", [1.0, 0.5])
def test_the_e_value_is_fair_on_average_over_every_outcome(prior: float) -> None:
    outcomes = [(wins, 12 - wins) for wins in range(13)]

    e_values = [weigh_discordant_pairs(wins, losses, prior).statistic or 0 for wins, losses in outcomes]

    assert np.dot(stats.binom.pmf(np.arange(13), 12, 0.5), e_values) == pytest.approx(1)


@given(st.integers(0, 10**7), st.integers(0, 10**7))
def test_the_e_value_does_not_care_who_wins_and_never_overflows(wins: int, losses: int) -> None:
    one, other = weigh_discordant_pairs(wins, losses), weigh_discordant_pairs(losses, wins)

    assert one.statistic == other.statistic
    assert one.p_value is not None
    assert 0 <= one.p_value <= 1


def test_stopping_at_twenty_is_wrong_less_than_one_time_in_twenty() -> None:
    coins = np.random.default_rng(1).random((500, 100)) < 0.5
    wins = np.cumsum(coins, axis=1)

    stopped = sum(
        any((weigh_discordant_pairs(int(w), n - int(w)).statistic or 0) >= 20 for n, w in enumerate(path, start=1))
        for path in wins
    )

    assert stopped / 500 <= 0.05


def test_no_discordant_pairs_say_nothing() -> None:
    significance = weigh_discordant_pairs(0, 0)

    assert significance.p_value == 1
    assert "nothing to weigh" in significance.warnings[0]


@pytest.mark.parametrize(
    ("successes", "trials", "planned", "low", "high"),
    [
        (700, 1000, 100, 0.651629, 0.745949),
        (15, 50, 50, 0.129556, 0.511896),
        (5, 50, 50, 0.013021, 0.269264),
        (1, 50, 50, 0, 0.13489),
        (1, 2, 50, 0, 1),
    ],
)
def test_rate_intervals_have_their_reference_values(
    successes: int, trials: int, planned: int, low: float, high: float
) -> None:
    interval = rate_interval(successes, trials, planned)

    assert (interval.low, interval.high) == pytest.approx((low, high), abs=2e-6)


def test_the_two_sided_beta_binomial_bound_has_its_reference_value() -> None:
    rate, variance_time = 0.2, 100.0
    trials, strength = variance_time / 0.16, (tune_normal_mixture(variance_time, 0.05) - 0.16) / 0.16

    successes = trials * rate + 31.4308
    log_e = log_beta_binomial_mixture(successes, trials - successes, rate, strength * rate, strength * (1 - rate))

    assert log_e == pytest.approx(math.log(20), abs=1e-5)


@given(st.integers(0, 300), st.integers(1, 300))
def test_the_interval_holds_the_observed_rate_and_mirrors_for_failures(successes: int, more: int) -> None:
    trials = successes + more
    interval, mirrored = rate_interval(successes, trials, 100), rate_interval(more, trials, 100)

    assert 0 <= interval.low <= successes / trials <= interval.high <= 1
    assert interval.high > interval.low
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((interval.low, interval.high), abs=1e-8)


def test_the_anytime_interval_contains_the_exact_one_of_a_single_look() -> None:
    exact = stats.binomtest(60, 100).proportion_ci()

    interval = rate_interval(60, 100, 100)

    assert interval.low < exact.low < exact.high < interval.high


def test_looking_after_every_trial_rarely_excludes_the_true_rate() -> None:
    coins = np.cumsum(np.random.default_rng(2).random((200, 150)) < 0.3, axis=1)
    looks = range(10, 151, 10)

    excluded = 0
    for path in coins:
        intervals = [rate_interval(int(path[n - 1]), n, 100) for n in looks]
        excluded += any(not interval.low <= 0.3 <= interval.high for interval in intervals)

    assert excluded / 200 <= 0.05


def test_a_rate_of_no_trials_is_unknown() -> None:
    estimate = rate_confidence_sequence(0, 0, 100)

    assert estimate.point is None
    assert estimate.interval is None
    assert "at least 1 trial" in estimate.warnings[0]


@pytest.mark.parametrize(("successes", "trials"), [(-1, 5), (6, 5)])
def test_impossible_counts_are_refused(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match="cannot be negative"):
        rate_confidence_sequence(successes, trials, 100)
