"""Evidence against exchangeability: exact scores, and a martingale that rarely grows by chance."""

from collections.abc import Sequence
from itertools import product
from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from outweigh.stats.exchangeability import SHIFTS, ScoredRow, log_evidence, score_row


def rows_of(scores: Sequence[float], tasks: Sequence[tuple[int, ...]]) -> list[ScoredRow]:
    return [ScoredRow(score=score, tasks=places) for score, places in zip(scores, tasks, strict=True)]


def test_the_score_is_the_rank_of_the_new_sum_among_all_sums_of_the_pools() -> None:
    new, earlier = [5.0, 2.5], [[1.0, 2.0, 8.0], [0.5, 3.0]]
    sums = [sum(draw) for draw in product(*([*pool, value] for pool, value in zip(earlier, new, strict=True)))]
    below, ties = sum(each < 7.5 for each in sums), sum(each == 7.5 for each in sums)

    scores = [score_row(new, earlier, np.random.default_rng(seed)) for seed in range(200)]

    low, high = stats.norm.ppf([below / len(sums), (below + ties) / len(sums)])
    assert low - 0.15 < min(scores) < low + 0.15
    assert high - 0.15 < max(scores) < high + 0.15


@pytest.mark.parametrize("repeats", [1, 5])
@pytest.mark.parametrize("law", ["passes", "dollars"])
def test_scores_of_exchangeable_rows_are_independent_and_standard_normal(repeats: int, law: str) -> None:
    random = np.random.default_rng(3)
    paths = []
    for _ in range(700):
        chances = random.random(4)
        draw = (
            (lambda: (random.random(4) < chances).astype(float)) if law == "passes" else (lambda: random.pareto(1.5, 4))  # noqa: B023
        )
        pools = np.array([draw() for _ in range(repeats)]).T.tolist()
        path = []
        for _ in range(3):
            new = draw().tolist()
            path.append(score_row(new, pools, random))
            pools = [[*pool, value] for pool, value in zip(pools, new, strict=True)]
        paths.append(path)
    scores = np.array(paths)

    assert stats.kstest(scores.ravel(), "norm").pvalue > 0.001
    # Independence, of the sizes too: a mean that all rows share would show in both.
    for values in (scores, scores**2):
        assert np.abs(np.corrcoef(values.T)[np.triu_indices(3, 1)]).max() < 3.5 / sqrt(len(scores))


def test_rows_against_a_fixed_reference_would_not_be_independent() -> None:
    """Why new values join the pool: against the reference alone, its own error is in every row."""
    random = np.random.default_rng(4)
    scores = []
    for _ in range(400):
        reference = random.normal(size=(4, 2)).tolist()
        scores.append([score_row(random.normal(size=4).tolist(), reference, random) for _ in range(2)])

    assert np.corrcoef(np.array(scores).T)[0, 1] > 0.15


def test_one_row_by_hand() -> None:
    """One task with 4 reference values: the weight is √(4/5), and half of the mixture has not begun."""
    (found,) = log_evidence(rows_of([2.0], [(0,)]), [4])

    ratios = [
        sqrt(1 / (1 + 0.8 * shift**2)) * exp((2 * sqrt(0.8)) ** 2 / (2 * (0.8 + 1 / shift**2))) for shift in SHIFTS
    ]
    assert exp(found) == pytest.approx(0.5 * sum(ratios) / 2 + 0.5)


def test_the_evidence_is_a_mixture_of_likelihood_ratios() -> None:
    """The same by integrating over the shift, for every row at which it may have begun."""
    scores, tasks, reference = [1.5, -0.5, 2.5], [(0, 1), (1,), (0, 1)], [2, 3]
    found = log_evidence(rows_of(scores, tasks), reference)[-1]

    grid = np.linspace(-8, 8, 40_001)
    total = 0.5 / 3
    for start, weight in ((0, 0.5), (1, 0.25), (2, 0.5 / 6)):
        older = list(reference)
        for row in tasks[:start]:
            for task in row:
                older[task] += 1
        counts, log_ratio = list(reference), np.zeros_like(grid)
        for place, (score, row) in enumerate(zip(scores, tasks, strict=True)):
            if place >= start:
                size = sum(counts[task] / (counts[task] + 1) for task in row)
                mean = grid * sqrt(size) * np.mean([older[task] / counts[task] for task in row])
                log_ratio += score * mean - mean**2 / 2
            for task in row:
                counts[task] += 1
        prior = np.mean([stats.norm.pdf(grid, scale=shift) for shift in SHIFTS], axis=0)
        total += weight * np.trapezoid(prior * np.exp(log_ratio), grid)
    assert found == pytest.approx(log(total), abs=1e-6)


@given(st.lists(st.floats(-4, 4), min_size=1, max_size=8))
def test_up_and_down_are_the_same_evidence(scores: list[float]) -> None:
    tasks = [(0, 1)] * len(scores)
    up = log_evidence(rows_of(scores, tasks), [3, 3])
    down = log_evidence(rows_of([-score for score in scores], tasks), [3, 3])

    assert up == pytest.approx(down)


def test_standard_normal_scores_rarely_ever_reach_twenty_and_are_one_on_average() -> None:
    random = np.random.default_rng(5)
    tasks = [((row % 6), (row % 6) + 6) for row in range(80)]
    paths = np.array([log_evidence(rows_of(random.normal(size=80).tolist(), tasks), [5] * 12) for _ in range(800)])

    assert (paths.max(axis=1) >= log(20)).mean() <= stats.binom.ppf(0.999, 800, 0.05) / 800
    assert np.exp(paths[:, 3]).mean() == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("start", [0, 40])
def test_a_shift_is_found_whenever_it_begins(start: int) -> None:
    random = np.random.default_rng(6)
    scores = random.normal(size=120)
    scores[start:] += 1.2
    found = log_evidence(rows_of(scores.tolist(), [((row % 10),) for row in range(120)]), [20] * 10)

    assert found[start + 35] >= log(20)
