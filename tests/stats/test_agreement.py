import itertools
import math

import krippendorff
import numpy as np
import pytest
from numpy.typing import NDArray

from outweigh.stats.agreement import MeasurementScale, Ratings, krippendorff_alpha
from outweigh.stats.estimate import Estimate, excludes

# Krippendorff's textbook reliability data: four observers, twelve units, some ratings missing.
TEXTBOOK: list[list[float | None]] = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


def alpha(ratings: Ratings, scale: MeasurementScale) -> Estimate:
    """With every item a task of its own."""
    items = np.asarray(ratings, dtype=float).shape[1]
    return krippendorff_alpha(ratings, [str(item) for item in range(items)], scale=scale, level=0.95)


def naive_alpha(matrix: NDArray[np.float64], scale: MeasurementScale) -> float:
    """The definition, pair by pair."""
    units = [[float(v) for v in column if not math.isnan(v)] for column in matrix.T]
    units = [unit for unit in units if len(unit) >= 2]
    pooled = [value for unit in units for value in unit]

    def distance(x: float, y: float) -> float:
        if scale is MeasurementScale.NOMINAL:
            return float(x != y)
        if scale is MeasurementScale.INTERVAL:
            return (x - y) ** 2
        low, high = min(x, y), max(x, y)
        between = sum(low <= value <= high for value in pooled)
        return (between - (pooled.count(x) + pooled.count(y)) / 2) ** 2 if x != y else 0.0

    observed = sum(
        sum(distance(x, y) for x, y in itertools.permutations(unit, 2)) / (len(unit) - 1) for unit in units
    ) / len(pooled)
    expected = sum(distance(x, y) for x, y in itertools.permutations(pooled, 2)) / (len(pooled) * (len(pooled) - 1))
    return 1 - observed / expected if expected else math.nan


@pytest.mark.parametrize(
    ("scale", "published"),
    [(MeasurementScale.NOMINAL, 0.743), (MeasurementScale.ORDINAL, 0.815), (MeasurementScale.INTERVAL, 0.849)],
)
def test_the_textbook_data_of_four_observers_are_reproduced(scale: MeasurementScale, published: float) -> None:
    estimate = alpha(TEXTBOOK, scale)

    assert estimate.point == pytest.approx(published, abs=5e-4)
    # One unit has a single rating, which pairs with nothing.
    assert estimate.n == 11


def test_the_textbook_data_of_two_observers_are_reproduced() -> None:
    a, b, c, d, e = range(5)
    ben, gerry = [a, a, b, b, d, c, c, c, e, d, d, a], [b, a, b, b, b, c, c, c, e, d, d, d]
    meg, owen = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]

    assert alpha([ben, gerry], MeasurementScale.NOMINAL).point == pytest.approx(0.692, abs=5e-4)
    assert alpha([meg, owen], MeasurementScale.NOMINAL).point == pytest.approx(0.095, abs=5e-4)


@pytest.mark.parametrize("scale", list(MeasurementScale))
@pytest.mark.parametrize("seed", range(5))
def test_alpha_agrees_with_the_definition_on_random_ratings(seed: int, scale: MeasurementScale) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(1, 8, size=(4, 15)).astype(float)
    matrix[rng.uniform(size=matrix.shape) < 0.3] = np.nan

    assert alpha(matrix, scale).point == pytest.approx(naive_alpha(matrix, scale), abs=1e-12)


# Fifteen units and three coders, the example that is most often reprinted. Unit 14 has no rating, and one has a single.
CODERS: list[list[float | None]] = [
    [None, None, None, None, None, 3, 4, 1, 2, 1, 1, 3, 3, None, 3],
    [1, None, 2, 1, 3, 3, 4, 3, None, None, None, None, None, None, None],
    [None, None, 2, 1, 3, 4, 4, None, 2, 1, 1, 3, 3, None, 4],
]


@pytest.mark.parametrize(
    ("scale", "published"), [(MeasurementScale.NOMINAL, 0.691), (MeasurementScale.INTERVAL, 0.811)]
)
def test_the_textbook_data_of_three_coders_are_reproduced(scale: MeasurementScale, published: float) -> None:
    assert alpha(CODERS, scale).point == pytest.approx(published, abs=5e-4)


@pytest.mark.parametrize("scale", list(MeasurementScale))
@pytest.mark.parametrize("seed", range(20))
def test_alpha_agrees_with_an_independent_implementation_on_ratings_with_gaps(
    seed: int, scale: MeasurementScale
) -> None:
    rng = np.random.default_rng(seed)
    raters, items, values = rng.integers(2, 7), rng.integers(5, 60), rng.integers(2, 9)
    truth = rng.integers(0, values, size=items)
    matrix = np.where(rng.uniform(size=(raters, items)) < 0.6, truth, rng.integers(0, values, size=(raters, items)))
    matrix = matrix.astype(float)
    matrix[rng.uniform(size=matrix.shape) < rng.uniform(0, 0.5)] = np.nan

    expected = krippendorff.alpha(reliability_data=matrix, level_of_measurement=scale.value)

    assert alpha(matrix, scale).point == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("scale", list(MeasurementScale))
def test_two_judges_make_binary_ratings_the_same_on_every_scale(scale: MeasurementScale) -> None:
    matrix = np.random.default_rng(7).integers(0, 2, size=(2, 30)).astype(float)

    assert alpha(matrix, scale).point == pytest.approx(alpha(matrix, MeasurementScale.NOMINAL).point)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_judges_and_of_items_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = np.array(TEXTBOOK, dtype=float)
    shuffled = matrix[rng.permutation(4)][:, rng.permutation(12)]

    assert alpha(shuffled, MeasurementScale.ORDINAL).point == pytest.approx(
        alpha(matrix, MeasurementScale.ORDINAL).point
    )


def test_interval_alpha_ignores_origin_and_unit_and_ordinal_alpha_any_increasing_map() -> None:
    matrix = np.array(TEXTBOOK, dtype=float)

    assert alpha(matrix * 25 + 1e6, MeasurementScale.INTERVAL).point == pytest.approx(
        alpha(matrix, MeasurementScale.INTERVAL).point
    )
    assert alpha(np.exp(matrix), MeasurementScale.ORDINAL).point == pytest.approx(
        alpha(matrix, MeasurementScale.ORDINAL).point
    )


def test_intervals_of_random_ratings_rarely_miss_zero() -> None:
    studies = [np.random.default_rng(seed).integers(1, 6, size=(3, 30)).astype(float) for seed in range(40)]
    missed = [excludes(alpha(study, MeasurementScale.ORDINAL).interval, 0.0) for study in studies]

    # 95 % intervals miss 2 of 40 on average, and more than 6 less than once in 200 times.
    assert sum(missed) <= 6


def test_the_interval_holds_the_point_and_nothing_in_it_is_random() -> None:
    first, again = (alpha(TEXTBOOK, MeasurementScale.NOMINAL) for _ in range(2))

    assert first.interval is not None
    assert first.point is not None
    assert first.interval.low < first.point < first.interval.high
    assert first == again


def test_four_times_the_items_about_halve_the_interval() -> None:
    rng = np.random.default_rng(13)
    truth = rng.normal(size=400)
    matrix = truth + rng.normal(size=(3, 400))
    few, many = (
        alpha(matrix[:, :100], MeasurementScale.INTERVAL).interval,
        alpha(matrix, MeasurementScale.INTERVAL).interval,
    )

    assert few is not None
    assert many is not None
    assert (few.high - few.low) / (many.high - many.low) == pytest.approx(2, rel=0.25)


def test_perfect_agreement_has_an_alpha_of_one_without_an_interval() -> None:
    estimate = alpha([[1, 2, 3, 1, 2, 3]] * 3, MeasurementScale.ORDINAL)

    assert (estimate.point, estimate.interval) == (1, None)
    assert "the same whichever task is left out" in estimate.warnings[0]


def test_one_task_with_all_the_differences_gives_no_interval() -> None:
    estimate = alpha([[1, 1, 1, 1, 1, 2], [1, 1, 1, 1, 1, 2]], MeasurementScale.NOMINAL)

    assert (estimate.point, estimate.interval) == (1, None)
    assert "without one of the tasks all ratings are the same value" in estimate.warnings[0]


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1, 1, 1], [1, 1, 1]], "same value"),
        ([[1, None], [None, 2]], "no item has two ratings"),
        ([[1.0, math.inf], [1.0, 2.0]], "infinite"),
        ([[], []], "no item has two ratings"),
    ],
)
def test_ratings_that_cannot_show_agreement_give_no_alpha(ratings: Ratings, reason: str) -> None:
    estimate = alpha(ratings, MeasurementScale.NOMINAL)

    assert (estimate.point, estimate.interval) == (None, None)
    assert reason in estimate.warnings[0]


def test_a_task_for_every_item_is_demanded() -> None:
    with pytest.raises(ValueError, match="3 items and 2 tasks"):
        krippendorff_alpha([[1, 2, 3], [1, 2, 3]], ["a", "b"], scale=MeasurementScale.NOMINAL, level=0.95)
