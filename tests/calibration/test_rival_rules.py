"""The rules that others use, against independent implementations."""

from collections.abc import Callable

import numpy as np
import pytest
from calibration.missing_cells import without_dearest_costs, without_dearest_runs, without_failed_runs
from calibration.records import comparison_of
from calibration.rival_rules import (
    Answers,
    Batch,
    batch,
    bca_interval,
    by_bootstrap,
    by_composite,
    by_delta,
    by_gates,
    by_mcnemar,
    by_pooled_fisher,
    fisher_two_sided,
)
from calibration.worlds import NULLS, SMALL_WIN, TRAP, WIN, Draw, draw
from scipy import stats

from outweigh.compare.comparison import Comparison
from outweigh.verdict.composite_policy import CompositeThresholds, decide_by_composite
from outweigh.verdict.decision import Decision, Verdict
from outweigh.verdict.gates_policy import decide_by_gates


def literal_composite(comparison: Comparison) -> Verdict:
    return decide_by_composite(comparison, CompositeThresholds())


def experiments() -> list[Draw]:
    dice = np.random.default_rng(21)
    return [draw(world, 6, 3, dice) for world in (NULLS[0], SMALL_WIN, WIN) for _ in range(12)]


def with_passes(before: list[list[float]], after: list[list[float]]) -> Draw:
    """An experiment with these passes (runs × tasks) and the same resources in both arms."""
    shape = np.shape(before)
    same = (np.zeros(shape), np.zeros(shape))
    return Draw(passes=(np.array(before), np.array(after)), times=same, tokens=same, costs=same, families=None)


@pytest.mark.parametrize(("rule", "policy"), [(by_gates, decide_by_gates), (by_composite, literal_composite)])
def test_the_literal_rules_decide_as_the_policies_do_about_records(
    rule: Callable[[Batch], Answers], policy: Callable[[Comparison], Verdict]
) -> None:
    answer = {Decision.IMPROVED: 1, Decision.REGRESSED: -1}
    expected = [answer.get(policy(comparison_of(each)).decision, 0) for each in experiments()]

    assert rule(batch(experiments())).tolist() == expected
    assert {1, -1} <= set(expected)


@pytest.mark.parametrize("passes", [(0, 0), (3, 9), (10, 10), (0, 5), (12, 1), (25, 14), (25, 25)])
def test_fishers_test_agrees_with_scipy(passes: tuple[int, int]) -> None:
    before, after = passes
    expected = stats.fisher_exact([[before, 25 - before], [after, 25 - after]]).pvalue

    assert fisher_two_sided(25, before, after) == pytest.approx(expected)


def test_the_bca_interval_is_the_one_of_r() -> None:
    sample = np.array([10, 12, 12.5, 12.5, 13.9, 15, 21, 22, 23, 34, 50, 81, 89, 121, 134, 213])
    resampled = np.random.default_rng(22).choice(sample, (50_000, len(sample))).mean(axis=1)
    jackknife = (sample.sum() - sample) / (len(sample) - 1)

    low, high = bca_interval(resampled[None], sample[None].mean(axis=1), jackknife[None])

    assert (low[0], high[0]) == pytest.approx((32.31, 91.43), rel=0.02)


def test_tests_on_runs_are_two_sided_and_know_the_direction() -> None:
    none, most = [[0.0] * 6], [[1.0] * 6]

    many = batch([with_passes(none, most), with_passes(most, none), with_passes(none, none)])

    for rule in (by_delta, by_pooled_fisher, by_mcnemar):
        assert rule(many).tolist() == [1, -1, 0]


def test_mcnemar_needs_six_pairs_that_all_agree() -> None:
    none = [[0.0] * 6]
    many = batch([with_passes(none, [[1.0] * 5 + [0.0]]), with_passes(none, [[1.0] * 6])])

    assert by_mcnemar(many).tolist() == [0, 1]


def test_the_bootstrap_with_margins_finds_a_win_and_a_trap_and_nothing_in_equal_arms() -> None:
    dice = np.random.default_rng(23)

    found = [by_bootstrap(batch([draw(world, 100, 5, dice) for _ in range(20)])) for world in (WIN, TRAP, NULLS[4])]

    assert (found[0] == 1).mean() > 0.9
    assert (found[1] == -1).mean() > 0.7
    assert (found[2] == 0).mean() > 0.8


def test_missing_values_are_the_dearest_costs_the_dearest_runs_or_failed_runs() -> None:
    whole = draw(NULLS[0], 40, 5, np.random.default_rng(24))
    costs, passes = whole.costs[1], whole.passes[1]

    unknown = np.isnan(without_dearest_costs(whole).costs[1])
    lost = np.isnan(without_dearest_runs(whole).passes[1])
    failed = np.isnan(without_failed_runs(whole).passes[1])

    assert (unknown.sum(), lost.sum(), failed.sum()) == (10, 30, 30)
    assert costs[unknown].min() > costs[~unknown].max()
    assert costs[lost].min() > costs[~lost].max()
    assert (passes[failed] == 0).all()
    assert np.array_equal(without_failed_runs(whole).passes[0], whole.passes[0])


def test_lost_runs_have_no_record_and_unknown_costs_are_unknown() -> None:
    whole = draw(NULLS[0], 20, 5, np.random.default_rng(25))

    poorer = comparison_of(without_dearest_costs(whole)).candidate_table
    shorter = comparison_of(without_failed_runs(whole)).candidate_table

    assert (len(poorer.runs), int(np.isnan(poorer.columns["cost_usd"]).sum())) == (100, 5)
    assert len(shorter.runs) == 85
