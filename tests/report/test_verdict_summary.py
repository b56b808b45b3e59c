"""The answer on one screen: a sentence that anybody understands, gates as bars, what blocks, what next."""

from typing import Any

import pytest
from tests.verdict.two_arms import experiment

from outweigh.compare.comparison import compare_arms
from outweigh.report.comparison_tables import arms_table, format_chance
from outweigh.report.render_markdown import MarkdownReporter
from outweigh.report.render_text import SCREEN_WIDTH, TextReporter
from outweigh.report.verdict_page import verdict_report
from outweigh.report.verdict_summary import verdicts_summary
from outweigh.testing.builders import evidence_of
from outweigh.verdict.decision import Decision, PolicySource
from outweigh.verdict.evidence_policy import decide_by_evidence
from outweigh.verdict.evidence_settings import evidence_settings

SCREEN_HEIGHT = 24


def decided(records: Any, **settings: Any) -> Any:
    comparison = compare_arms(evidence_of(records), "old", "new")
    (verdict,) = decide_by_evidence([comparison], evidence_settings(**settings))
    return verdict, comparison


def brief(verdict: Any, comparison: Any) -> str:
    return TextReporter(colour=False).render(verdicts_summary([verdict], [comparison], PolicySource.DEFAULT))


@pytest.mark.parametrize(
    ("decision", "gain", "speed", "tasks", "value"),
    [
        (Decision.IMPROVED, 0.25, 0.9, 40, None),
        (Decision.REGRESSED, -0.25, 0.7, 40, None),
        (Decision.INCONCLUSIVE, 0.0, 1.0, 12, None),
        (Decision.TRADE_OFF, 0.3, 1.4, 40, None),
        (Decision.IMPROVED, 0.3, 1.4, 40, 50.0),
    ],
)
def test_every_decision_fits_one_screen(
    decision: Decision, gain: float, speed: float, tasks: int, value: float | None
) -> None:
    verdict, comparison = decided(experiment(gain, speed=speed, tasks=tasks), value_usd=value)
    lines = brief(verdict, comparison).splitlines()

    assert verdict.decision is decision
    assert len(lines) <= SCREEN_HEIGHT
    assert max(map(len, lines)) <= SCREEN_WIDTH
    assert lines[0].startswith(decision.words.upper())


def test_a_trade_off_tells_both_halves_and_the_price_of_one_more_solved_task() -> None:
    text = " ".join(brief(*decided(experiment(0.3, speed=1.4))).split())

    assert "points more often (" in text
    assert "% more per run" in text
    assert "TRADE-OFF" in text
    assert "trade_off" not in text
    assert "--value USD" in text


def test_both_the_typical_run_and_the_total_of_every_resource_are_shown_with_the_state_of_the_gate() -> None:
    text = brief(*decided(experiment(0.0, tasks=12)))

    for resource in ("duration", "non_cache_tokens", "cost"):
        assert f"{resource}, typical" in text
        assert f"{resource}, total" in text
    assert "not shown" in text
    assert "fails" not in text
    assert "not_shown" not in text


def test_an_inconclusive_answer_names_the_gate_in_the_way_and_the_way_to_a_decision() -> None:
    verdict, comparison = decided(experiment(0.0, tasks=12))
    text = " ".join(brief(verdict, comparison).split())

    assert verdict.in_the_way is not None
    assert f"Undecided {verdict.in_the_way.detail}" in text
    assert "to decide, you would need" in text


def test_what_is_generalised_to_is_said_once_and_in_full() -> None:
    verdict, comparison = decided(experiment(0.0, tasks=12))

    assert brief(verdict, comparison).count("tasks like these") == 1
    assert "tasks like these 12" in " ".join(brief(verdict, comparison).split())


def test_an_effect_of_unknown_sign_is_told_as_a_range() -> None:
    text = " ".join(brief(*decided(experiment(0.0))).split())

    assert "new passes between " in text
    assert " points more often, for " in text


def test_several_candidates_each_get_a_block_and_share_one_closing() -> None:
    verdict, comparison = decided(experiment(0.25, speed=0.9))
    report = verdicts_summary([verdict, verdict], [comparison, comparison], PolicySource.DEFAULT)
    text = TextReporter(colour=False).render(report)

    assert text.count("IMPROVED  new against old") == 2
    assert text.count("Applies to") == 1
    assert text.count("--verbose") == 1


def test_key_points_are_a_list_in_markdown() -> None:
    verdict, comparison = decided(experiment(0.25, speed=0.9))
    page = MarkdownReporter().render(verdicts_summary([verdict], [comparison], PolicySource.DEFAULT))

    assert "- **Promotion:** allowed" in page


def test_the_whole_page_has_the_chances_and_both_means_of_every_resource() -> None:
    verdict, comparison = decided(experiment(0.25, speed=0.9))
    text = TextReporter(colour=False).render(verdict_report(verdict, comparison, PolicySource.DEFAULT))

    assert "chance better" in text
    assert "chance of a gain if repeated" in text
    assert "cost, typical run" in text
    assert "geometric means" in text


def test_nothing_is_better_or_worse_that_looks_the_same() -> None:
    _, comparison = decided(experiment(0.0, speed=1 + 1e-7))
    rows = arms_table(comparison.baseline, comparison.candidate).rows

    assert all(row[3] == "~" for row in rows if row[1] == row[2] and row[3])


@pytest.mark.parametrize(
    ("chance", "words"),
    [(None, "unknown"), (0.999, "more than 99 %"), (0.97, "97 %"), (0.012, "1 %"), (0.004, "less than 1 %")],
)
def test_no_chance_is_a_certainty(chance: float | None, words: str) -> None:
    assert format_chance(chance) == words
