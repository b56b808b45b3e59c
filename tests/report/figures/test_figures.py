"""What of a comparison is drawn, and when it is left out because nobody could know it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from tests.report.svg.parsed_svg import marks, titles, written

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.compare.evidence import Evidence
from outweigh.compare.inference import IntervalMethod, Population, infer
from outweigh.compare.judge_agreement import summarise_judges
from outweigh.compare.ladder import compare_tiers
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import UNKNOWN_COST, Component, ComponentTokens, reported_cost
from outweigh.report.comparison_tables import format_gate, total_evidence
from outweigh.report.document import Block, Figure, Report, Tone
from outweigh.report.figures.arm_overview import (
    component_figures,
    distribution_figures,
    frontier_figures,
    heat_map_figures,
    tier_figures,
)
from outweigh.report.figures.deltas import beyond_chance, metric_figures, task_change_figures, task_slope_figures
from outweigh.report.figures.gates import deciding_gate, main_gate_figures
from outweigh.report.figures.judge_reliability import judge_agreement_figures
from outweigh.report.figures.over_time import evidence_figures, spending_figures
from outweigh.report.json_output import JsonReporter
from outweigh.report.render_html import HtmlReporter
from outweigh.report.render_markdown import MarkdownReporter
from outweigh.report.render_text import TextReporter
from outweigh.stats.estimate import Estimate, Interval, Unit
from outweigh.testing.builders import a_judgment, a_run, evidence_of
from outweigh.verdict.decision import Verdict
from outweigh.verdict.evidence_policy import decide_by_evidence
from outweigh.verdict.evidence_settings import evidence_settings
from outweigh.verdict.gates_policy import decide_by_gates

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def runs(arm: str, seconds: float, *, tasks: int = 8, **fields: Any) -> list[RunRecord]:
    """Arms that differ in time, more so on some tasks than on others."""
    return [
        a_run(
            f"task-{task}",
            arm,
            repeat,
            passed=(task + repeat) % 3 > 0,
            duration_seconds=seconds * (1 + task % 5 / 50),
            **fields,
        )
        for task in range(tasks)
        for repeat in range(1, 6)
    ]


def both(evidence: Evidence) -> Comparison:
    return compare_arms(evidence, "slow", "fast")


def slow_and_fast(**fields: Any) -> Comparison:
    return both(evidence_of(runs("slow", 200, **fields), runs("fast", 100, **fields)))


def decided(comparison: Comparison, **settings: Any) -> Verdict:
    [verdict] = decide_by_evidence([comparison], evidence_settings(gates=("duration",), **settings))
    return verdict


def only(blocks: list[Block]) -> Figure:
    [picture] = blocks
    assert isinstance(picture, Figure)
    return picture


def test_the_deciding_gate_is_the_one_that_got_better() -> None:
    gate = deciding_gate(decided(slow_and_fast()))

    assert gate is not None
    assert gate.name == "duration"


def test_a_gate_has_one_bar_with_the_interval_that_the_sentence_has() -> None:
    verdict = decided(slow_and_fast())
    [gate] = verdict.gates
    assert gate.evidence is not None
    assert gate.evidence.total is not None

    picture = only(main_gate_figures(verdict.gates))

    assert len(marks(picture.draw(), "ow-band")) == 1
    assert format_gate(total_evidence(gate.evidence) or gate.evidence)[1] in " ".join(written(picture.draw()))


def test_a_rule_on_averages_has_no_bars() -> None:
    assert main_gate_figures(decide_by_gates(slow_and_fast()).gates) == []


def test_metrics_are_oriented_so_that_less_time_is_better() -> None:
    comparison = slow_and_fast()
    inference = infer(comparison, population=Population.TASKS, method=IntervalMethod.T, seed=0)

    picture = only(metric_figures(comparison, inference, set()))

    assert "duration better" in written(picture.draw())
    assert any(line.startswith("duration") and "●" in line for line in picture.text_chart)


def test_a_metric_that_a_gate_shows_has_no_second_interval() -> None:
    comparison = slow_and_fast()
    inference = infer(comparison, population=Population.TASKS, method=IntervalMethod.T, seed=0)

    everything = only(metric_figures(comparison, inference, set()))
    others = only(metric_figures(comparison, inference, {"duration_seconds"}))

    assert any(line.startswith("duration") for line in everything.text_chart)
    assert not any(line.startswith("duration") for line in others.text_chart)


def estimate_around(point: float, half: float, n: int = 20) -> Estimate:
    interval = Interval(low=point - half, high=point + half, level=0.95, method="t")
    return Estimate(point=point, interval=interval, standard_error=None, n=n, unit=Unit.TASK, method="t", warnings=())


def test_a_figure_that_stands_alone_is_held_to_its_own_interval() -> None:
    assert beyond_chance([estimate_around(1.0, 0.99)]) == [True]
    assert beyond_chance([estimate_around(1.0, 1.01)]) == [False]


def test_the_more_figures_there_are_the_clearer_a_change_must_be() -> None:
    # With 19 degrees of freedom, t is 2.093 for one figure and 3.174 for ten: the interval is 1.516 times as wide.
    assert beyond_chance([estimate_around(1.0, 0.66)] * 10) == [False] * 10
    assert beyond_chance([estimate_around(1.0, 0.65)] * 10) == [True] * 10


def test_every_task_has_its_passes_and_of_many_those_that_changed_most_are_shown() -> None:
    few, many = slow_and_fast(), both(evidence_of(runs("slow", 9, tasks=50), runs("fast", 9, tasks=50)))

    assert "3/5 → 3/5" in written(only(task_change_figures(few)).draw())
    assert "16 of 50 tasks" in only(task_change_figures(many)).title


def test_slopes_count_tasks_that_got_better_and_worse() -> None:
    titled = {picture.title: picture for picture in task_slope_figures(slow_and_fast()) if isinstance(picture, Figure)}

    assert titled["Duration of every task, slow to fast"].text_lines == ("8 tasks better, 0 worse, 0 the same",)
    assert titled["Pass rate of every task, slow to fast"].text_lines == ("0 tasks better, 0 worse, 8 the same",)


def test_what_nobody_knows_has_no_strip_and_no_slope() -> None:
    comparison = slow_and_fast(cost=UNKNOWN_COST)

    drawn = [*distribution_figures(comparison), *task_slope_figures(comparison)]
    assert all(isinstance(block, Figure) and "Cost" not in block.title for block in drawn)
    assert len(distribution_figures(comparison)) == 2


def test_cost_against_quality_needs_costs_and_names_what_nothing_beats() -> None:
    comparison = both(evidence_of(runs("slow", 9, cost=reported_cost(0.3)), runs("fast", 9, cost=reported_cost(0.1))))
    tables = [comparison.baseline_table, comparison.candidate_table]
    without = slow_and_fast(cost=UNKNOWN_COST)

    told = only(frontier_figures(tables, {})).text_lines
    assert any("fast" in words and "no other arm is both cheaper and at least as good" in words for words in told)
    assert frontier_figures([without.baseline_table, without.candidate_table], {}) == []


def test_the_heat_map_marks_flaky_tasks() -> None:
    comparison = slow_and_fast()

    picture = only(heat_map_figures([comparison.baseline_table, comparison.candidate_table]))
    assert any("flaky" in description for description in titles(picture.draw()))
    assert picture.text_lines == ("8 of 8 tasks are flaky in at least one arm",)


def timed(arm: str, seconds: float, offset: int) -> list[RunRecord]:
    return [
        a_run(
            run.trial.task_id,
            arm,
            run.trial.repeat,
            duration_seconds=run.duration_seconds,
            cost=run.cost,
            started_at=NOON + timedelta(minutes=2 * number + offset),
        )
        for number, run in enumerate(runs(arm, seconds))
    ]


def test_evidence_and_money_grow_in_the_order_of_the_runs() -> None:
    comparison = both(evidence_of(timed("slow", 200, 0), timed("fast", 100, 1)))

    grown = only(evidence_figures(decided(comparison, planned_tasks=8), comparison))
    spent = only(spending_figures([comparison.baseline_table, comparison.candidate_table]))

    assert "better after 8 tasks" in grown.text_lines[0]
    assert spent.text_lines == ("slow: $4.00 for 40 attempts", "fast: $4.00 for 40 attempts")
    assert len(marks(spent.draw(), "ow-path")) == 2


def test_evidence_that_was_looked_at_once_has_no_second_interval() -> None:
    comparison = both(evidence_of(timed("slow", 200, 0), timed("fast", 100, 1)))

    assert evidence_figures(decided(comparison), comparison) == []


def test_an_arm_that_knows_no_cost_has_not_spent_nothing() -> None:
    silent = [replace(run, cost=UNKNOWN_COST) for run in timed("fast", 100, 1)]

    comparison = both(evidence_of(timed("slow", 200, 0), silent))
    spent = only(spending_figures([comparison.baseline_table, comparison.candidate_table]))

    assert spent.text_lines == ("slow: $4.00 for 40 attempts", "fast: unknown for all 40 attempts")


def test_attempts_that_were_tried_again_are_in_what_was_spent() -> None:
    slow = timed("slow", 200, 0)
    failed = replace(slow[0], run_id="first-try", status=Status.INFRA_ERROR)
    again = replace(slow[0], attempt=2)

    comparison = both(evidence_of(failed, again, slow[1:], timed("fast", 100, 1)))
    spent = only(spending_figures([comparison.baseline_table, comparison.candidate_table]))

    assert spent.text_lines == ("slow: $4.10 for 41 attempts", "fast: $4.00 for 40 attempts")
    assert comparison.baseline.paid_usd.value == pytest.approx(4.1)
    assert comparison.baseline.total_cost_usd.value == pytest.approx(4.0)


def test_without_an_order_there_is_nothing_over_time() -> None:
    comparison = slow_and_fast()

    assert evidence_figures(decided(comparison, planned_tasks=8), comparison) == []
    assert spending_figures([comparison.baseline_table, comparison.candidate_table]) == []


def test_components_are_drawn_where_an_agent_exposes_them() -> None:
    ledger = (ComponentTokens(component=Component.TOOL_SCHEMA, input_tokens=30, output_tokens=10),)
    comparison = both(evidence_of(runs("slow", 9), runs("fast", 9, components=ledger)))

    picture = only(component_figures((comparison.baseline, comparison.candidate)))
    assert "1,600 tokens" in written(picture.draw())
    assert component_figures((comparison.baseline,)) == []


def test_judges_that_judged_twice_are_drawn() -> None:
    slow, fast = runs("slow", 9), runs("fast", 9)
    answers = [
        a_judgment(run, (place % 5) / 5, pass_index=number)
        for number in (1, 2)
        for place, run in enumerate(slow + fast)
    ]
    comparison = both(evidence_of(slow, fast, answers))

    picture = only(judge_agreement_figures(summarise_judges(comparison.judging)))
    assert "judge with itself" in written(picture.draw())
    assert judge_agreement_figures(None) == []


def test_the_ladder_is_drawn_where_tiers_have_composites() -> None:
    slow, fast = runs("slow", 9), runs("fast", 9)
    judged = evidence_of(slow, fast, [a_judgment(run, 0.9) for run in slow + fast])

    picture = only(tier_figures(compare_tiers(judged, ["slow", "fast"])))
    assert "0. slow" in written(picture.draw())
    assert tier_figures(compare_tiers(evidence_of(slow, fast), ["slow", "fast"])) == []


@pytest.mark.parametrize("tasks", [1, 2, 3])
def test_few_tasks_draw_what_they_can_and_never_break(tasks: int) -> None:
    comparison = both(evidence_of(runs("slow", 9, tasks=tasks), runs("fast", 9, tasks=tasks)))
    inference = infer(comparison, population=Population.TASKS, method=IntervalMethod.T, seed=0)

    drawn = [
        *metric_figures(comparison, inference, set()),
        *task_change_figures(comparison),
        *task_slope_figures(comparison),
        *distribution_figures(comparison),
        *heat_map_figures([comparison.baseline_table]),
    ]
    assert all(isinstance(picture, Figure) and "nan" not in picture.draw() for picture in drawn)


def test_only_a_format_that_shows_images_draws_a_figure() -> None:
    drawn: list[str] = []

    def draw() -> str:
        drawn.append("once")
        return "<svg></svg>"

    figure = Figure(title="f", draw=draw, caption="", text_lines=("a line",))
    report = Report(headline="h", tone=Tone.PLAIN, blocks=(figure,), payload={})
    for reporter in (TextReporter(colour=False), MarkdownReporter(), JsonReporter()):
        reporter.render(report)
    assert drawn == []

    assert "<svg></svg>" in HtmlReporter().render(report)
    assert drawn == ["once"]
