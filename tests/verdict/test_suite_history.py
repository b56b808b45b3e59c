"""Which task flipped when: by hand, by properties, and against scipy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from outweigh.verdict.suite_history import find_flips

Points = list[dict[tuple[str, str | None], tuple[int, int]]]


def series(*passed: int, runs: int = 3, task: str = "t") -> Points:
    return [{(task, "1"): (count, runs)} for count in passed]


def test_a_task_that_passes_until_a_point_and_never_after_has_flipped_there() -> None:
    flips, unstable = find_flips(series(3, 3, 0, 0))

    assert [(flip.task, flip.place) for flip in flips] == [("t", 2)]
    assert unstable == ()


def test_one_point_of_three_runs_is_not_enough() -> None:
    """3/3 against 0/3 has p = 0.1 both ways."""
    assert find_flips(series(3, 0)) == ((), ("t",))


def test_a_task_that_passes_sometimes_is_unstable_and_one_that_always_does_is_neither() -> None:
    assert find_flips(series(2, 1, 2, 1)) == ((), ("t",))
    assert find_flips(series(3, 3, 3)) == ((), ())


def test_a_changed_task_is_another_one() -> None:
    before = series(3, 3)
    after: Points = [{("t", "2"): (0, 3)}, {("t", "2"): (0, 3)}]

    assert find_flips(before + after) == ((), ())


def test_the_p_value_is_fishers_corrected_for_splits_and_tasks() -> None:
    points = [one | two for one, two in zip(series(5, 5, 0, runs=5), series(2, 3, 2, runs=5, task="u"), strict=True)]

    (flip,), unstable = find_flips(points)

    exact = stats.fisher_exact([[10, 0], [0, 5]]).pvalue
    assert flip.p_value == pytest.approx(exact * 2 * 2 * 2), "both ways, two splits, two tasks"
    assert unstable == ("u",)


@given(st.lists(st.lists(st.integers(0, 4), min_size=4, max_size=4), min_size=2, max_size=6))
@settings(deadline=None)
def test_a_task_is_flipped_or_unstable_and_never_both(counts: list[list[int]]) -> None:
    points: Points = [{(f"t{place}", None): (count, 4) for place, count in enumerate(row)} for row in counts]

    flips, unstable = find_flips(points)

    assert not {flip.task for flip in flips} & set(unstable)
    assert all(0 < flip.place < len(points) and flip.p_value <= 0.05 for flip in flips)


def test_tasks_that_do_not_change_rarely_flip() -> None:
    dice = np.random.default_rng(1)
    named = 0
    for _ in range(300):
        rates = dice.uniform(0.1, 0.9, 10)
        points: Points = [
            {(f"t{place}", None): (int(dice.binomial(3, rate)), 3) for place, rate in enumerate(rates)}
            for _ in range(6)
        ]
        named += bool(find_flips(points)[0])

    assert named <= 15
