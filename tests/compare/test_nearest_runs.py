"""A baseline that was run again for another version: a candidate is compared with the runs nearest to its own."""

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from outweigh.compare.comparison import compare_arms
from outweigh.compare.deltas import count_missing_runs
from outweigh.compare.nearest_runs import keep_nearest_runs
from outweigh.model.run_record import RunRecord
from outweigh.testing.builders import a_run, evidence_of

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TASKS = ("t1", "t2", "t3")


def runs(arm: str, repeats: range, days_ago: float, *, tasks: tuple[str, ...] = TASKS) -> list[RunRecord]:
    moment = NOW - timedelta(days=days_ago)
    return [a_run(task, arm, repeat, started_at=moment) for task in tasks for repeat in repeats]


def test_as_many_runs_of_the_baseline_are_kept_as_the_candidate_has_and_they_are_the_nearest() -> None:
    evidence = evidence_of(
        runs("base", range(1, 4), 10.0), runs("base", range(4, 7), 1.0), runs("new", range(1, 4), 1.0)
    )

    kept = keep_nearest_runs(evidence, "base", "new")

    assert {score.repeat for score in kept.arms["base"]} == {4, 5, 6}
    assert kept.sha256("base", "new") == evidence.sha256("base", "new"), "the hash is of everything recorded"


def test_a_run_that_the_candidate_lacks_on_some_task_is_still_missing() -> None:
    evidence = evidence_of(
        runs("base", range(1, 4), 1.0),
        runs("new", range(1, 4), 1.0, tasks=("t1", "t2")),
        runs("new", range(1, 3), 1.0, tasks=("t3",)),
    )

    compared = compare_arms(keep_nearest_runs(evidence, "base", "new"), "base", "new")

    assert count_missing_runs(compared.candidate_table, compared.baseline_table).absent == 1


def test_what_is_set_aside_fills_up_what_the_others_leave() -> None:
    evidence = evidence_of(runs("base", range(1, 3), 1.0), runs("new", range(1, 4), 1.0))
    old = evidence_of(runs("base", range(3, 8), 30.0)).arms["base"]
    with_stale = keep_nearest_runs(replace(evidence, stale={"base": old}), "base", "new")

    assert len(with_stale.arms["base"]) == 2 * len(TASKS)
    assert len(with_stale.stale["base"]) == len(TASKS)


def test_a_candidate_of_which_no_time_is_known_changes_nothing() -> None:
    evidence = evidence_of(runs("base", range(1, 4), 1.0), [a_run("t1", "new", 1, started_at=None)])

    assert keep_nearest_runs(evidence, "base", "new") is evidence
