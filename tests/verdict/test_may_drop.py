"""Which verdicts allow parts to be deleted."""

from itertools import product

from outweigh.verdict.decision import Decision, Regression, RegressionKind, Verdict
from outweigh.verdict.promotion import drop_refusals, may_drop, may_promote

COLLAPSE = Regression(kind=RegressionKind.OBJECTIVE_DROP, task_id="t", detail="objective fell from 1.00 to 0.00")


def a_verdict(decision: Decision, regressions: tuple[Regression, ...] = (), blockers: tuple[str, ...] = ()) -> Verdict:
    return Verdict(
        policy="evidence",
        decision=decision,
        seed_wording="",
        reasons=(),
        warnings=(),
        gates=(),
        regressions=regressions,
        blockers=blockers,
        needs=None,
        settings={},
        evidence_sha256="a",
    )


CASES = tuple(product(Decision, ((), (COLLAPSE,)), ((), ("too few tasks.",)), ("a", "b")))


def test_only_a_clean_neutral_or_improved_over_unchanged_evidence_may_be_dropped() -> None:
    allowed = [case for case in CASES if may_drop(a_verdict(*case[:3]), case[3])]

    assert allowed == [(Decision.IMPROVED, (), (), "a"), (Decision.NEUTRAL, (), (), "a")]


def test_a_promotion_is_still_for_improvements_alone() -> None:
    assert [case[0] for case in CASES if may_promote(a_verdict(*case[:3]), case[3])] == [Decision.IMPROVED]


def test_there_is_a_reason_exactly_where_a_deletion_is_not_allowed() -> None:
    for case in CASES:
        verdict = a_verdict(*case[:3])
        assert (drop_refusals(verdict, case[3]) == ()) is may_drop(verdict, case[3])


def test_every_reason_is_named() -> None:
    assert drop_refusals(a_verdict(Decision.REGRESSED, (COLLAPSE,), ("too few tasks.",)), "b") == (
        "the arm without them is regressed, not neutral or improved.",
        "objective_drop on task 't': objective fell from 1.00 to 0.00",
        "too few tasks.",
        "the records have changed since the verdict. Decide again.",
    )
    assert drop_refusals(a_verdict(Decision.TRADE_OFF), "a") == (
        "the arm without them is trade-off, not neutral or improved.",
    )
