import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa, to_table

from outweigh.stats.agreement import cohen_kappa
from outweigh.stats.estimate import Estimate


def kappa(one: list[float], other: list[float]) -> Estimate:
    """With every item a task of its own."""
    return cohen_kappa(one, other, [str(place) for place in range(len(one))], level=0.95)


def test_the_textbook_table_of_fifty_grants_is_reproduced() -> None:
    # 20 both yes, 5 and 10 split, 15 both no: observed .7, expected .5.
    one = [1.0] * 20 + [1.0] * 5 + [0.0] * 10 + [0.0] * 15
    other = [1.0] * 20 + [0.0] * 5 + [1.0] * 10 + [0.0] * 15

    assert kappa(one, other).point == pytest.approx(0.4)


@pytest.mark.parametrize("seed", range(10))
def test_kappa_agrees_with_an_independent_implementation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = int(rng.integers(2, 6))
    one = rng.integers(0, values, size=40)
    other = np.where(rng.uniform(size=40) < 0.5, one, rng.integers(0, values, size=40))

    table, _ = to_table(np.column_stack([one, other]))

    assert kappa([*one.astype(float)], [*other.astype(float)]).point == pytest.approx(cohens_kappa(table).kappa)


def test_swapping_the_raters_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    one, other = ([*rng.integers(0, 3, size=30).astype(float)] for _ in range(2))

    assert kappa(one, other).point == kappa(other, one).point


def test_the_interval_holds_the_point_and_is_close_to_the_textbook_error() -> None:
    one, other = [0.0, 1.0] * 60, [0.0, 1.0] * 40 + [1.0, 1.0] * 20
    found = kappa(one, other)

    table, _ = to_table(np.column_stack([one, other]))

    assert found.interval is not None
    assert found.point is not None
    assert found.interval.low < found.point < found.interval.high
    assert found.standard_error == pytest.approx(cohens_kappa(table).std_kappa, rel=0.03)


def test_copies_of_every_item_in_its_task_do_not_make_the_interval_narrower() -> None:
    rng = np.random.default_rng(5)
    one, other = ([*rng.integers(0, 2, size=20).astype(float)] for _ in range(2))
    tasks = [str(place // 2) for place in range(20)]
    few, many = (cohen_kappa(one * n, other * n, tasks * n, level=0.95) for n in (1, 8))

    assert few.interval is not None
    assert many.interval is not None
    assert many.interval.low == pytest.approx(few.interval.low)


def test_items_of_four_tasks_have_no_interval() -> None:
    found = cohen_kappa([0.0, 1.0] * 20, [1.0, 1.0, 0.0, 1.0] * 10, [*"abcd"] * 10, level=0.95)

    assert found.point is not None
    assert found.interval is None
    assert "all runs are of 4 tasks" in found.warnings[0]


def test_full_agreement_is_one_without_an_interval() -> None:
    estimate = kappa([0.0, 1.0] * 10, [0.0, 1.0] * 10)

    assert (estimate.point, estimate.interval) == (1, None)
    assert estimate.warnings


@pytest.mark.parametrize(("ratings", "reason"), [([], "no item"), ([1.0, 1.0], "same rating")])
def test_ratings_that_cannot_show_agreement_give_no_kappa(ratings: list[float], reason: str) -> None:
    estimate = kappa(ratings, ratings)

    assert estimate.point is None
    assert reason in estimate.warnings[0]


def test_raters_of_different_items_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="same items"):
        kappa([1.0], [])
