import statistics
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outweigh.stats.sample import describe, mean, median, pass_at_k, pass_hat_k, population_variance, reliability_curves

finite = st.floats(-1e6, 1e6, allow_nan=False)


def test_eight_passes_of_ten_are_described_as_the_source_describes_them() -> None:
    block = describe([1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0])

    assert (block.median, block.mean, block.mode, block.min, block.max) == (1.0, 0.8, 1.0, 0.0, 1.0)
    assert block.population_std == pytest.approx(0.4)
    assert block.sample_std == pytest.approx(0.421637, abs=1e-6)
    assert (block.count, block.unknown) == (10, 0)


def test_unknown_values_are_counted_and_left_out() -> None:
    block = describe([2.0, None, 4.0])

    assert block.mean == 3.0
    assert (block.count, block.unknown) == (2, 1)


def test_nothing_known_gives_nothing_rather_than_zero() -> None:
    block = describe([None, None])

    assert block.mean is block.median is block.mode is block.min is block.max is None
    assert block.population_std is block.sample_std is None
    assert (block.count, block.unknown) == (0, 2)


def test_one_value_has_no_sample_deviation() -> None:
    assert describe([3.0]).sample_std is None
    assert describe([3.0]).population_std == 0.0


def test_the_mode_is_the_smallest_of_ties_after_rounding_to_six_decimals() -> None:
    assert describe([3.0, 1.0, 3.0, 1.0, 2.0]).mode == 1.0
    assert describe([0.1234561, 0.1234559, 9.0]).mode == pytest.approx(0.123456)


def test_an_empty_sample_has_no_median_mean_or_variance() -> None:
    assert median([]).value is mean([]).value is population_variance([]).value is None
    assert median([]).reason == "no values"


@given(st.lists(finite, min_size=2, max_size=40))
def test_the_block_agrees_with_the_standard_library(values: list[float]) -> None:
    block = describe(values)

    assert block.median == pytest.approx(statistics.median(values), abs=1e-9)
    assert block.mean == pytest.approx(statistics.fmean(values), abs=1e-6)
    assert block.population_std == pytest.approx(statistics.pstdev(values), abs=1e-4)
    assert block.sample_std == pytest.approx(statistics.stdev(values), abs=1e-4)


@given(st.lists(finite, min_size=1, max_size=40), st.randoms())
def test_the_order_of_runs_does_not_matter(values: list[float], dice: object) -> None:
    shuffled = sorted(values)

    assert describe(shuffled).median == describe(values).median
    assert describe(shuffled).mode == describe(values).mode


@pytest.mark.parametrize(
    ("attempts", "passes", "k", "expected"),
    [(10, 3, 5, 0.9166667), (5, 2, 2, 0.7), (200, 13, 10, 0.4975511), (200, 13, 100, 0.9999195)],
)
def test_pass_at_k_gives_the_published_values(attempts: int, passes: int, k: int, expected: float) -> None:
    assert pass_at_k(attempts, passes, k).value == pytest.approx(expected, abs=5e-8)


@pytest.mark.parametrize(("attempts", "passes", "k", "expected"), [(5, 2, 2, 0.1), (5, 4, 3, 0.4)])
def test_pass_hat_k_gives_the_published_values(attempts: int, passes: int, k: int, expected: float) -> None:
    assert pass_hat_k(attempts, passes, k).value == pytest.approx(expected)


@pytest.mark.parametrize("passes", range(7))
@pytest.mark.parametrize("k", range(1, 7))
def test_both_equal_the_share_of_all_draws(passes: int, k: int) -> None:
    outcomes = [True] * passes + [False] * (6 - passes)
    draws = list(combinations(outcomes, k))

    assert pass_at_k(6, passes, k).value == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_hat_k(6, passes, k).value == pytest.approx(sum(map(all, draws)) / len(draws))


@pytest.mark.parametrize(("attempts", "passes", "k"), [(3, 1, 4), (3, 4, 1), (3, 1, 0)])
def test_an_impossible_question_has_no_answer_but_a_reason(attempts: int, passes: int, k: int) -> None:
    assert pass_at_k(attempts, passes, k).value is None
    assert pass_hat_k(attempts, passes, k).reason


@pytest.mark.parametrize(("attempts", "passes"), [(10, 3), (7, 0), (7, 7), (200, 13)])
def test_the_curves_agree_with_the_single_estimators(attempts: int, passes: int) -> None:
    at_k, hat_k = reliability_curves(attempts, passes, attempts)

    for k in range(1, attempts + 1):
        assert at_k[k - 1] == pytest.approx(pass_at_k(attempts, passes, k).value, abs=1e-12)
        assert hat_k[k - 1] == pytest.approx(pass_hat_k(attempts, passes, k).value, abs=1e-12)
