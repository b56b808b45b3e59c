"""What may be spent at a planned look, and what can still be reached by the last one."""

from typing import Any

import numpy as np
import pytest
from msgspec.structs import asdict, replace
from scipy import stats

from outweigh.model.look_plan import LookPlan, plan_even_looks
from outweigh.verdict.evidence_rule import CandidateTests, apply_rule, examine_candidate
from outweigh.verdict.evidence_settings import ERROR_RATES, GATED_METRICS
from outweigh.verdict.gate_sample import GateSample
from outweigh.verdict.planned_looks import (
    Prospect,
    best_equivalence,
    best_p_value,
    look_rates,
    nominal_levels,
    overall_level,
    prospects,
)


def a_plan(tasks: int = 40) -> LookPlan:
    return plan_even_looks([f"t{number}" for number in range(tasks)], 5)


def gate(name: str, benefits: Any, unknown: str | None = None) -> GateSample:
    gated = GATED_METRICS[name]
    sample = GateSample(
        gated=gated,
        margin=gated.margin,
        tolerance=gated.tolerance,
        tasks=tuple(f"t{number}" for number in range(len(benefits))),
        benefits=np.asarray(benefits, dtype=np.float64),
        families=None,
        noise=None,
        unknown=unknown,
    )
    return sample if gated.tolerance is None else replace(sample, total=sample)


def around(mean: float, deviation: float, tasks: int = 20, seed: int = 1) -> np.ndarray:
    raw = np.random.default_rng(seed).normal(size=tasks)
    deltas: np.ndarray = mean + (raw - raw.mean()) / raw.std(ddof=1) * deviation
    return deltas


def prospect(*gates: GateSample, look: int | None = None, plan: LookPlan | None = None) -> Prospect:
    """What a candidate may reach that has these gates halfway through 40 tasks."""
    plan = plan or a_plan()
    place = plan.sizes.index(20) if look is None else look
    return prospects([examine_candidate(gates)], plan, place, ERROR_RATES, apply_rule)[0]


class TestLevels:
    def test_a_plan_with_one_look_has_the_usual_rates(self) -> None:
        rates = look_rates(a_plan(6), 0, ERROR_RATES)

        assert list(asdict(rates).values()) == pytest.approx(list(asdict(ERROR_RATES).values()), rel=1e-6)

    def test_every_rate_is_spent_over_the_looks(self) -> None:
        plan = a_plan()
        first, last = (look_rates(plan, look, ERROR_RATES) for look in (0, len(plan.sizes) - 1))

        for name, rate in asdict(ERROR_RATES).items():
            assert 0 < getattr(first, name) < getattr(last, name) < rate
            assert getattr(first, name) == pytest.approx(rate * (6 / 40) ** 2, rel=1e-6)

    def test_a_test_that_uses_the_levels_of_all_looks_errs_as_often_as_promised(self) -> None:
        plan = a_plan()
        levels = nominal_levels(plan.fractions, 0.05, plan.exponent)
        deltas = np.random.default_rng(2).normal(size=(20_000, 40))
        errs = np.zeros(len(deltas), dtype=bool)
        for size, level in zip(plan.sizes, levels, strict=True):
            errs |= stats.ttest_1samp(deltas[:, :size], 0, axis=1, alternative="greater").pvalue <= level

        assert errs.mean() == pytest.approx(0.05, abs=0.006)

    @pytest.mark.parametrize("look", [0, 7, 17])
    def test_the_p_value_over_all_looks_is_the_rate_at_which_the_look_would_just_reject(self, look: int) -> None:
        plan = a_plan()

        overall = overall_level(plan, look, nominal_levels(plan.fractions, 0.004, plan.exponent)[look])

        assert overall * 1.0001 >= 0.004
        assert overall == pytest.approx(0.004, rel=0.03)

    def test_what_is_no_evidence_at_a_look_is_none_over_all(self) -> None:
        assert overall_level(a_plan(), 3, 0.4) == 1.0


class TestBestPValues:
    def test_halfway_the_trend_of_nothing_leads_to_the_chance_itself(self) -> None:
        assert best_p_value(0.5, 0.5, 0.05) == pytest.approx(0.05)

    def test_a_trend_is_carried_on(self) -> None:
        # z = 1 after a quarter of the tasks is 2 at the end, give or take √3.
        expected = stats.norm.sf(2 + stats.norm.ppf(0.9) * np.sqrt(3))

        assert best_p_value(stats.norm.sf(1), 0.25, 0.1) == pytest.approx(expected)

    def test_at_the_last_look_and_where_nothing_is_known_nothing_changes(self) -> None:
        assert best_p_value(0.3, 1.0, 0.05) == 0.3
        assert best_p_value(None, 0.5, 0.05) is None
        assert (best_p_value(0.0, 0.5, 0.05), best_p_value(1.0, 0.5, 0.05)) == (0.0, 1.0)

    def test_it_is_reached_as_often_as_it_says(self) -> None:
        dice, share, z = np.random.default_rng(3), 0.4, 0.7
        drift = z / np.sqrt(share) + dice.normal(size=200_000) / np.sqrt(share)
        ends = z * np.sqrt(share) + drift * (1 - share) + dice.normal(size=200_000) * np.sqrt(1 - share)

        reached = stats.norm.sf(ends) <= best_p_value(stats.norm.sf(z), share, 0.15)

        assert reached.mean() == pytest.approx(0.15, abs=0.004)


class TestProspects:
    def test_a_gain_may_still_become_an_improvement(self) -> None:
        assert prospect(gate("pass_rate", around(0.1, 0.25)), gate("duration", around(0.0, 0.3))).improved

    def test_where_nothing_differs_much_it_is_futile_to_go_on(self) -> None:
        assert prospect(gate("pass_rate", around(0.0, 0.3)), gate("duration", around(0.0, 0.3))).futile

    def test_before_half_of_the_tasks_the_same_deltas_are_not_futile(self) -> None:
        plan = a_plan(400)

        assert not prospect(gate("pass_rate", around(0.0, 0.3)), plan=plan, look=0).futile

    def test_a_loss_may_still_become_a_regression(self) -> None:
        found = prospect(gate("pass_rate", around(-0.07, 0.3)), gate("duration", around(0.0, 0.3)))

        assert (found.improved, found.other) == (False, True)

    def test_a_dear_candidate_may_still_become_a_regression(self) -> None:
        found = prospect(gate("pass_rate", around(0.0, 0.3)), gate("cost", around(-0.25, 0.5)))

        assert (found.improved, found.other) == (False, True)

    def test_sameness_may_still_be_shown(self) -> None:
        found = prospect(gate("pass_rate", around(0.0, 0.1)), gate("duration", around(0.0, 0.1)))

        assert (found.improved, found.other) == (False, True)

    def test_sameness_is_out_of_reach_where_the_data_scatter_more_than_the_margin(self) -> None:
        # At the end of 40 tasks the margin of five points is 5 / (30 / √40) = 1.05 standard errors on either side.
        tests = examine_candidate([gate("pass_rate", around(0.0, 0.3))])
        (equal,) = (best_equivalence(claims, 0.05, 0.5) for claims in tests.gates[0].claims)

        assert equal == pytest.approx(stats.norm.sf(1.05), abs=0.01)

    def test_a_total_that_is_out_of_reach_ends_the_hope_for_an_improvement(self) -> None:
        dear = gate("cost", around(0.0, 0.2))
        runaway = replace(dear, total=replace(dear, benefits=around(-0.5, 0.8)))
        quality = gate("pass_rate", around(0.05, 0.3))

        assert prospect(quality, dear).improved
        assert not prospect(quality, runaway).improved

    def test_an_unknown_gate_may_be_known_at_the_next_look(self) -> None:
        assert prospect(gate("pass_rate", around(0.0, 0.3)), gate("duration", around(0.0, 0.3), "too few")).improved

    def test_few_tasks_that_differ_do_not_end_a_gain(self) -> None:
        three = [0.2, 0.4, 0.4, *[0.0] * 17]

        assert prospect(gate("pass_rate", three), gate("duration", around(0.2, 0.3))).improved

    def test_the_more_candidates_the_less_can_be_reached(self) -> None:
        tests = examine_candidate([gate("pass_rate", around(0.06, 0.35)), gate("duration", around(0.0, 0.3))])
        absent = CandidateTests(gates=(), gain=None)
        place = a_plan().sizes.index(20)

        alone, *_ = prospects([tests], a_plan(), place, ERROR_RATES, apply_rule)
        many, *_ = prospects([tests, *[absent] * 200], a_plan(), place, ERROR_RATES, apply_rule)

        assert (alone.improved, many.improved) == (True, False)
