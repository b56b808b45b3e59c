"""Composites column by column: what the formula of one run says, to the last bit."""

from math import isnan
from random import Random
from typing import Any

import pytest

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.comparison import compare_arms
from outweigh.compare.composite_scores import CompositeScorer
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import Usage
from outweigh.score.composite import (
    COST_SIGNALS,
    EVEN,
    OBJECTIVE_FIRST,
    Dimension,
    Profile,
    composite,
    cost_adjustment,
    weigh,
)
from outweigh.score.run_score import Score
from outweigh.testing.builders import a_check, a_judgment, a_run, evidence_of

OWN = weigh("own", {"objective": 2, "passed": 1, "judge_score": 0.7}, requires=(), cost_weight=0.3)


def some_run(random: Random, task: str, arm: str, repeat: int) -> RunRecord:
    fields: dict[str, Any] = {
        "duration_seconds": random.choice([None, 0.0, random.uniform(1, 900)]),
        "step_count": random.choice([None, 0, 3, 17]),
        "tool_call_count": random.choice([None, 0, 5]),
        "usage": Usage(
            input_tokens=random.choice([None, random.randrange(10_000)]),
            output_tokens=random.randrange(900),
            cache_read_tokens=0,
            cache_write_tokens=7,
        ),
        "checks": tuple(a_check(passed=random.choice([True, False, None])) for _ in range(random.randrange(3))),
        "status": random.choice([Status.COMPLETED, Status.COMPLETED, Status.TIMEOUT, Status.INFRA_ERROR]),
    }
    return a_run(task, arm, repeat, **fields)


def mean_signals(runs: list[Score]) -> dict[str, float | None]:
    """Of one task of the reference arm."""
    means: dict[str, float | None] = {}
    for signal in COST_SIGNALS:
        values = [value for run in runs if (value := run.signals()[signal]) is not None]
        means[signal] = sum(values) / len(values) if values else None
    return means


def known_of(table: ArmTable, column: str) -> list[float | None]:
    return [None if isnan(value) else value for value in table.columns[column].tolist()]


def composed(
    run: Score, judge_score: float | None, profile: Profile, reference: dict[str, float | None] | None
) -> float | None:
    dimensions = {
        Dimension.OBJECTIVE: run.objective,
        Dimension.PASSED: run.passed,
        Dimension.JUDGE_SCORE: judge_score,
    }
    if reference is None or not profile.cost_weight:
        return composite(dimensions, profile, 0.0).value
    return composite(dimensions, profile, cost_adjustment(run.signals(), reference, profile.cost_weight).value).value


@pytest.mark.parametrize("profile", [OBJECTIVE_FIRST, EVEN, OWN], ids=lambda profile: profile.name)
@pytest.mark.parametrize("seed", range(12))
def test_every_composite_of_an_arm_is_that_of_its_run(seed: int, profile: Profile) -> None:
    random = Random(seed)
    runs = [
        some_run(random, f"task-{task}", arm, repeat)
        for task in range(8)
        for arm in ("before", "after")
        for repeat in (1, 2, 3)
        if random.random() < 0.9
    ]
    judged = [a_judgment(run, random.random()) for run in runs if run.trial.task_id < "task-4"]
    evidence = evidence_of(runs, judged)
    arms = {name: evidence.arm(name) for name in ("before", "after")}
    scorer = CompositeScorer("before", arms, profile)
    before, after = (scorer.tabulate_with_composites(name) for name in arms)

    references = {task: mean_signals([run for run in before.runs if run.task_id == task]) for task in before.tasks}
    assert known_of(before, "composite") == [
        composed(run, judge_score, profile, None)
        for run, judge_score in zip(before.runs, known_of(before, "deciding_judge_score"), strict=True)
    ]
    assert known_of(after, "composite") == [
        composed(run, judge_score, profile, references.get(run.task_id))
        for run, judge_score in zip(after.runs, known_of(after, "deciding_judge_score"), strict=True)
    ]


def test_runs_without_a_signal_are_counted_in_the_warning() -> None:
    before = [a_run("task-1", "before", repeat) for repeat in (1, 2)]
    after = [
        a_run("task-1", "after", 1, step_count=None),
        a_run("task-1", "after", 2),
        a_run("task-2", "after", 1, step_count=None),
    ]
    warnings = compare_arms(evidence_of(before, after), "before", "after").composite_warnings
    assert [line for line in warnings if "cost adjustment" in line] == [
        "steps is left out of the cost adjustment of 1 runs: not reported on both sides."
    ]
