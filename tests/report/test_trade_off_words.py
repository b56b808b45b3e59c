"""A trade-off wherever decisions are listed: JUnit, the comment of a pull request, the words of people."""

import xml.etree.ElementTree as ET
from typing import Any

from tests.report.test_verdict_summary import decided
from tests.verdict.two_arms import experiment

from outweigh.app.decide import REQUIREMENTS
from outweigh.report.ci_outcome import CiOutcome, render_comment
from outweigh.report.render_junit import JunitReporter
from outweigh.report.verdict_page import DECISION_TONES, verdict_report
from outweigh.verdict.decision import Decision, GateState, PolicySource
from outweigh.verdict.promotion import may_promote


def cases(verdict: Any, comparison: Any) -> dict[str, str | None]:
    """The fault of every case of the JUnit document; None where there is none."""
    root = ET.fromstring(JunitReporter().render(verdict_report(verdict, comparison, PolicySource.DEFAULT)))
    faults = {case.get("name") or "": {child.tag for child in case} for case in root.iter("testcase")}
    return {name: next(iter(tags & {"failure", "error"}), None) for name, tags in faults.items()}


def test_a_trade_off_is_a_failure_and_so_is_the_gate_that_is_worse() -> None:
    verdict, comparison = decided(experiment(0.3, speed=1.4))

    found = cases(verdict, comparison)

    assert (found["verdict"], found["gate cost"], found["gate pass_rate"]) == ("failure", "failure", None)


def test_what_is_not_shown_is_an_error_where_nothing_is_decided() -> None:
    verdict, comparison = decided(experiment(0.0))
    not_shown = [gate.name for gate in verdict.gates if gate.state is GateState.NOT_SHOWN]

    found = cases(verdict, comparison)

    assert verdict.decision is Decision.INCONCLUSIVE
    assert not_shown
    assert all(found[f"gate {name}"] == "error" for name in not_shown)


def test_a_dearer_gate_is_no_fault_of_a_candidate_that_is_worth_its_money() -> None:
    verdict, comparison = decided(experiment(0.3, speed=1.4), value_usd=50.0)

    assert verdict.decision is Decision.IMPROVED
    assert set(cases(verdict, comparison).values()) == {None}


def test_a_trade_off_meets_no_requirement_and_promotes_nothing() -> None:
    verdict, _ = decided(experiment(0.3, speed=1.4))

    assert verdict.decision is Decision.TRADE_OFF
    assert all(Decision.TRADE_OFF not in decisions for decisions in REQUIREMENTS.values())
    assert not may_promote(verdict, verdict.evidence_sha256)


def test_a_comment_warns_of_a_trade_off() -> None:
    outcome = CiOutcome(
        decision="trade_off",
        may_promote=False,
        satisfied=False,
        headline="TRADE-OFF",
        delta=0.1,
        ci_low=0.05,
        ci_high=0.15,
        p_value=0.001,
        cost_usd=1.0,
        runs=10,
        reused_runs=0,
        ledger=None,
    )

    comment = render_comment(outcome, "", suite="s", headline="TRADE-OFF", notes="", run=None, link=None)

    assert "> [!WARNING]" in comment


def test_every_decision_has_a_tone_and_is_told_without_underscores() -> None:
    assert set(DECISION_TONES) == set(Decision)
    assert all("_" not in one.words for one in (*Decision, *GateState))
