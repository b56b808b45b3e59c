from itertools import combinations

import pytest

from outweigh.stats.sample import pass_at_k, pass_hat_k, reliability_curves


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
