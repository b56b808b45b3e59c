"""Two-level designs against facts that do not come from this code: orthogonality, published rows and resolutions."""

from itertools import combinations
from random import Random

import numpy as np
import pytest

from outweigh.stats.designs import (
    Levels,
    Shuffle,
    add_one,
    fold_over,
    full_factorial,
    leave_one_out,
    plackett_burman,
    plackett_burman_size,
    supersaturated,
)
from outweigh.stats.fractional_designs import FractionalDesign, find_fraction, smallest_fraction

PUBLISHED_ROWS = {
    7: "+++-+--",
    11: "++-+++---+-",
    19: "++--++++-+-+----++-",
    23: "+++++-+-++--++--+-+----",
}
"""The first rows of Plackett and Burman (1946) for 8, 12, 20 and 24 runs."""
PUBLISHED_RESOLUTIONS = {
    (3, 4): 3,
    (4, 8): 4,
    (5, 8): 3,
    (6, 8): 3,
    (7, 8): 3,
    (5, 16): 5,
    (6, 16): 4,
    (7, 16): 4,
    (8, 16): 4,
    (9, 16): 3,
    (15, 16): 3,
    (6, 32): 6,
    (7, 32): 4,
    (9, 32): 4,
    (16, 32): 4,
    (7, 64): 7,
    (8, 64): 5,
    (9, 64): 4,
    (11, 64): 4,
}
"""Box, Hunter and Hunter's table of the highest resolution, by factors and runs."""


def shuffled(seed: int) -> Shuffle:
    random = Random(seed)
    return lambda numbers: random.sample(numbers, len(numbers))


def signs(levels: Levels) -> np.ndarray:
    return np.where(np.array(levels), 1, -1)


@pytest.mark.parametrize("factors", sorted(PUBLISHED_ROWS))
def test_plackett_burman_designs_are_the_published_ones(factors: int) -> None:
    rows = ["".join("-+"[level] for level in row) for row in plackett_burman(factors)]
    first = PUBLISHED_ROWS[factors]
    assert rows[0] == first
    assert rows[1] == first[-1] + first[:-1]
    assert rows[-1] == "-" * factors


@pytest.mark.parametrize("factors", [*range(1, 51), 63, 75, 83, 90, 103])
def test_the_columns_of_a_plackett_burman_design_are_balanced_and_orthogonal(factors: int) -> None:
    matrix = signs(plackett_burman(factors))
    assert len(matrix) > factors
    assert np.array_equal(matrix.T @ matrix, len(matrix) * np.eye(factors, dtype=int))
    assert not matrix.sum(axis=0).any()
    assert (matrix[-1] == -1).all()


def test_a_plackett_burman_design_has_the_next_multiple_of_four() -> None:
    sizes = [plackett_burman_size(factors) for factors in (1, 3, 4, 7, 8, 11, 12, 16, 20, 24, 27, 28, 36, 40)]
    assert sizes == [4, 4, 8, 8, 12, 12, 16, 20, 24, 28, 28, 32, 40, 44]
    with pytest.raises(ValueError, match="the largest is for 103"):
        plackett_burman_size(104)


def test_folding_over_keeps_interactions_out_of_main_effects() -> None:
    once, twice = (signs(each) for each in (plackett_burman(7), fold_over(plackett_burman(7))))
    mixed = [abs(matrix[:, a] @ (matrix[:, b] * matrix[:, c])) for matrix in (once, twice)
             for a, b, c in combinations(range(7), 3)]  # fmt: skip
    assert max(mixed[:35]) > 0
    assert max(mixed[35:]) == 0


@pytest.mark.parametrize(("factors", "arms"), [(10, 6), (16, 10), (23, 12), (40, 14)])
def test_a_supersaturated_design_is_balanced_and_tells_every_two_factors_apart(factors: int, arms: int) -> None:
    matrix = signs(supersaturated(factors, arms, shuffled(3)))
    assert matrix.shape == (arms, factors)
    assert not matrix.sum(axis=0).any()
    products = matrix.T @ matrix - arms * np.eye(factors, dtype=int)
    assert abs(products).max() < arms
    chance = arms**2 / (arms - 1)
    assert (products**2).sum() / (factors * (factors - 1)) < chance


def test_the_same_seed_gives_the_same_supersaturated_design() -> None:
    assert (
        supersaturated(12, 8, shuffled(1)) == supersaturated(12, 8, shuffled(1)) != supersaturated(12, 8, shuffled(2))
    )
    with pytest.raises(ValueError, match="6 arms are too few to tell 11 factors apart"):
        supersaturated(11, 6, shuffled(1))


def test_simple_designs_have_every_arm_once() -> None:
    assert leave_one_out(2) == ((True, True), (False, True), (True, False))
    assert add_one(2) == ((False, False), (True, False), (False, True))
    assert full_factorial(2) == ((False, False), (True, False), (False, True), (True, True))
    assert len(set(full_factorial(6))) == 64


@pytest.mark.parametrize(("factors", "arms"), sorted(PUBLISHED_RESOLUTIONS))
def test_fractions_have_the_highest_published_resolution(factors: int, arms: int) -> None:
    fraction = find_fraction(factors, arms)
    levels = fraction.levels()
    assert (len(levels), len(set(levels)), len(levels[0])) == (arms, arms, factors)
    assert all(levels[-1])
    assert fraction.resolution == PUBLISHED_RESOLUTIONS[factors, arms]
    matrix = signs(levels)
    assert np.array_equal(matrix.T @ matrix, arms * np.eye(factors, dtype=int))


@pytest.mark.parametrize(("factors", "arms"), [(3, 4), (5, 8), (6, 16), (7, 16), (8, 64), (20, 64)])
def test_aliases_are_the_effects_whose_columns_are_the_same(factors: int, arms: int) -> None:
    fraction = find_fraction(factors, arms)
    matrix = signs(fraction.levels())
    aliases = fraction.aliases()
    columns = {effect: matrix[:, effect].prod(axis=1) for effect in aliases}
    assert len(aliases) == factors + factors * (factors - 1) // 2
    for effect, column in columns.items():
        same = {other for other in columns if other != effect and np.array_equal(columns[other], column)}
        assert set(aliases[effect]) == same


def test_every_word_of_the_defining_relation_is_the_same_in_all_arms() -> None:
    fraction = find_fraction(7, 16)
    relation = fraction.relation()
    assert relation is not None
    assert len(relation) == 7
    assert min(map(len, relation)) == fraction.resolution
    matrix = signs(fraction.levels())
    for word in relation:
        assert (matrix[:, word].prod(axis=1) == 1).all()


def test_the_usual_fractions_have_the_usual_generators() -> None:
    assert find_fraction(4, 8).generator(3) == (0, 1, 2)
    assert find_fraction(5, 16).generator(4) == (0, 1, 2, 3)
    assert find_fraction(5, 8).relation() == ((0, 1, 3), (0, 2, 4), (1, 2, 3, 4))


@pytest.mark.parametrize("factors", range(4, 33))
def test_the_smallest_fraction_keeps_main_effects_clear_of_two_way_interactions(factors: int) -> None:
    fraction = smallest_fraction(factors)
    assert fraction.resolution >= 4
    assert fraction.arms < 4 * factors
    assert all(len(effect) == 2 or not others for effect, others in fraction.aliases().items())


def test_three_factors_have_a_half_and_two_have_no_fraction() -> None:
    assert smallest_fraction(3) == FractionalDesign(factors=3, base=2, generators=(3,))
    with pytest.raises(ValueError, match="a fraction for 2 factors"):
        smallest_fraction(2)
