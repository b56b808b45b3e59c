from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from outweigh.compare.comparison import compare_arms
from outweigh.compare.stale_runs import set_stale_aside
from outweigh.model.run_record import REUSED_LABEL, RunRecord
from outweigh.model.usage import Usage, reported_cost
from outweigh.testing.builders import a_check, a_run, evidence_of
from outweigh.verdict.confounding import cost_confounded
from outweigh.verdict.decision import Decision, GateState, Verdict
from outweigh.verdict.evidence_policy import decide_by_evidence
from outweigh.verdict.evidence_settings import evidence_settings

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)


def reason(before: list[RunRecord], after: list[RunRecord]) -> str | None:
    compared = compare_arms(evidence_of(before, after), "old", "new")
    return cost_confounded(compared.baseline_table, compared.candidate_table)


def arm(name: str, **fields: Any) -> list[RunRecord]:
    return [a_run(f"task-{task}", name, repeat, **fields) for task in range(8) for repeat in (1, 2)]


def placed(name: str, start: int, step: int) -> list[RunRecord]:
    return [
        a_run(run.trial.task_id, name, run.trial.repeat, position=start + step * index)
        for index, run in enumerate(arm(name))
    ]


def cached(name: str, read: int, written: int, step: int = 3) -> list[RunRecord]:
    return [
        a_run(
            run.trial.task_id,
            name,
            run.trial.repeat,
            usage=Usage(
                input_tokens=10,
                output_tokens=10,
                cache_read_tokens=read + step * index,
                cache_write_tokens=written,
            ),
        )
        for index, run in enumerate(arm(name))
    ]


def test_interleaved_arms_are_not_confounded() -> None:
    assert reason(placed("old", 0, 2), placed("new", 1, 2)) is None


@pytest.mark.parametrize(("first", "second"), [(0, 100), (100, 0)])
def test_arms_run_one_after_the_other_are(first: int, second: int) -> None:
    why = reason(placed("old", first, 1), placed("new", second, 1))

    assert why is not None
    assert "interleave the arms" in why


def in_order(*arms: str, tasks: int = 8) -> list[RunRecord]:
    """The runs of these arms, in this order within every task."""
    repeats = [(arm, arms[: place + 1].count(arm)) for place, arm in enumerate(arms)]
    return [
        a_run(f"task-{task}", arm, repeat, position=len(arms) * task + place)
        for task in range(tasks)
        for place, (arm, repeat) in enumerate(repeats)
    ]


def test_arms_run_one_after_the_other_within_every_task_are_confounded() -> None:
    why = reason(in_order("new", "new", "new", "old", "old", "old"), [])

    assert why is not None
    assert "the runs of old came after those of new, task by task" in why


@pytest.mark.parametrize("order", ["old new", "old new old new", "old new new old", "new old new old new old"])
def test_arms_that_take_turns_within_tasks_are_not(order: str) -> None:
    assert reason(in_order(*order.split()), []) is None


def test_two_tasks_of_two_runs_may_be_in_order_by_chance() -> None:
    assert reason(in_order("old", "old", "new", "new", tasks=2), []) is None


def test_a_random_order_within_tasks_is_hardly_ever_taken_for_one_arm_after_the_other() -> None:
    dice = np.random.default_rng(1)
    flagged = 0
    for _ in range(100):
        order = [list(map(str, dice.permutation(["old", "new"] * 3))) for _ in range(4)]
        runs = [
            a_run(f"task-{task}", name, arms[:place].count(name) + 1, position=6 * task + place)
            for task, arms in enumerate(order)
            for place, name in enumerate(arms)
        ]
        flagged += "task by task" in (reason(runs, []) or "")

    assert flagged <= 4


def clocked(
    name: str, day: float, *, reused: bool = False, faster: float = 1.0, tasks: int = 20, **fields: Any
) -> list[RunRecord]:
    """Two runs a task from this day on, half an hour apart, with times and tokens that scatter."""
    dice = np.random.default_rng(sum(name.encode()))
    return [
        a_run(
            f"task-{task}",
            name,
            repeat,
            passed=bool(dice.random() < 0.5),
            started_at=MONDAY + timedelta(days=day, minutes=60 * task + 30 * repeat),
            duration_seconds=faster * 60 * float(np.exp(dice.normal(0, 0.1))),
            usage=Usage(
                input_tokens=round(1000 * float(np.exp(dice.normal(0, 0.1)))),
                output_tokens=10,
                cache_read_tokens=0,
                cache_write_tokens=0,
            ),
            cost=reported_cost(float(np.exp(dice.normal(0, 0.1)))),
            extra={REUSED_LABEL: {"run_id": "there"}} if reused else {},
            **fields,
        )
        for task in range(tasks)
        for repeat in (1, 2)
    ]


def verdict(*arms: list[RunRecord], limit: float | None = 7.0, **settings: Any) -> Verdict:
    evidence = set_stale_aside(evidence_of(*arms), "old", limit)
    (found,) = decide_by_evidence([compare_arms(evidence, "old", "new")], evidence_settings(**settings))
    return found


@pytest.mark.parametrize("infer", [False, True])
def test_arms_run_a_week_apart_show_nothing_about_any_resource(infer: bool) -> None:
    found = verdict(clocked("old", 0), clocked("new", 7, faster=0.5), fixed_suite=infer)

    unknown = {gate.name: gate.detail for gate in found.gates if gate.state is GateState.UNKNOWN}
    assert unknown.keys() == {"duration", "non_cache_tokens", "cost"}
    assert all("the runs of new came after those of old" in detail for detail in unknown.values())
    assert found.decision is Decision.INCONCLUSIVE
    assert found.reasons[0].startswith("gates duration, non_cache_tokens and cost are unknown")


def test_the_clock_goes_before_the_plan() -> None:
    """Positions that alternate do not hide that one arm ran a week later."""
    before, after = (
        [replace(run, position=2 * place + late) for place, run in enumerate(clocked(name, day))]
        for name, day, late in (("old", 0, 0), ("new", 7, 1))
    )

    assert "interleave" in (reason(before, after) or "")


def test_a_run_without_a_clock_does_not_hide_when_the_others_ran() -> None:
    before, after = clocked("old", 0), clocked("new", 7)

    assert "interleave" in (reason([replace(before[0], started_at=None), *before[1:]], after) or "")


def test_version_1_asks_about_the_order_for_dollars_alone() -> None:
    found = verdict(clocked("old", 0), clocked("new", 7), version=1)

    assert [gate.name for gate in found.gates if gate.state is GateState.UNKNOWN] == ["cost"]


@pytest.mark.parametrize("reused", [False, True])
def test_more_of_a_resource_later_raises_no_alarm(reused: bool) -> None:
    found = verdict(clocked("old", 0, reused=reused), clocked("new", 30, faster=2.0), gates=["pass_rate", "duration"])

    assert found.decision is Decision.INCONCLUSIVE


def test_a_loss_of_passes_is_heard_although_resources_are_confounded() -> None:
    lost = [replace(run, checks=(a_check(passed=False),)) for run in clocked("new", 7)]

    assert verdict(clocked("old", 0), lost).decision is Decision.REGRESSED


def test_reused_runs_within_their_age_limit_are_judged() -> None:
    found = verdict(clocked("old", 0, reused=True), clocked("new", 6, faster=0.5))

    assert GateState.UNKNOWN not in {gate.state for gate in found.gates}


def test_reused_runs_beyond_it_show_nothing_by_themselves() -> None:
    found = verdict(clocked("old", 0, reused=True), clocked("new", 8, faster=0.5))

    assert found.decision is Decision.INCONCLUSIVE
    assert found.reasons[0].startswith("40 reused runs of old are older than 7 days, and 20 of their 20 tasks have no")
    assert {gate.name for gate in found.gates if gate.state is GateState.UNKNOWN} == {
        "duration",
        "non_cache_tokens",
        "cost",
    }


def test_a_gain_of_passes_against_a_stale_baseline_alone_is_none() -> None:
    failed = [replace(run, checks=(a_check(passed=False),)) for run in clocked("old", 0, reused=True)]
    passed = [replace(run, checks=(a_check(passed=True),)) for run in clocked("new", 8)]

    assert verdict(failed, passed, gates=["pass_rate"]).decision is Decision.INCONCLUSIVE
    assert verdict(failed, passed, limit=9.0, gates=["pass_rate"]).decision is Decision.IMPROVED


def test_fresh_runs_beside_stale_ones_make_resources_known_again() -> None:
    fresh = [
        replace(run, run_id=f"{run.run_id}'", trial=replace(run.trial, repeat=run.trial.repeat + 2))
        for run in clocked("old", 30)
    ]
    found = verdict(clocked("old", 0, reused=True), fresh, clocked("new", 30, faster=0.5))

    (duration,) = [gate for gate in found.gates if gate.name == "duration"]
    assert duration.state is GateState.HOLDS
    assert duration.evidence is not None
    assert duration.evidence.effect == pytest.approx(-0.5, abs=0.05)


def test_fresh_runs_that_came_before_the_candidate_do_not() -> None:
    fresh = [
        replace(run, run_id=f"{run.run_id}'", trial=replace(run.trial, repeat=run.trial.repeat + 2))
        for run in clocked("old", 30)
    ]
    found = verdict(clocked("old", 0, reused=True), fresh, clocked("new", 40, faster=0.5))

    assert {gate.name for gate in found.gates if gate.state is GateState.UNKNOWN} == {
        "duration",
        "non_cache_tokens",
        "cost",
    }


def test_an_unknown_order_speaks_neither_way() -> None:
    assert reason(arm("old"), arm("new")) is None


def test_a_cold_cache_in_one_arm_is_told() -> None:
    why = reason(cached("old", 100, 900), cached("new", 900, 100))

    assert why is not None
    assert "state of the cache" in why


def test_a_cold_cache_that_is_the_same_on_every_task_is_told() -> None:
    why = reason(cached("old", 100, 900, step=0), cached("new", 900, 100, step=0))

    assert why is not None
    assert "differs by +80 points" in why


def test_a_longer_prompt_with_equal_cache_state_is_no_confounding() -> None:
    assert reason(cached("old", 900, 100), cached("new", 9000, 1000)) is None
