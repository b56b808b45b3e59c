"""The levels of a ledger of verdicts, and the p-value that is held to them."""

from itertools import accumulate

import numpy as np
import pytest
from calibration.ledger_cells import gain_p, power_readings, repository_readings
from calibration.worlds import NULLS, SMALL_WIN, WIN, draw
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy import stats

from outweigh.verdict.decision import Chances, Decision, Gate, GateEvidence, GateState, Verdict
from outweigh.verdict.promotion_ledger import error_left, power_left, promotion_level, promotion_p


def a_verdict(decision: Decision, superiority_p: float | None, *superior: float | None) -> Verdict:
    gates = tuple(
        Gate(
            name=f"gate-{place}",
            state=GateState.HOLDS,
            baseline=None,
            candidate=None,
            detail="",
            evidence=GateEvidence(
                scale="points",
                margin=0.05,
                tolerance=None,
                effect=None,
                low=None,
                high=None,
                geometric_means=None,
                total=None,
                chances=Chances(better=None, worse_beyond_margin=None, gain_if_repeated=None),
                tasks=9,
                p_values={"superior": p_value},
            ),
        )
        for place, p_value in enumerate(superior)
    )
    return Verdict(
        policy="evidence",
        decision=decision,
        seed_wording=decision.value,
        reasons=(),
        warnings=(),
        gates=gates,
        regressions=(),
        blockers=(),
        needs=None,
        settings={},
        evidence_sha256="0" * 64,
        superiority_p=superiority_p,
    )


def test_the_levels_by_hand() -> None:
    assert promotion_level(0) == pytest.approx(0.1 / 51)
    assert promotion_level(1) == pytest.approx(0.1 * 50 / (51 * 52))
    assert promotion_level(99) == pytest.approx(0.1 * 50 / (149 * 150))
    assert (error_left(0), error_left(50)) == pytest.approx((0.1, 0.05))


@given(st.lists(st.floats(0, 1), max_size=300))
def test_whatever_happens_no_more_than_a_tenth_is_spent_and_a_promotion_spends_nothing(p_values: list[float]) -> None:
    unpromoted, spent = 0, 0.0
    for p_value in p_values:
        level = promotion_level(unpromoted)
        if p_value > level:
            unpromoted, spent = unpromoted + 1, spent + level
        assert promotion_level(unpromoted) <= level
    assert spent == pytest.approx(0.1 - error_left(unpromoted))
    assert spent < 0.1


@pytest.mark.parametrize("dependence", ["independent", "equal", "opposite"])
@pytest.mark.parametrize("wins", [0, 3])
def test_any_false_promotion_is_rarer_than_one_in_ten_however_p_values_depend(dependence: str, wins: int) -> None:
    random, repositories, false = np.random.default_rng(1), 4_000, 0
    for _ in range(repositories):
        one = random.random()
        draws = {
            "independent": random.random(100),
            "equal": np.full(100, one),
            "opposite": np.where(np.arange(100) % 2, one, 1 - one),
        }[dependence]
        unpromoted, is_false = 0, False
        for place, p_value in enumerate(draws):
            is_win = wins and place % wins == 0
            promoted = is_win or p_value <= promotion_level(unpromoted)
            unpromoted += not promoted
            is_false |= bool(promoted and not is_win)
        false += is_false

    assert false <= stats.binom.ppf(0.999, repositories, 0.1)


def test_levels_that_forgot_what_was_spent_would_break_the_promise() -> None:
    """Ten per cent of a hundred verdicts, each at the level of the first: what the steps are for."""
    assert 1 - (1 - promotion_level(0)) ** 100 > 0.15
    assert list(accumulate(promotion_level(n) for n in range(100)))[-1] < 0.1


def test_the_power_left_is_that_of_a_normal_test() -> None:
    shift = stats.norm.ppf(0.8) + stats.norm.ppf(0.98)

    assert power_left(0.02) == pytest.approx(0.8)
    assert power_left(0.001) == pytest.approx(stats.norm.sf(stats.norm.ppf(0.999) - shift))


def test_the_p_value_of_an_improvement_is_the_one_that_the_rule_states() -> None:
    assert promotion_p(a_verdict(Decision.IMPROVED, 0.003, 0.2)) == 0.003


def test_version_1_of_the_rule_states_none_so_it_is_the_smallest_of_the_gates_after_holm() -> None:
    assert promotion_p(a_verdict(Decision.IMPROVED, None, 0.004, 0.2, None)) == pytest.approx(0.012)


@pytest.mark.parametrize("decision", [each for each in Decision if each is not Decision.IMPROVED])
def test_what_did_not_improve_has_none(decision: Decision) -> None:
    assert promotion_p(a_verdict(decision, None, 0.001)) is None


def test_a_literal_rule_has_none() -> None:
    assert promotion_p(replace(a_verdict(Decision.IMPROVED, None), policy="gates")) is None


# 15 repositories of 100 pull requests; a rule that promotes falsely in 35 % of them would be caught 9 times in 10.
def test_a_hundred_useless_pull_requests_rarely_promote_any() -> None:
    found = repository_readings(NULLS[1], (20, 5), True, 0, 15, 1)

    assert found["any false promotion"].value <= 0.21


def test_real_gains_are_still_promoted_as_number_one_hundred() -> None:
    win = power_readings(WIN, 50, 5, 40, 1)
    small = power_readings(SMALL_WIN, 100, 5, 60, 1)

    assert win["promoted as number 100"].value > 0.9
    assert small["promoted as number 10"].value > small["promoted as number 100"].value > 0.5


def test_the_p_value_of_a_simulated_improvement_is_within_the_level_of_the_rule() -> None:
    random = np.random.default_rng(2)
    found = [p for _ in range(20) if (p := gain_p(draw(WIN, 50, 5, random))) is not None]

    assert found
    assert max(found) <= 0.02
