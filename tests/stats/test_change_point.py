"""At which step pass rates fell: by hand, by properties, and against integrals that scipy computes."""

from math import comb, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import integrate, special, stats

from outweigh.stats.change_point import (
    AGAINST,
    FALLS,
    LOG_ODDS,
    PRIOR_BETTER,
    PRIOR_SAME,
    PRIOR_WORSE,
    SCATTER,
    SHARES,
    expected_information,
    find_change,
    weigh_two_changes,
)

Counts = NDArray[np.int64]


def table(*rows: list[int]) -> Counts:
    return np.array(rows, dtype=np.int64)


class TestByHand:
    def test_without_runs_the_prior_is_left(self) -> None:
        found = find_change(np.zeros((4, 2)), np.zeros((4, 2)))

        assert found.steps == pytest.approx([PRIOR_WORSE / 3] * 3)
        assert (found.same, found.better) == pytest.approx((PRIOR_SAME, PRIOR_BETTER))
        assert found.before + found.after == pytest.approx([1, 1])

    def test_all_pass_before_and_none_after_the_second_step(self) -> None:
        runs = np.full((4, 3), 6)
        found = find_change(table([6] * 3, [6] * 3, [0] * 3, [0] * 3), runs)

        assert found.best == 2
        assert found.steps[1] > 0.999
        assert found.before.min() > 0.9
        assert found.after.max() < 0.1

    def test_all_pass_throughout(self) -> None:
        found = find_change(np.full((3, 5), 5), np.full((3, 5), 5))

        assert found.same > PRIOR_SAME
        assert found.worse == pytest.approx(found.better)

    def test_more_tasks_that_always_pass_never_speak_for_a_change(self) -> None:
        chances = [find_change(np.full((2, tasks), 2), np.full((2, tasks), 2)).same for tasks in (1, 5, 30, 100)]

        assert chances == sorted(chances)

    def test_a_rise_is_no_fall(self) -> None:
        found = find_change(table([0] * 3, [6] * 3), np.full((2, 3), 6))

        assert found.better > 0.95
        assert found.worse < 0.05

    def test_a_step_that_was_not_run_shares_its_chance_with_the_next(self) -> None:
        """Nothing tells whether the fall came with step 1 or with step 2."""
        found = find_change(table([5, 5], [0, 0], [0, 0]), table([5, 5], [0, 0], [5, 5]))

        assert found.steps[0] == pytest.approx(found.steps[1])

    def test_two_groups_of_tasks_that_fell_at_different_steps_are_two_changes(self) -> None:
        passes = np.zeros((5, 6), dtype=np.int64)
        passes[:2, :3] = passes[:4, 3:] = 6
        found = weigh_two_changes(passes, np.full((5, 6), 6))

        assert found is not None
        assert found.steps == (2, 4)
        assert found.evidence > 100

    def test_tasks_that_fell_together_are_one_change(self) -> None:
        passes = np.zeros((5, 6), dtype=np.int64)
        passes[:2] = 6
        found = weigh_two_changes(passes, np.full((5, 6), 6))

        assert found is not None
        assert found.evidence < 1
        assert weigh_two_changes(passes[:2], np.full((2, 6), 6)) is None

    def test_a_sure_run_tells_one_bit_about_an_even_question(self) -> None:
        told = expected_information(0.5, np.array([0.0, 0.5]), np.array([1.0, 0.5]))

        assert told == pytest.approx([log(2), 0.0], abs=1e-9)

    @pytest.mark.parametrize(
        ("passes", "runs"), [([[1, 1]], [[1, 1]]), ([[2], [0]], [[1], [1]]), ([[1], [-1]], [[1], [1]])]
    )
    def test_counts_that_cannot_be_are_refused(self, passes: list[list[int]], runs: list[list[int]]) -> None:
        with pytest.raises(ValueError, match=r"counts are|passes are"):
            find_change(passes, runs)


@st.composite
def outcomes(draw: st.DrawFn) -> tuple[Counts, Counts]:
    steps, tasks = draw(st.integers(2, 6)), draw(st.integers(1, 5))
    runs = np.array(draw(st.lists(st.integers(0, 8), min_size=steps * tasks, max_size=steps * tasks)))
    passes = np.array([draw(st.integers(0, int(number))) for number in runs])
    return passes.reshape(steps, tasks), runs.reshape(steps, tasks)


class TestProperties:
    @given(outcomes())
    @settings(deadline=None, max_examples=60)
    def test_the_probabilities_add_up_and_the_order_of_tasks_does_not_matter(
        self, drawn: tuple[Counts, Counts]
    ) -> None:
        passes, runs = drawn
        found, turned = find_change(passes, runs), find_change(passes[:, ::-1], runs[:, ::-1])

        assert found.worse + found.same + found.better == pytest.approx(1)
        assert (found.steps >= 0).all()
        assert turned.steps == pytest.approx(found.steps)
        assert turned.before[::-1] == pytest.approx(found.before)

    @given(outcomes())
    @settings(deadline=None, max_examples=60)
    def test_backwards_a_fall_is_a_rise(self, drawn: tuple[Counts, Counts]) -> None:
        """Failures in the place of passes turn falls into rises, step by step and rate by rate."""
        passes, runs = drawn
        found, mirrored = find_change(passes, runs), find_change(runs - passes, runs)

        assert mirrored.better == pytest.approx(found.worse, abs=1e-9)
        assert mirrored.same == pytest.approx(found.same, abs=1e-9)

    @given(st.floats(0.01, 0.99), st.floats(0, 1), st.floats(0, 1))
    def test_information_is_never_negative_and_nothing_where_both_cases_are_the_same(
        self, prior: float, yes: float, no: float
    ) -> None:
        assert expected_information(prior, np.array([yes]), np.array([no]))[0] >= 0
        assert expected_information(prior, np.array([yes]), np.array([yes]))[0] == pytest.approx(0, abs=1e-9)


class TestAgainstOthers:
    def test_one_rate_throughout_is_the_beta_binomial_of_jeffreys(self) -> None:
        """The grid of the module against the closed form, as the ratio of the chances of two outcomes."""
        rates = special.expit(LOG_ODDS)
        weights = np.sqrt(rates * (1 - rates)) / np.sqrt(rates * (1 - rates)).sum()
        two, five = (weights @ (rates**count * (1 - rates) ** (9 - count)) for count in (2, 5))
        exact = stats.betabinom(9, 0.5, 0.5).pmf([2, 5]) / [comb(9, 2), comb(9, 5)]

        assert two / five == pytest.approx(exact[0] / exact[1], rel=0.01)

    def test_the_posterior_is_that_of_integrals_by_scipy(self) -> None:
        """Two steps, three tasks: every likelihood by a double integral over all log odds.

        The module's grid ends at 0.7 and 99.3 %, which moves the answer by a few points.
        """
        passes, runs = table([4, 3, 2], [0, 0, 0], [1, 3, 1]), table([5, 4, 3], [0, 0, 0], [5, 4, 3])
        ends = np.array([passes[0], runs[0] - passes[0], passes[2], runs[2] - passes[2]]).T
        same = [_one_rate(*row) for row in ends]
        falls = np.array([[_two_rates(row, fall) for row in ends] for fall in FALLS])
        rises = np.array([[_two_rates(row, -fall) for row in ends] for fall in FALLS])
        worse, better = (
            np.mean([np.prod((1 - share) * np.array(same) + share * each, axis=-1) for share in SHARES])
            for each in (falls, rises)
        )
        parts = np.array([PRIOR_WORSE * worse, PRIOR_SAME * np.prod(same), PRIOR_BETTER * better])
        found = find_change(passes, runs)

        assert [found.worse, found.same, found.better] == pytest.approx(parts / parts.sum(), abs=0.04)
        assert found.steps[0] == pytest.approx(found.steps[1])


POINTS: NDArray[np.float64] = np.linspace(-12, 12, 601)


def _density(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    density: NDArray[np.float64] = np.sqrt(special.expit(odds) * special.expit(-odds)) / np.pi
    return density


def _likelihood(odds: NDArray[np.float64], passed: int, failed: int) -> NDArray[np.float64]:
    likelihood: NDArray[np.float64] = special.expit(odds) ** passed * special.expit(-odds) ** failed
    return likelihood


def _one_rate(passed: int, failed: int, later_passed: int, later_failed: int) -> float:
    values = _density(POINTS) * _likelihood(POINTS, passed + later_passed, failed + later_failed)
    return float(integrate.simpson(values, x=POINTS))


def _two_rates(row: NDArray[np.int64], fall: float) -> float:
    return (1 - AGAINST) * _moved(row, fall) + AGAINST * _moved(row, -fall)


def _moved(row: NDArray[np.int64], fall: float) -> float:
    """Over the middle of both log odds and the shift between them."""
    passed, failed, later_passed, later_failed = map(int, row)
    shifts = np.linspace(-fall - 6 * SCATTER * abs(fall), -fall + 6 * SCATTER * abs(fall), 201)
    middles = POINTS[:, None]
    values = _density(middles) * stats.norm.pdf(shifts, -fall, SCATTER * abs(fall))
    values = values * _likelihood(middles - shifts / 2, passed, failed)
    values = values * _likelihood(middles + shifts / 2, later_passed, later_failed)
    return float(integrate.simpson(integrate.simpson(values, x=shifts, axis=1), x=POINTS))
