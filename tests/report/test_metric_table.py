from typing import get_args

import pytest
from msgspec.structs import replace

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.compare.inference import Inference, IntervalMethod, Population, infer
from outweigh.model.usage import Usage
from outweigh.report.axis import UNIT_TICKS
from outweigh.report.comparison_page import comparison_report
from outweigh.report.document import Report, Table
from outweigh.report.figures.deltas import metric_figures
from outweigh.report.formatting import UNIT_FORMATS
from outweigh.report.render_csv import COST_ENDS, CsvReporter, run_columns, run_rows
from outweigh.report.render_html import HtmlReporter
from outweigh.report.render_text import TextReporter
from outweigh.report.report_folds import ReportedCandidate
from outweigh.report.report_page import Provenance, candidates_report
from outweigh.score.metrics import METRICS, Metric, MetricUnit, reported
from outweigh.testing.builders import evidence_of, runs_of_arm
from outweigh.verdict.decision import PolicySource
from outweigh.verdict.policy import decide

ONE_MORE = Metric(
    name="tokens_of_this_test",
    formula=lambda run: reported(run.record.usage.output_tokens),
    unit="count",
    better=-1,
    title="tokens of this test",
    delta="delta_of_this_test",
)
PROVENANCE = Provenance(
    outweigh_version="0",
    command="outweigh report",
    suite=None,
    baseline="before",
    policy_from=PolicySource.DEFAULT,
    profile="objective_first",
    infer="tasks",
    seed=0,
    evidence_sha256="",
)
IDENTITY = ("run_id", "task_id", "arm", "repeat", "attempt", "status", "cost_provenance", *COST_ENDS)
TABLES = pytest.mark.parametrize("metrics", [METRICS, (*METRICS, ONE_MORE)], ids=["built-in", "one more"])


def with_output(tokens: int) -> Usage:
    return Usage(input_tokens=10, output_tokens=tokens, cache_read_tokens=0, cache_write_tokens=0)


def compared_by(metrics: tuple[Metric, ...]) -> Comparison:
    before = runs_of_arm("before", [[True, False], [True, True]], usage=with_output(400))
    after = runs_of_arm("after", [[True, True], [True, True]], usage=with_output(300))
    return compare_arms(evidence_of(before, after, metrics=metrics), "before", "after")


def page_by(metrics: tuple[Metric, ...]) -> Report:
    comparison = compared_by(metrics)
    return comparison_report(comparison, inferred(comparison))


def reported_by(metrics: tuple[Metric, ...]) -> Report:
    comparison = compared_by(metrics)
    (verdict,) = decide([comparison], "gates", {})
    candidate = ReportedCandidate(comparison=comparison, inference=inferred(comparison), panel=None, verdict=verdict)
    return candidates_report([candidate], PROVENANCE, "runs")


def inferred(comparison: Comparison) -> Inference:
    return infer(comparison, population=Population.TASKS, method=IntervalMethod.T, seed=0)


@TABLES
def test_the_json_has_exactly_the_metrics_of_the_table(metrics: tuple[Metric, ...]) -> None:
    payload = page_by(metrics).payload

    assert list(payload["deltas"]) == [metric.delta for metric in metrics]
    assert all(list(arm["metrics"]) == [metric.name for metric in metrics] for arm in payload["arms"].values())


@TABLES
def test_the_page_of_compare_shows_every_metric_or_says_that_it_was_not_recorded(metrics: tuple[Metric, ...]) -> None:
    page = page_by(metrics)

    (deltas,) = [block for block in page.blocks if isinstance(block, Table) and "Paired deltas" in block.title]
    (missing,) = [line for line in TextReporter(colour=False).render(page).splitlines() if "not recorded in" in line]
    unrecorded = missing.split("either arm: ")[1].rstrip(".").split(", ")
    assert sorted([row[0] for row in deltas.rows] + unrecorded) == sorted(metric.title for metric in metrics)


@TABLES
def test_the_csv_of_runs_has_the_metrics_of_a_single_run_and_what_follows_from_them(
    metrics: tuple[Metric, ...],
) -> None:
    scores = evidence_of(runs_of_arm("a", [[True]], usage=with_output(300)), metrics=metrics).arm("a")

    of_a_run = [metric.name for metric in metrics if metric.formula is not None]
    of_a_run += ["cost_of_pass_usd", "composite_even"]
    assert [column for column in run_columns(metrics) if column not in IDENTITY] == of_a_run
    assert {len(row) for row in run_rows(scores, metrics)} == {len(of_a_run) + len(IDENTITY)}


@TABLES
def test_the_csv_of_a_report_has_a_row_for_every_metric(metrics: tuple[Metric, ...]) -> None:
    rows = CsvReporter().render(reported_by(metrics)).splitlines()

    assert [row.split(",")[5] for row in rows if ",delta," in row] == [metric.delta for metric in metrics]


def test_a_metric_that_is_added_to_the_table_is_computed_compared_and_shown() -> None:
    metrics = (*METRICS, ONE_MORE)
    page = page_by(metrics)

    assert page.payload["arms"]["after"]["metrics"]["tokens_of_this_test"]["mean"] == 300
    assert page.payload["deltas"]["delta_of_this_test"]["task_mean"] == -100
    assert "tokens of this test" in TextReporter(colour=False).render(page)
    html = HtmlReporter().render(reported_by(metrics))
    assert "tokens of this test" in html
    (figure,) = metric_figures(compared_by(metrics), inferred(compared_by(metrics)), set())
    assert "tokens of this test" in TextReporter(colour=False).render(replace(page, blocks=(figure,)))


def test_names_and_keys_of_the_table_are_unique() -> None:
    assert len({metric.name for metric in METRICS}) == len({metric.delta for metric in METRICS}) == len(METRICS)


@pytest.mark.parametrize("unit", get_args(MetricUnit))
def test_every_unit_has_a_way_to_be_written(unit: MetricUnit) -> None:
    assert UNIT_FORMATS[unit].value(None) == UNIT_FORMATS[unit].difference(None) == "unknown"
    assert UNIT_TICKS[unit](1.0)
