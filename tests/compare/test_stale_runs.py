"""Reused runs that are too old: set aside where fresh ones stand beside them, and named where none do."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from scipy import stats

from outweigh.compare.comparison import compare_arms
from outweigh.compare.deltas import count_missing_runs
from outweigh.compare.evidence import Evidence
from outweigh.compare.stale_runs import find_stale, set_stale_aside, stale_drift
from outweigh.model.failure import Status
from outweigh.model.run_record import REUSED_LABEL, RunRecord
from outweigh.score.run_score import Score
from outweigh.testing.builders import a_run, evidence_of

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TASKS = 10


def run_at(task: int, arm: str, repeat: int, *, days: float = 0.0, reused: bool = False, **fields: Any) -> RunRecord:
    """A run that was made so many days ago."""
    moment = NOW - timedelta(days=days)
    extra = {REUSED_LABEL: {"run_id": "there"}} if reused else {}
    return a_run(f"task-{task}", arm, repeat, started_at=moment, extra=extra, **fields)


def arm(name: str, repeats: Sequence[int], seconds: Sequence[float], **fields: Any) -> list[RunRecord]:
    return [
        run_at(task, name, repeat, duration_seconds=seconds[task], **fields)
        for task in range(len(seconds))
        for repeat in repeats
    ]


def old_baseline(*, days: float = 30.0, fresh_tasks: int = TASKS) -> Evidence:
    """Runs 1 and 2 of the baseline are old, run 3 is fresh and a fifth slower; the candidate is as slow."""
    dice = np.random.default_rng(1)
    then, now, candidate = (level * np.exp(dice.normal(0, 0.1, TASKS)) for level in (100.0, 120.0, 120.0))
    return evidence_of(
        arm("base", (1, 2), then.tolist(), days=days, reused=True),
        arm("base", (3,), now[:fresh_tasks].tolist()),
        arm("head", (1, 2, 3), candidate.tolist()),
    )


def test_the_candidate_is_compared_with_the_fresh_runs_alone() -> None:
    kept = set_stale_aside(old_baseline(), "base", 7.0)

    compared = compare_arms(kept, "base", "head")
    assert [run.repeat for run in compared.baseline_table.runs] == [3] * TASKS
    assert len(compared.baseline_table.stale) == 2 * TASKS
    assert compared.unanchored is None


def test_that_equals_the_old_comparison_corrected_by_the_drift_with_the_variance_of_both() -> None:
    """(candidate - stale) - (fresh - stale): the mean is the same, and the error has what the correction adds."""
    evidence = old_baseline()
    seconds = {
        (score.arm, score.reused, score.task_id): log(score.duration_seconds or 0.0)
        for scores in evidence.arms.values()
        for score in scores
    }
    names = [f"task-{task}" for task in range(TASKS)]
    against_stale = np.array([seconds["head", False, name] - seconds["base", True, name] for name in names])
    drift = np.array([seconds["base", False, name] - seconds["base", True, name] for name in names])
    compared = compare_arms(set_stale_aside(evidence, "base", 7.0), "base", "head")
    after, before = (
        np.log(table.mean_per_task("duration_seconds")) for table in (compared.candidate_table, compared.baseline_table)
    )

    assert (after - before).mean() == pytest.approx(against_stale.mean() - drift.mean())
    covariance = np.cov(against_stale, drift)
    corrected = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    assert (after - before).var(ddof=1) == pytest.approx(corrected)


def test_the_drift_is_the_mean_log_ratio_over_tasks_with_its_t_interval() -> None:
    stale = arm("base", (1,), [100.0, 100.0, 100.0], days=30, reused=True)
    fresh = arm("base", (2,), [110.0, 120.0, 130.0])
    scores = evidence_of(stale, fresh).arms["base"]

    found = stale_drift(scores_of(scores, reused=True), scores_of(scores, reused=False))
    moved = {each.metric: each.moved for each in found}
    logs = np.log([1.1, 1.2, 1.3])
    half = float(stats.t.ppf(0.975, 2)) * float(logs.std(ddof=1)) / sqrt(3)
    interval = moved["duration_seconds"].interval
    assert moved["duration_seconds"].point == pytest.approx(float(logs.mean()))
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((logs.mean() - half, logs.mean() + half))
    assert moved["passed"].point == 0.0


def scores_of(scores: Sequence[Score], *, reused: bool) -> list[Score]:
    return [score for score in scores if score.reused is reused]


def test_every_reader_is_told_how_far_the_baseline_moved() -> None:
    (note,) = set_stale_aside(old_baseline(), "base", 7.0).warnings

    assert "20 reused runs of base are older than 7 days and are left out" in note
    assert "duration +1" in note or "duration +2" in note
    assert "pass rate +0.0 points (no interval)" in note


def test_stale_runs_are_not_missing() -> None:
    compared = compare_arms(set_stale_aside(old_baseline(), "base", 7.0), "base", "head")

    assert count_missing_runs(compared.baseline_table, compared.candidate_table).absent == 0


@pytest.mark.parametrize("fresh_tasks", [0, TASKS - 1])
def test_without_fresh_runs_of_their_tasks_they_stay_and_that_is_said(fresh_tasks: int) -> None:
    kept = set_stale_aside(old_baseline(fresh_tasks=fresh_tasks), "base", 7.0)

    compared = compare_arms(kept, "base", "head")
    assert len(compared.baseline_table.runs) == 2 * TASKS + fresh_tasks
    assert compared.unanchored is not None
    assert f"{TASKS - fresh_tasks} of their {TASKS} tasks have no fresh run of base" in compared.unanchored


def test_a_fresh_run_that_does_not_count_is_none() -> None:
    stale = arm("base", (1,), [100.0] * TASKS, days=30, reused=True)
    lost = arm("base", (2,), [100.0] * TASKS, status=Status.INFRA_ERROR)
    kept = set_stale_aside(evidence_of(stale, lost, arm("head", (1,), [100.0] * TASKS)), "base", 7.0)

    assert "base" in kept.unanchored


@pytest.mark.parametrize(("days", "number"), [(6.9, 0), (7.1, 2 * TASKS)])
def test_the_age_counts_to_the_first_fresh_run(days: float, number: int) -> None:
    assert len(find_stale(old_baseline(days=days), "base", 7.0)) == number


def test_young_runs_are_compared_as_they_are_and_the_risk_of_that_is_stated() -> None:
    evidence = old_baseline(days=3)

    kept = set_stale_aside(evidence, "base", 7.0)

    assert (kept.arms, kept.stale, kept.unanchored) == (evidence.arms, evidence.stale, evidence.unanchored)
    (warning,) = kept.warnings
    assert warning.startswith(
        "20 runs of base are reused, up to 3.0 days old: if time, tokens and cost drifted by 10 %"
    )
    assert (
        "identical arms are called improved in about 14 % and regressed in about 20 % of experiments, not in 2 and 7 %"
        in warning
    )


@pytest.mark.parametrize(
    ("minutes", "age"),
    [(0.2, "less than a minute old"), (12, "up to 12 min old"), (80, "up to 80 min old"), (300, "up to 5 h old")],
)
def test_the_age_of_runs_of_the_same_day_is_as_it_is(minutes: float, age: str) -> None:
    (warning,) = set_stale_aside(old_baseline(days=minutes / 24 / 60), "base", 7.0).warnings

    assert f"runs of base are reused, {age}: " in warning


def test_young_runs_beside_stale_ones_are_warned_of_too() -> None:
    young = arm("base", (4,), [100.0] * TASKS, days=2, reused=True)
    stale = arm("base", (1,), [100.0] * TASKS, days=30, reused=True)
    kept = set_stale_aside(evidence_of(stale, young, arm("head", (1,), [100.0] * TASKS)), "base", 7.0)

    risk, moved = kept.warnings
    assert risk.startswith("10 runs of base are reused, up to 2.0 days old")
    assert "10 reused runs of base are older than 7 days and are left out" in moved


def test_the_first_run_of_the_experiment_says_how_old_they_are_in_a_part_of_it() -> None:
    later = arm("head", (1,), [100.0] * TASKS)
    young = arm("base", (1,), [100.0] * TASKS, days=8, reused=True)

    (warning,) = set_stale_aside(evidence_of(young, later), "base", 7.0, NOW - timedelta(days=5)).warnings

    assert "up to 3.0 days old" in warning


def test_a_baseline_of_which_nothing_is_reused_has_no_such_risk() -> None:
    evidence = evidence_of(arm("base", (1,), [100.0] * TASKS), arm("head", (1,), [100.0] * TASKS))

    assert set_stale_aside(evidence, "base", 7.0) is evidence


def test_a_store_without_a_limit_is_read_as_ever() -> None:
    evidence = old_baseline()

    assert set_stale_aside(evidence, "base", None) is evidence


def test_old_runs_that_were_not_reused_are_not_stale() -> None:
    evidence = evidence_of(arm("base", (1,), [100.0] * TASKS, days=30), arm("head", (1,), [100.0] * TASKS))

    assert find_stale(evidence, "base", 7.0) == []


def test_a_reused_run_of_unknown_age_is_stale() -> None:
    unknown = [a_run("task-1", "base", 1, extra={REUSED_LABEL: {}}), run_at(1, "head", 1)]

    assert len(find_stale(evidence_of(unknown), "base", 7.0)) == 1


def test_reused_runs_beside_runs_without_a_clock_are_stale() -> None:
    clockless = [run_at(1, "base", 1, days=1, reused=True), a_run("task-1", "head", 1)]

    assert len(find_stale(evidence_of(clockless), "base", 7.0)) == 1
