"""Which tasks decided it, and which two runs of each show why."""

from typing import Any

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.model.run_record import AgentIdentity, AgentKind, RunRecord
from outweigh.report.deciding_tasks import (
    PASSED,
    TaskChange,
    choose_pair,
    choose_tasks,
    deciding_metric,
    deciding_tasks,
    merge_task_pairs,
    task_changes,
)
from outweigh.testing.builders import a_run, evidence_of
from outweigh.verdict.decision import Decision, Verdict
from outweigh.verdict.evidence_policy import decide_by_evidence
from outweigh.verdict.evidence_settings import evidence_settings

SCRIPTED = AgentIdentity(kind=AgentKind.SCRIPTED, name="scripted", version=None, model=None)


def runs(arm: str, passes: dict[str, int], repeats: int = 5, **fields: Any) -> list[RunRecord]:
    """Runs of which the first of every task pass."""
    return [
        a_run(task, arm, repeat, passed=repeat <= wins, duration_seconds=60 + repeat + len(task), **fields)
        for task, wins in passes.items()
        for repeat in range(1, repeats + 1)
    ]


def compared(before: dict[str, int], after: dict[str, int], **fields: Any) -> Comparison:
    return compare_arms(evidence_of(runs("base", before, **fields), runs("new", after, **fields)), "base", "new")


def decided(comparison: Comparison, *gates: str) -> Verdict:
    [verdict] = decide_by_evidence([comparison], evidence_settings(gates=gates or ("pass_rate",)))
    return verdict


def a_change(task: str, benefit: float) -> TaskChange:
    return TaskChange(task=task, before=0.0, after=benefit, benefit=benefit)


CHANGES = [a_change("small", 0.2), a_change("lost", -0.6), a_change("large", 0.8), a_change("middle", 0.4)]


def names(changes: list[TaskChange]) -> list[str]:
    return [change.task for change in changes]


def test_tasks_that_went_with_the_decision_come_first_and_the_others_last() -> None:
    assert names(choose_tasks(CHANGES, +1, {}, 4)) == ["large", "middle", "small", "lost"]
    assert names(choose_tasks(CHANGES, -1, {}, 4)) == ["lost", "large", "middle"]


def test_without_a_direction_the_largest_changes_come_first() -> None:
    assert names(choose_tasks(CHANGES, 0, {}, 3)) == ["large", "lost", "middle"]


def test_a_task_without_which_the_decision_would_be_another_comes_before_all_others() -> None:
    assert names(choose_tasks(CHANGES, +1, {"small": Decision.NEUTRAL}, 3)) == ["small", "large", "lost"]


def test_tasks_that_did_not_change_or_are_unknown_decide_nothing() -> None:
    comparison = compared({"same": 3, "more": 1}, {"same": 3, "more": 4, "only-new": 5})

    assert names(list(task_changes(comparison, PASSED))) == ["more"]


def test_a_lost_task_shows_a_pass_of_the_baseline_beside_a_failure_of_the_candidate() -> None:
    comparison = compared({"task": 5}, {"task": 2})
    [change] = task_changes(comparison, PASSED)

    pair = choose_pair(comparison, PASSED, change, "a store")

    assert pair is not None
    assert (pair.baseline_run, pair.candidate_run) == ("task/base/3", "task/new/3")
    assert pair.table.rows[0] == ("result", "passed", "failed")
    assert pair.command == "outweigh diff 'a store' task/base/3 task/new/3"


def test_a_won_task_shows_the_pair_the_other_way_round_and_of_two_repeats_where_it_must() -> None:
    mixed = [a_run("task", "base", 1, passed=True), a_run("task", "base", 2, passed=False)]
    better = [a_run("task", "new", 1, passed=True), a_run("task", "new", 3, passed=True)]
    comparison = compare_arms(evidence_of(mixed, better), "base", "new")
    [change] = task_changes(comparison, PASSED)

    pair = choose_pair(comparison, PASSED, change, "runs")

    assert pair is not None
    assert (pair.baseline_run, pair.candidate_run) == ("task/base/2", "task/new/1")
    assert "repeats 2 and 1" in pair.table.title


def test_a_regression_in_time_is_told_by_the_tasks_that_took_longer() -> None:
    slow = [
        a_run(f"task-{task}", "new", repeat, duration_seconds=120.0 + 9 * task + repeat)
        for task in range(8)
        for repeat in (1, 2)
    ]
    fast = [
        a_run(f"task-{task}", "base", repeat, duration_seconds=60.0 + task + repeat)
        for task in range(8)
        for repeat in (1, 2)
    ]
    comparison = compare_arms(evidence_of(fast, slow), "base", "new")
    verdict = decided(comparison, "pass_rate", "duration")

    found = deciding_tasks(verdict, comparison, "runs")

    assert verdict.decision is Decision.REGRESSED
    assert deciding_metric(verdict, comparison).name == "duration_seconds"
    assert found is not None
    assert found.table.title == "Tasks that decided it, by duration"
    assert found.table.rows[0] == ("task-7", "68 s → 184 s", "+169 %")
    assert all(pair is not None for pair in found.pairs)


def test_dollars_of_an_agent_that_only_pretends_are_not_shown() -> None:
    comparison = compared({"task": 5}, {"task": 2}, agent=SCRIPTED)
    [change] = task_changes(comparison, PASSED)

    pair = choose_pair(comparison, PASSED, change, "runs")

    assert pair is not None
    assert ("cost", "simulated", "simulated") in pair.table.rows


def test_tasks_decided_nothing_where_there_is_no_decision() -> None:
    comparison = compared({"task": 5, "other": 2}, {"task": 2, "other": 2})
    verdict = decided(comparison)

    found = deciding_tasks(verdict, comparison, "runs")

    assert verdict.decision is Decision.INCONCLUSIVE
    assert found is not None
    assert found.table.title == "Tasks that changed most, by pass rate"


def test_where_no_task_changed_there_is_no_table() -> None:
    comparison = compared({"one": 3, "two": 5}, {"one": 3, "two": 5})

    assert deciding_tasks(decided(comparison), comparison, "runs") is None
    assert merge_task_pairs([]) == []


def test_several_candidates_share_a_table_that_names_them() -> None:
    comparison = compared({"task": 5, "other": 2}, {"task": 2, "other": 2})
    found = deciding_tasks(decided(comparison), comparison, "runs")
    assert found is not None

    [merged] = merge_task_pairs([("new", found), ("newer", found)])

    assert getattr(merged, "table").rows == (  # noqa: B009 - a block of any kind
        ("task", "new", "5/5 → 2/5 passed", "-60 points"),
        ("task", "newer", "5/5 → 2/5 passed", "-60 points"),
    )
