"""What a pilot says about the next experiment: where the variance of a task's delta lies, and what a run costs."""

from collections.abc import Sequence

import numpy as np
import pytest

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.compare.pilot import price_pilot, read_pilot
from outweigh.errors import EvidenceError
from outweigh.model.codec import Record
from outweigh.model.usage import UNKNOWN_COST, reported_cost
from outweigh.testing.builders import a_run, evidence_of, runs_of_arm


def comparison(*records: Sequence[Record]) -> Comparison:
    return compare_arms(evidence_of(*records), "old", "new")


def timed(arm: str, logs: np.ndarray) -> list[Record]:
    return [
        a_run(f"task-{task}", arm, repeat, duration_seconds=float(np.exp(value)))
        for task, repeats in enumerate(logs.tolist())
        for repeat, value in enumerate(repeats, start=1)
    ]


def passes(arm: str, *outcomes: str) -> list[Record]:
    return list(runs_of_arm(arm, [[mark == "+" for mark in task] for task in outcomes]))


def test_the_variance_of_a_pilot_by_hand() -> None:
    # Pass rates: old ½, ½, 1 and new 1, ½, 1, so the deltas are ½, 0, 0; a task with one pass of two varies by ½.
    old, new = passes("old", "+-", "+-", "++"), passes("new", "++", "-+", "++")

    pilot = read_pilot(comparison(old, new), "passed", logs=False)

    found = pilot.components
    assert (pilot.tasks, pilot.repeats) == (3, 2)
    assert [found.candidate_runs, found.baseline_runs] == pytest.approx([1 / 6, 1 / 3])
    assert found.observed_deltas == pytest.approx(1 / 12)
    assert found.true_deltas == 0
    assert any("look better than they may be" in warning for warning in pilot.warnings)


def test_a_large_pilot_recovers_the_variances_it_was_drawn_from() -> None:
    draw = np.random.default_rng(7)
    shape = (600, 5)
    level, delta = draw.normal(3, 0.5, (600, 1)), draw.normal(0.1, 0.3, (600, 1))
    old, new = level + draw.normal(0, 0.4, shape), level + delta + draw.normal(0, 0.2, shape)

    pilot = read_pilot(comparison(timed("old", old), timed("new", new)), "duration_seconds", logs=True)

    found = pilot.components
    assert found.true_deltas == pytest.approx(0.09, rel=0.15)
    assert found.baseline_runs == pytest.approx(0.16, rel=0.1)
    assert found.candidate_runs == pytest.approx(0.04, rel=0.1)
    assert not pilot.warnings


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (passes("old", "+-+"), passes("new", "+++"), "in both arms: 1"),
        (passes("old", "++", "++"), passes("new", "++", "++"), "the same amount on every task"),
        (passes("old", "+", "-"), passes("new", "+", "-"), "the same amount on every task"),
        (passes("old", "+-", "-+"), passes("new", "+", "-"), "one arm ran every task once"),
    ],
)
def test_a_pilot_that_cannot_carry_a_plan_is_refused(old: list[Record], new: list[Record], reason: str) -> None:
    with pytest.raises(EvidenceError, match=reason):
        read_pilot(comparison(old, new), "passed", logs=False)


def test_rounding_dust_in_logs_is_no_variance() -> None:
    old, new = (
        [a_run(f"t{n}", arm, duration_seconds=f * n / 7) for n in (1, 2, 3)] for arm, f in (("old", 1), ("new", 3))
    )

    with pytest.raises(EvidenceError, match="the same amount on every task"):
        read_pilot(comparison(list(old), list(new)), "duration_seconds", logs=True)


def test_a_task_with_a_zero_or_in_one_arm_only_is_left_out_and_told() -> None:
    old, new = (
        [a_run(f"t{n}", arm, duration_seconds=float(n**k)) for n in range(6)] for arm, k in (("old", 1), ("new", 2))
    )

    pilot = read_pilot(comparison(list(old), [*new, a_run("lonely", "new")]), "duration_seconds", logs=True)

    assert pilot.tasks == 5
    assert "2 of 7 tasks are left out: the metric is unknown in one of the arms." in pilot.warnings


def test_doubts_about_a_pilot_are_told() -> None:
    old, new = passes("old", "+-", "+-", "-+", "+++"), passes("new", "++", "-+", "++", "+++")
    families = [a_run(f"task-{n}", arm, 9, family="one") for arm in ("old", "new") for n in (1, 2)]

    warnings = " ".join(read_pilot(comparison(old, new, families), "passed", logs=False).warnings)

    assert "the variance between 4 tasks is a rough estimate: its square root may be off by about 41 %" in warnings
    assert "tasks have 2 to 3 runs per arm; the plan uses the median, 3" in warnings
    assert "the arms differ on 2 tasks only" in warnings
    assert "the tasks come from 3 families" in warnings


def test_runs_are_priced_by_the_mean_of_their_arm() -> None:
    old = [a_run("t", "old", repeat, cost=reported_cost(0.1 * repeat)) for repeat in (1, 2, 3)]
    new = [a_run("t", "new", 1, cost=reported_cost(0.5)), a_run("t", "new", 2, cost=UNKNOWN_COST)]

    prices, doubts = price_pilot(comparison(old, new), 2.0)

    assert prices is not None
    assert [prices.task_usd, prices.baseline_run_usd, prices.candidate_run_usd] == pytest.approx([2.0, 0.2, 0.5])
    assert doubts == ("the cost of 1 of 2 runs of new is unknown; the mean of the others is used.",)


def test_an_arm_without_costs_makes_dollars_unknown() -> None:
    prices, doubts = price_pilot(comparison([a_run("t", "old")], [a_run("t", "new", cost=UNKNOWN_COST)]), 2.0)

    assert prices is None
    assert "no run of new has a known cost. Set one with --run-cost USD" in doubts[0]
