"""Missing ratings are what the least-squares fit of item and rater effects says, and nothing where it says nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from outweigh.stats.additive_model import fill_missing_ratings

Matrix = NDArray[np.float64]
NAN = np.nan


def test_a_missing_rating_is_the_other_judges_rating_shifted_by_how_they_differ() -> None:
    # The first rater is .2 and .4 above the second, so .3 on average.
    filled = fill_missing_ratings(np.array([[0.7, 0.5], [0.9, 0.5], [NAN, 0.4]]))

    assert filled[2, 0] == pytest.approx(0.7)
    assert filled[:2].tolist() == [[0.7, 0.5], [0.9, 0.5]]


def by_dummies(ratings: Matrix) -> Matrix:
    """The same model as a regression on one dummy per item and per rater."""
    items, raters = ratings.shape
    rows, columns = np.nonzero(~np.isnan(ratings))
    design = np.zeros((rows.size, items + raters))
    design[np.arange(rows.size), rows] = 1
    design[np.arange(rows.size), items + columns] = 1
    effects = np.linalg.lstsq(design, ratings[rows, columns], rcond=None)[0]
    fitted = effects[:items, None] + effects[None, items:]
    return np.where(np.isnan(ratings), fitted, ratings)


@pytest.mark.parametrize("seed", range(10))
def test_it_agrees_with_a_regression_on_dummies(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ratings = rng.uniform(size=(30, 1)) + rng.normal(0, 0.2, 4) + rng.normal(0, 0.1, (30, 4))
    ratings[rng.uniform(size=ratings.shape) < 0.3] = NAN
    ratings[0] = rng.uniform(size=4)  # connects all raters
    ratings = ratings[~np.isnan(ratings).all(axis=1)]

    assert fill_missing_ratings(ratings) == pytest.approx(by_dummies(ratings))


@given(st.integers(0, 10_000), st.floats(0.0, 0.4))
def test_ratings_that_are_sums_of_effects_are_restored(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    whole = rng.uniform(size=(12, 1)) + rng.normal(size=3)
    holed = np.where(rng.uniform(size=whole.shape) < share, NAN, whole)
    holed[0] = whole[0]
    rated = ~np.isnan(holed).all(axis=1)

    assert fill_missing_ratings(holed)[rated] == pytest.approx(whole[rated])


def test_ratings_that_are_missing_for_the_worst_items_are_filled_in_without_bias() -> None:
    errors = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        merit = rng.uniform(0.2, 0.7, 200)
        ratings = merit[:, None] + np.array([0.0, 0.3]) + rng.normal(0, 0.1, (200, 2))
        worst = np.argsort(merit)[:10]
        holed = ratings.copy()
        holed[worst, 0] = NAN
        errors.append(float((fill_missing_ratings(holed) - ratings)[worst, 0].mean()))

    # Without the raters' effects the filled-in ratings would be .3 too high; the noise of 400 of them is .007.
    assert np.mean(errors) == pytest.approx(0, abs=0.02)


def test_an_item_that_nobody_rated_stays_unknown() -> None:
    assert np.isnan(fill_missing_ratings(np.array([[0.5, 0.4], [NAN, NAN]]))[1]).all()


def test_raters_who_share_no_item_say_nothing_about_each_other() -> None:
    filled = fill_missing_ratings(np.array([[0.5, NAN], [0.6, NAN], [NAN, 0.9]]))

    assert np.isnan(filled[[0, 1, 2], [1, 1, 0]]).all()


def test_raters_may_be_compared_through_a_third() -> None:
    # B is .1 above A, and C is .2 above B.
    filled = fill_missing_ratings(np.array([[0.3, 0.4, NAN], [NAN, 0.5, 0.7], [0.1, NAN, NAN]]))

    assert filled == pytest.approx(np.array([[0.3, 0.4, 0.6], [0.4, 0.5, 0.7], [0.1, 0.2, 0.4]]))


def test_an_item_is_drawn_towards_its_cell_as_far_as_raters_differ_more_than_items() -> None:
    # Two cells of two items, three raters without effects of their own. The item means are .5, .7, .2, .4 (the last
    # of two ratings), the cell means .6 and .28.
    ratings = np.array([[0.4, 0.5, 0.6], [0.8, 0.6, 0.7], [0.2, 0.3, 0.1], [0.35, 0.45, NAN]])
    cells = np.array([0, 0, 1, 1])
    plain, drawn = fill_missing_ratings(ratings), fill_missing_ratings(ratings, cells)

    assert plain[3, 2] == pytest.approx(by_dummies(ratings)[3, 2])
    assert drawn[3, 2] < plain[3, 2]
    assert drawn[~np.isnan(ratings)].tolist() == ratings[~np.isnan(ratings)].tolist()


def test_where_raters_never_differ_the_cell_adds_nothing() -> None:
    ratings = np.array([[0.1, 0.3], [0.5, 0.7], [0.2, 0.4], [0.6, NAN]])

    assert fill_missing_ratings(ratings, np.array([0, 0, 1, 1]))[3, 1] == pytest.approx(0.8)


def test_an_item_alone_in_its_cell_has_nothing_to_be_drawn_to() -> None:
    ratings = np.array([[0.1, 0.4], [0.5, 0.6], [0.6, NAN]])

    assert fill_missing_ratings(ratings, np.arange(3))[2, 1] == pytest.approx(fill_missing_ratings(ratings)[2, 1])


def test_the_cell_makes_the_prediction_better_where_its_items_are_the_same() -> None:
    rng = np.random.default_rng(3)
    cells = np.repeat(np.arange(40), 3)
    complete = rng.uniform(0.3, 0.8, 40)[cells][:, None] + rng.normal(0, 0.1, 3) + rng.normal(0, 0.1, (120, 3))
    missing = rng.uniform(size=complete.shape) < 0.05
    ratings = np.where(missing, NAN, complete)
    errors = [
        float(np.nanmean((filled - complete)[missing] ** 2))
        for filled in (fill_missing_ratings(ratings), fill_missing_ratings(ratings, cells))
    ]

    assert errors[1] < 0.85 * errors[0]
