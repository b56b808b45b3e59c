"""Main effects and interactions: by hand, by properties, and by statsmodels and scipy."""

from itertools import product

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from outweigh.stats.effects import EffectContrasts, Term, effect_contrasts, estimate_effects, task_effects

TWO_BY_TWO = [[True, True], [True, False], [False, True], [False, False]]


def full(factors: int) -> list[list[bool]]:
    return [list(levels) for levels in product((True, False), repeat=factors)]


def leave_one_out(factors: int) -> list[list[bool]]:
    return [[True] * factors, *([place != left for place in range(factors)] for left in range(factors))]


def plackett_burman_12() -> list[list[bool]]:
    row = [sign == "+" for sign in "++-+++---+-"]
    return [*([row[(place - shift) % 11] for place in range(11)] for shift in range(11)), [False] * 11]


def names(found: EffectContrasts) -> list[tuple[tuple[int, ...], ...]]:
    return [tuple(term.factors for term in contrast.terms) for contrast in found.contrasts]


def test_a_two_by_two_design_by_hand() -> None:
    """Task 1 passes .9, .5, .6, .4: A is (.9+.5)/2 - (.6+.4)/2 = .2, B .3, and A×B ((.9-.6) - (.5-.4))/2 = .1."""
    found = effect_contrasts(TWO_BY_TWO)
    assert names(found) == [((0,),), ((1,),), ((0, 1),)]
    assert task_effects([[0.9, 0.5, 0.6, 0.4]], found.contrasts) == pytest.approx(np.array([[0.2, 0.3, 0.1]]))
    estimated = estimate_effects([[0.9, 0.5, 0.6, 0.4], [0.5, 0.5, 0.5, 0.5]], found.contrasts)
    assert [each.estimate for each in estimated.contrasts] == pytest.approx([0.1, 0.15, 0.05])


def test_leaving_one_out_estimates_what_is_lost_without_the_part() -> None:
    found = effect_contrasts(leave_one_out(3))
    assert names(found) == [((0,),), ((1,),), ((2,),)]
    assert found.not_estimated == ((0, 1), (0, 2), (1, 2))
    assert not any(contrast.clear for contrast in found.contrasts)
    assert task_effects([[0.8, 0.5, 0.9, 0.8]], found.contrasts)[0] == pytest.approx([0.3, -0.1, 0.0])


def test_an_arm_without_two_parts_together_tells_their_interaction() -> None:
    found = effect_contrasts([*leave_one_out(3), [False, False, True]])
    assert names(found) == [((0,),), ((1,),), ((2,),), ((0, 1),)]
    # Without each alone nothing is lost, without both everything: half of the change of the one's effect is -.4.
    assert task_effects([[0.8, 0.8, 0.8, 0.8, 0.0]], found.contrasts)[0, 3] == pytest.approx(-0.4)


def test_a_half_fraction_shows_each_main_effect_with_its_alias() -> None:
    half = [row for row in full(3) if row[2] == (row[0] == row[1])]
    found = effect_contrasts(half)
    assert names(found) == [((0,), (1, 2)), ((1,), (0, 2)), ((2,), (0, 1))]
    assert all(term.sign == 1 for contrast in found.contrasts for term in contrast.terms)
    assert found.not_estimated == ()
    other = effect_contrasts([row for row in full(3) if row[2] != (row[0] == row[1])])
    assert other.contrasts[0].terms == (Term(factors=(0,)), Term(factors=(1, 2), sign=-1))


def test_a_resolution_four_fraction_keeps_main_effects_clear_and_pairs_of_interactions_together() -> None:
    found = effect_contrasts([row for row in full(4) if sum(row) % 2 == 0])
    assert names(found)[:4] == [((0,),), ((1,),), ((2,),), ((3,),)]
    assert names(found)[4:] == [((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2))]
    assert all(contrast.clear for contrast in found.contrasts)


def test_a_screen_of_twelve_arms_estimates_main_effects_and_says_that_they_are_not_clear() -> None:
    found = effect_contrasts([row[:8] for row in plackett_burman_12()])
    assert names(found) == [((place,),) for place in range(8)]
    assert len(found.not_estimated) == 28
    assert not found.ranking_only
    assert not any(contrast.clear for contrast in found.contrasts)


def test_fewer_arms_than_effects_only_rank() -> None:
    found = effect_contrasts([row[:8] for row in plackett_burman_12()][:6])
    assert found.ranking_only
    assert len(found.contrasts) == 8
    signs = np.array([row[:8] for row in plackett_burman_12()][:6])
    weights = np.array(found.contrasts[2].weights)
    assert weights[signs[:, 2]].sum() == pytest.approx(1.0)
    assert weights[~signs[:, 2]].sum() == pytest.approx(-1.0)


def test_a_part_of_every_arm_has_no_effect() -> None:
    found = effect_contrasts([[True, True], [True, False]])
    assert names(found) == [((1,),)]


@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_levels_of_tasks_change_no_effect_and_the_order_of_arms_does_not_matter(factors: int, seed: int) -> None:
    dice = np.random.default_rng(seed)
    levels = np.array(full(factors))
    means, shift, order = dice.random((5, len(levels))), dice.random((5, 1)), dice.permutation(len(levels))
    expected = task_effects(means, effect_contrasts(levels).contrasts)
    assert task_effects(means + shift, effect_contrasts(levels).contrasts) == pytest.approx(expected)
    assert task_effects(means[:, order], effect_contrasts(levels[order]).contrasts) == pytest.approx(expected)


@given(st.integers(0, 2**32 - 1))
def test_calling_in_out_and_out_in_turns_the_signs(seed: int) -> None:
    levels, means = np.array(full(3)), np.random.default_rng(seed).random((4, 8))
    before = task_effects(means, effect_contrasts(levels).contrasts)
    turned = task_effects(means, effect_contrasts(~levels).contrasts)
    assert turned[:, :3] == pytest.approx(-before[:, :3])
    assert turned[:, 3:] == pytest.approx(before[:, 3:])


@pytest.mark.parametrize("levels", [full(3), leave_one_out(5), [row[:8] for row in plackett_burman_12()]])
def test_effects_are_twice_the_coefficients_of_statsmodels(levels: list[list[bool]]) -> None:
    found = effect_contrasts(levels)
    signs = np.where(np.array(levels), 1.0, -1.0)
    columns = [signs[:, contrast.terms[0].factors].prod(axis=1) for contrast in found.contrasts]
    means = np.random.default_rng(7).random((6, len(levels)))
    fitted = [sm.OLS(task, np.column_stack([np.ones(len(levels)), *columns])).fit().params[1:] for task in means]
    assert task_effects(means, found.contrasts) == pytest.approx(2 * np.array(fitted))


def test_the_interval_of_one_effect_is_that_of_scipy_over_task_effects() -> None:
    levels = np.array(full(3))
    means = np.random.default_rng(11).random((12, 8))
    contrasts = effect_contrasts(levels).contrasts
    found = estimate_effects(means, contrasts)
    for place, each in enumerate(found.contrasts):
        theirs = scipy.stats.ttest_1samp(task_effects(means, contrasts)[:, place], 0.0)
        low, high = theirs.confidence_interval(0.95)
        assert each.interval is not None
        assert each.simultaneous is not None
        assert (each.interval.low, each.interval.high) == pytest.approx((low, high))
        assert each.p_value == pytest.approx(theirs.pvalue)
        assert each.simultaneous.low < each.interval.low < each.interval.high < each.simultaneous.high


def test_families_of_tasks_are_units() -> None:
    """Twelve tasks that are four tasks three times over tell as much as four."""
    means = np.random.default_rng(5).random((4, 4))
    contrasts = effect_contrasts(TWO_BY_TWO).contrasts
    thrice = estimate_effects(np.repeat(means, 3, axis=0), contrasts, families=[place // 3 for place in range(12)])
    once = estimate_effects(means, contrasts)
    assert thrice.units == 4
    for one, three in zip(once.contrasts, thrice.contrasts, strict=True):
        assert three.estimate == pytest.approx(one.estimate)
        assert three.standard_error == pytest.approx(one.standard_error)
