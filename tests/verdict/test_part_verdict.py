"""What verdicts about paired arms say about parts."""

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.stats import norm
from statsmodels.stats.multitest import multipletests
from tests.verdict.test_may_drop import COLLAPSE, a_verdict
from tests.verdict.two_arms import comparison, decide, experiment

from outweigh.verdict.decision import Decision, RequiredSample, Verdict
from outweigh.verdict.evidence_rule import alarm_p_value, alarmed_gates, examine_candidate
from outweigh.verdict.evidence_settings import ERROR_RATES, evidence_settings
from outweigh.verdict.part_verdict import FAMILY_ALARM, PairedArms, PartDecision, judge_parts
from outweigh.verdict.unusable import sample_gates


def pair(verdict: Verdict, *, part: str = "style", added: bool = False, sha: str = "a") -> PairedArms:
    return PairedArms(
        part=part,
        candidate=f"without-{part}",
        added=added,
        verdict=verdict,
        evidence_sha256=sha,
        tasks=20,
        repeats=3,
    )


def lost(p_value: float | None) -> Verdict:
    return replace(a_verdict(Decision.REGRESSED), alarm_p=p_value)


@pytest.mark.parametrize(
    ("decision", "left_out", "added"),
    [
        (Decision.REGRESSED, PartDecision.KEEP, PartDecision.HURTS),
        (Decision.NEUTRAL, PartDecision.DROP, PartDecision.DROP),
        (Decision.IMPROVED, PartDecision.HURTS, PartDecision.KEEP),
        (Decision.TRADE_OFF, PartDecision.NOT_KNOWN, PartDecision.NOT_KNOWN),
        (Decision.INCONCLUSIVE, PartDecision.NOT_KNOWN, PartDecision.NOT_KNOWN),
    ],
)
def test_a_part_that_is_left_out_and_one_that_is_added_read_the_same_verdict_the_other_way(
    decision: Decision, left_out: PartDecision, added: PartDecision
) -> None:
    verdict = replace(a_verdict(decision), alarm_p=0.001)

    assert judge_parts([pair(verdict)])[0].decision is left_out
    assert judge_parts([pair(verdict, added=True)])[0].decision is added


def test_only_a_clean_neutral_or_improved_of_an_arm_without_the_part_may_be_dropped() -> None:
    assert judge_parts([pair(a_verdict(Decision.NEUTRAL))])[0].may_drop
    assert judge_parts([pair(a_verdict(Decision.IMPROVED))])[0].may_drop
    assert not judge_parts([pair(a_verdict(Decision.NEUTRAL), added=True)])[0].may_drop
    assert not judge_parts([pair(a_verdict(Decision.NEUTRAL), sha="other")])[0].may_drop
    assert not judge_parts([pair(lost(1e-9))])[0].may_drop


def test_a_neutral_part_with_a_blocker_says_what_blocks_it() -> None:
    (found,) = judge_parts([pair(a_verdict(Decision.NEUTRAL, (COLLAPSE,), ("too few tasks.",)))])

    assert not found.may_drop
    assert found.blockers == (COLLAPSE.detail, "too few tasks.")


def test_losses_are_corrected_over_all_parts_by_holm() -> None:
    """By hand: of .004, .02 and .03 among four parts, Holm makes .016, .06 and .06; at 3 % only the first is kept."""
    losses = [0.02, 0.004, None, 0.03]
    pairs = [pair(lost(p) if p else a_verdict(Decision.NEUTRAL), part=f"p{place}") for place, p in enumerate(losses)]
    found = judge_parts(pairs)

    assert [each.decision for each in found] == [
        PartDecision.NOT_KNOWN,
        PartDecision.KEEP,
        PartDecision.DROP,
        PartDecision.NOT_KNOWN,
    ]
    assert [each.family_p for each in found] == [
        pytest.approx(0.06),
        pytest.approx(0.016),
        None,
        pytest.approx(0.06),
    ]
    assert "among 4 parts that do nothing is 6 %" in found[0].reason


def test_the_correction_is_that_of_statsmodels() -> None:
    losses = np.random.default_rng(3).uniform(0, 0.02, 8)
    found = judge_parts([pair(lost(float(p)), part=f"p{place}") for place, p in enumerate(losses)])
    theirs = multipletests(losses, alpha=FAMILY_ALARM, method="holm")

    assert [each.family_p for each in found] == pytest.approx(theirs[1].tolist())
    assert [each.decision is PartDecision.KEEP for each in found] == theirs[0].tolist()


def test_more_parts_never_make_a_loss_clearer() -> None:
    alone = judge_parts([pair(lost(0.01))])[0]
    crowd = judge_parts([pair(lost(0.01)), *(pair(a_verdict(Decision.NEUTRAL), part=f"p{n}") for n in range(7))])[0]

    assert (alone.decision, crowd.decision) == (PartDecision.KEEP, PartDecision.NOT_KNOWN)


def test_a_loss_without_a_p_value_is_not_known() -> None:
    assert judge_parts([pair(lost(None))])[0].decision is PartDecision.NOT_KNOWN


def test_what_it_would_take_comes_from_the_plan_of_the_rule() -> None:
    needs = RequiredSample(
        more_tasks=30, more_tasks_as_seen=None, more_repeats=4, cost_usd=1.5, in_the_way=None, detail=""
    )
    (found,) = judge_parts([pair(replace(a_verdict(Decision.INCONCLUSIVE), needs=needs))])

    assert found.need is not None
    assert (found.need.tasks, found.need.repeats, found.need.repeats_instead) == (50, 3, 7)
    assert judge_parts([pair(a_verdict(Decision.INCONCLUSIVE))])[0].need is None


def test_a_loss_that_is_not_clear_enough_asks_for_so_many_tasks_that_it_would_be() -> None:
    pairs = [pair(lost(0.02)), *(pair(a_verdict(Decision.NEUTRAL), part=f"p{n}") for n in range(7))]
    need = judge_parts(pairs)[0].need
    reach = norm.isf(FAMILY_ALARM / 8) + norm.ppf(0.8)

    assert need is not None
    assert need.tasks == int(np.ceil(20 * (reach / norm.isf(0.02)) ** 2))


@pytest.mark.parametrize("seed", range(12))
def test_the_p_value_of_alarms_is_at_most_the_sum_of_their_rates_exactly_where_one_is_raised(seed: int) -> None:
    compared = comparison(experiment(-0.09, cost_factor=1.1, tasks=20, repeats=3, seed=seed))
    tests = examine_candidate(sample_gates(compared, evidence_settings())).gates
    whole = ERROR_RATES.pass_rate_alarm + ERROR_RATES.resource_alarm + ERROR_RATES.task_alarm

    assert (alarm_p_value(tests, 1.0) <= whole) is any(alarmed_gates(tests))
    assert alarm_p_value(tests, ERROR_RATES.task_alarm) == pytest.approx(min(whole, alarm_p_value(tests, None)))


def test_a_regression_has_the_p_value_of_its_alarms_and_other_decisions_have_none() -> None:
    assert (decide(experiment(-0.3)).alarm_p or 1.0) < 1e-4
    assert decide(experiment(0.3)).alarm_p is None
