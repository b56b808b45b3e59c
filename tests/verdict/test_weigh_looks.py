"""Verdicts at planned looks: which tasks count, which look stands, and what is said about it."""

import pytest
from tests.verdict.looked_runs import ORDER, PLAN, TASKS, look, runs, verdicts

from outweigh.errors import UsageError
from outweigh.model.look_plan import LookPlan
from outweigh.model.run_record import RunRecord
from outweigh.verdict.decision import Decision, Verdict
from outweigh.verdict.evidence_settings import evidence_settings


def verdict(records: list[RunRecord], plan: LookPlan | None = PLAN) -> Verdict:
    return verdicts(records, plan)[0]


def test_the_first_look_that_decides_stands() -> None:
    early = verdict(runs(ORDER[:20], 0.45, speed=0.8))
    full = verdict(runs(ORDER[:20], 0.45, speed=0.8) + runs(ORDER[20:], 0.0, seed=3))

    assert early.decision is full.decision is Decision.IMPROVED
    assert look(early) == look(full)
    assert look(early)["tasks"] < 20
    assert [gate.evidence.tasks for gate in full.gates if gate.evidence] == [look(full)["tasks"]] * 2


def test_an_alarm_that_comes_later_takes_its_place() -> None:
    first = runs(ORDER[:10], 0.45, speed=0.8, seed=4)

    turned = verdict(first + runs(ORDER[10:], -0.5, speed=0.8, seed=54))

    assert verdict(first).decision is Decision.IMPROVED
    assert turned.decision is Decision.REGRESSED
    assert look(turned)["tasks"] > 10


def test_only_the_first_tasks_of_the_order_count_however_early_others_finish() -> None:
    behind = [record for record in runs(ORDER, 0.45, speed=0.8) if record.trial.task_id != ORDER[3]]

    found = verdict(behind)

    assert found.decision is Decision.INCONCLUSIVE
    assert look(found)["look"] is None
    assert any("the first planned look comes after 6 tasks" in reason for reason in found.reasons)


def test_a_task_with_a_missing_repeat_is_not_complete() -> None:
    records = runs(ORDER[:8], 0.45, speed=0.8)
    last = next(record for record in records if record.trial.task_id == ORDER[7])
    records.remove(last)

    assert look(verdict(records))["tasks"] == 6


def test_the_levels_of_the_look_decide() -> None:
    records = runs(ORDER[:10], 0.3, speed=0.85, seed=2)

    assert verdict(records, None).decision is Decision.IMPROVED
    assert verdict(records).decision is Decision.INCONCLUSIVE


def test_intervals_are_those_of_the_look() -> None:
    records = runs(ORDER[:16], 0.0, seed=2)
    once, looked = verdict(records, None), verdict(records)

    for narrow, wide in zip(once.gates, looked.gates, strict=True):
        assert narrow.evidence is not None
        assert wide.evidence is not None
        assert wide.evidence.low < narrow.evidence.low < narrow.evidence.high < wide.evidence.high  # type: ignore[operator]


def test_a_verdict_says_at_which_look_it_was_made() -> None:
    found = verdict(runs(ORDER, 0.0, seed=4))

    assert look(found)["tasks"] == TASKS
    assert f"at planned look {len(PLAN.sizes)} of {len(PLAN.sizes)}, after 40 of 40 tasks" in found.reasons[-1]


def test_a_verdict_says_that_going_on_is_futile() -> None:
    found = verdict(runs(ORDER[:30], 0.0, seed=4))

    assert found.decision is Decision.INCONCLUSIVE
    assert look(found)["futile"]
    assert found.reasons[-1].endswith("after 30 of 40 tasks; continuing is unlikely to change that")


def test_a_candidate_that_was_dropped_is_decided_at_its_own_look_and_the_others_are_corrected_for_it() -> None:
    records = runs(ORDER, 0.0, seed=4, arms=("new", "other"))
    dropped = set(ORDER[20:])
    kept = [record for record in records if not (record.trial.arm == "other" and record.trial.task_id in dropped)]

    new, other = verdicts(kept, arms=("new", "other"))

    assert (look(new)["tasks"], look(other)["tasks"]) == (40, 20)
    assert not any("in one arm only" in reason for reason in other.reasons)
    assert other.regressions == ()


def test_the_p_value_of_an_improvement_is_that_of_all_looks() -> None:
    records = runs(ORDER[:10], 0.45, speed=0.8, seed=4)
    once, looked = verdict(records, None), verdict(records)

    assert once.superiority_p is not None
    assert looked.superiority_p is not None
    assert once.superiority_p < looked.superiority_p < 0.02


def test_looks_at_fixed_tasks_are_refused() -> None:
    with pytest.raises(UsageError, match="counts runs of fixed tasks"):
        evidence_settings(fixed_suite=True, looks=PLAN)
