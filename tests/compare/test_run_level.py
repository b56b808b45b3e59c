"""A ladder by single runs: Table 1 of ProjectScylla's analysis, computed here by other means."""

from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from tests.interop.scylla.study_tables import StudyShape, write_study

from outweigh.compare.run_level import RunLevel, count_by_runs, spread_of
from outweigh.interop.scylla.importer import ScyllaImporter
from outweigh.model.failure import Status
from outweigh.model.run_record import STATED_LABEL, RunRecord
from outweigh.testing.builders import a_judgment, a_run, evidence_of
from outweigh.testing.importer_contract import read_all


def by_runs(evidence: Any, tiers: dict[str, int]) -> RunLevel:
    return count_by_runs(tiers, {number: f"T{number}" for number in tiers.values()}, evidence.arms)


def stated(arm: str, repeat: int, score: float | None, *, passed: bool | None, grade: str = "A", **fields: Any) -> Any:
    label = {"score": score, "passed": passed, "grade": grade}
    return a_run("task", arm, repeat, extra={STATED_LABEL: label}, **fields)


def published_interval(passes: list[int]) -> tuple[float, float]:
    """Runs that all did the same have an interval without width in the published tables."""
    if len(set(passes)) == 1:
        return float(passes[0]), float(passes[0])
    found = stats.bootstrap((np.array(passes),), np.mean, n_resamples=10_000, method="BCa", random_state=42)
    return found.confidence_interval.low, found.confidence_interval.high


@pytest.mark.parametrize("lost", [0.0, 0.04])
def test_every_tier_of_a_study_has_the_figures_of_the_published_table(tmp_path: Path, lost: float) -> None:
    study = write_study(tmp_path, lost=lost, shape=StudyShape(subtests=(8, 3, 4), tests=3, repeats=3))
    records, _ = read_all(ScyllaImporter(), tmp_path)
    arms = dict.fromkeys(record.trial.arm for record in records if isinstance(record, RunRecord))

    level = by_runs(evidence_of(records), {arm: int(arm.split("/")[1][1:]) for arm in arms})

    for tier in level.tiers:
        rows = [row for row in study.runs if row["tier"] == f"T{tier.number}"]
        passes, scores = [int(row["passed"]) for row in rows], [row["score"] for row in rows]
        found, score = tier.runs, tier.runs.score.description
        assert tier.arms == len({row["subtest"] for row in rows})
        assert found.pass_rate.point == pytest.approx(fmean(passes))
        assert found.pass_rate.interval is not None
        assert (found.pass_rate.interval.low, found.pass_rate.interval.high) == pytest.approx(
            published_interval(passes)
        )
        assert [score.mean, score.sample_std, score.median] == pytest.approx(
            [fmean(scores), stdev(scores), median(scores)]
        )
        assert found.consistency.value == pytest.approx(1 - stdev(scores) / fmean(scores))
        costs = [row["cost_usd"] for row in rows]
        assert found.cost_of_pass_usd.value == pytest.approx(fmean(costs) / fmean(passes))
        assert found.total_cost_usd.value == pytest.approx(sum(costs))
    assert level.score_of == "stated"


def test_the_order_of_the_records_and_not_of_the_arms_decides_the_draws() -> None:
    passed = stated("b", 1, 1.0, passed=True)
    failed = [stated("a", number, 0.0, passed=False) for number in range(1, 8)]
    assert published_interval([1, *[0] * 7]) != pytest.approx(published_interval([*[0] * 7, 1]))

    level = by_runs(evidence_of(passed, failed), {"a": 0, "b": 0})

    found = level.tiers[0].runs.pass_rate.interval
    assert found is not None
    assert (found.low, found.high) == pytest.approx(published_interval([1, *[0] * 7]))


def test_what_the_source_states_is_used_before_what_is_computed_here() -> None:
    runs = [stated("a", 1, 0.5, passed=True)]
    crashed = stated("a", 2, 0.0, passed=False, grade="F", status=Status.INFRA_ERROR)

    group = by_runs(evidence_of([*runs, crashed], a_judgment(runs[0], 0.9)), {"a": 0}).arms["a"]

    assert (group.runs, group.pass_rate.point, group.score.description.mean) == (2, 0.5, 0.25)
    assert (group.grades, group.modal_grade) == ({"A": 1, "F": 1}, "A")


def test_without_stated_scores_the_judges_are_taken_and_lost_runs_left_out() -> None:
    runs = [a_run("task", "a", number, passed=number == 1) for number in (1, 2)]
    lost = a_run("task", "a", 3, status=Status.INFRA_ERROR)

    level = by_runs(evidence_of([*runs, lost], [a_judgment(runs[0], 0.9), a_judgment(runs[1], 0.5)]), {"a": 0})

    group = level.tiers[0].runs
    assert level.score_of == "judge_score"
    assert (group.runs, group.pass_rate.point, group.modal_grade) == (2, 0.5, None)
    assert group.score.description.mean == pytest.approx(0.7)


def test_tiers_are_tested_as_in_the_published_tables(tmp_path: Path) -> None:
    study = write_study(tmp_path, shape=StudyShape(subtests=(20, 18, 19), tests=1, repeats=3), seed=1)
    records, _ = read_all(ScyllaImporter(), tmp_path)
    arms = dict.fromkeys(record.trial.arm for record in records if isinstance(record, RunRecord))

    level = by_runs(evidence_of(records), {arm: int(arm.split("/")[1][1:]) for arm in arms})

    for metric, column in (("passed", "passed"), ("score", "score"), ("implementation_rate", "impl_rate")):
        groups = [[float(row[column]) for row in study.runs if row["tier"] == f"T{tier}"] for tier in range(3)]
        # Means of the same three scores in another order differ in the last digit, and are ties all the same.
        omnibus = stats.kruskal(*(np.round(group, 9) for group in groups))
        found = level.omnibus[metric]
        assert (found.statistic, found.p_value) == pytest.approx((omnibus.statistic, omnibus.pvalue))
        steps = [step for step in level.steps if step.metric == metric]
        assert [(step.lower, step.upper, step.runs) for step in steps] == [
            (0, 1, (60, 54)),
            (1, 2, (54, 57)),
            (0, 2, (60, 57)),
        ]
        raw = [
            stats.mannwhitneyu(groups[step.lower], groups[step.upper], alternative="two-sided").pvalue for step in steps
        ]
        assert [step.p_value for step in steps] == pytest.approx(raw)
        assert [step.adjusted_p_value for step in steps] == pytest.approx(multipletests(raw, method="holm")[1])
        for step in steps:
            lower, upper = np.array(groups[step.lower]), np.array(groups[step.upper])
            assert step.difference == pytest.approx(upper.mean() - lower.mean())
            assert step.cliff_delta == pytest.approx(np.sign(upper[:, None] - lower[None, :]).mean())


def test_two_tiers_have_one_step() -> None:
    runs = [stated(arm, number, 0.1 * number, passed=True) for arm in ("a", "b") for number in (1, 2)]

    level = by_runs(evidence_of(runs), {"a": 0, "b": 1})

    assert [(step.metric, step.lower, step.upper) for step in level.steps if step.metric == "score"] == [
        ("score", 0, 1)
    ]


def test_one_tier_is_compared_with_none() -> None:
    assert by_runs(evidence_of(stated("a", 1, 0.5, passed=True)), {"a": 0}).steps == ()


def test_tiers_of_one_run_are_not_tested() -> None:
    level = by_runs(evidence_of([stated(arm, 1, 0.5, passed=True) for arm in ("a", "b")]), {"a": 0, "b": 1})

    assert level.omnibus["score"].p_value is None
    assert level.omnibus["score"].warnings == ("a tier has fewer than two runs with a value",)
    assert {(step.p_value, step.adjusted_p_value) for step in level.steps} == {(None, None)}


def test_figures_that_one_run_does_not_define_are_unknown_with_the_reason() -> None:
    group = by_runs(evidence_of(stated("a", 1, 0.9, passed=False)), {"a": 0}).tiers[0].runs

    assert group.score.description.sample_std is None
    assert group.consistency.reason == "it takes two runs with a score"
    assert group.cost_of_pass_usd.reason == "no run passes, so no price buys a pass"
    assert "there is one run" in group.pass_rate.warnings[0]


def test_a_label_that_cannot_be_read_states_nothing() -> None:
    run = a_run("task", "a", 1, passed=True, extra={STATED_LABEL: {"score": "much"}})

    level = by_runs(evidence_of(run), {"a": 0})

    assert (level.score_of, level.tiers[0].runs.pass_rate.point) == ("judge_score", 1.0)


def test_quartiles_and_shape_are_those_of_scipy() -> None:
    values = np.random.default_rng(3).gamma(2.0, size=50)
    found = spread_of(np.append(values, np.nan))

    assert [found.first_quartile, found.third_quartile] == pytest.approx(np.percentile(values, [25, 75]))
    assert [found.skewness, found.excess_kurtosis] == pytest.approx([stats.skew(values), stats.kurtosis(values)])
    assert found.description.unknown == 1


def test_values_without_spread_have_no_shape() -> None:
    found = spread_of(np.array([2.0, 2.0]))

    assert (found.skewness, found.excess_kurtosis, found.first_quartile) == (None, None, 2.0)
    assert spread_of(np.array([])).first_quartile is None
