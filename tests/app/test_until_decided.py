"""The looks of a run: which tasks they take in, when they end it, and that a verdict on the store says the same."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace
from tests.verdict.looked_runs import ORDER, PLAN, look, runs, verdicts

from outweigh.app.until_decided import Looks
from outweigh.engine.batch import EndReason, LookResult
from outweigh.model.look_plan import LookPlan, plan_even_looks
from outweigh.model.pricing import PriceTables
from outweigh.model.run_record import REUSED_LABEL, RunRecord
from outweigh.testing.builders import a_check
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import evidence_settings

TODAY = datetime(2026, 3, 1, tzinfo=UTC)
GATES = ["pass_rate", "duration"]


def looks_at(
    plan: LookPlan | None = PLAN, arms: Sequence[str] = ("new",), reuse_max_age_days: float | None = None
) -> Looks:
    planned_tasks = len(ORDER) if plan is None else None
    settings = evidence_settings(gates=GATES, looks=plan, planned_tasks=planned_tasks)
    return Looks("old", arms, plan or PLAN, settings, PriceTables(), reuse_max_age_days)


def run(looks: Looks, records: Sequence[RunRecord], finished_in: Sequence[str] = ORDER) -> tuple[LookResult, int]:
    """Finish task after task until a look ends the run: what that look says, and after how many tasks."""
    seen = LookResult()
    for done, task in enumerate(finished_in, start=1):
        for record in records:
            if record.trial.task_id == task and record.trial.arm not in seen.settled:
                looks.add(record)
        seen = looks.take(set(finished_in[done:]))
        if seen.end is not None:
            return seen, done
    return seen, len(finished_in)


def test_a_run_ends_at_the_look_that_decides_and_a_verdict_on_its_records_says_the_same() -> None:
    records = runs(ORDER, 0.45, speed=0.8)

    seen, tasks = run(looks_at(), records)
    made = [record for record in records if record.trial.task_id in ORDER[:tasks]]
    (verdict,) = verdicts(made)

    assert (seen.end, seen.settled) == (EndReason.DECIDED, frozenset({"new"}))
    assert verdict.decision is Decision.IMPROVED
    assert look(verdict)["tasks"] == tasks < 20
    assert verdict.reasons[-1].endswith(seen.notes[0].removeprefix("new: improved "))


def test_a_run_in_which_nothing_differs_ends_early_without_a_decision() -> None:
    records = runs(ORDER, 0.0, seed=4)

    seen, tasks = run(looks_at(), records)
    (verdict,) = verdicts([record for record in records if record.trial.task_id in ORDER[:tasks]])

    assert (seen.end, tasks < len(ORDER)) == (EndReason.FUTILE, True)
    assert verdict.decision is Decision.INCONCLUSIVE
    assert look(verdict)["tasks"] == tasks
    assert look(verdict)["futile"]


def with_old_runs(*, passed: bool, seconds: float) -> list[RunRecord]:
    """Every run of today passes; the second run of each task of the baseline is reused, and 30 days old."""
    return [
        replace(
            record,
            started_at=TODAY - timedelta(days=30),
            checks=(a_check(passed=passed),),
            duration_seconds=seconds,
            extra={REUSED_LABEL: {"run_id": record.run_id}},
        )
        if (record.trial.arm, record.trial.repeat) == ("old", 2)
        else replace(record, started_at=TODAY, checks=(a_check(passed=True),))
        for record in runs(ORDER, seed=4)
    ]


def test_stale_runs_of_the_baseline_play_no_part_in_a_look() -> None:
    """A look says what it says without them, whatever they show; taken in, slow failures would be an improvement."""
    failed, passed = with_old_runs(passed=False, seconds=900.0), with_old_runs(passed=True, seconds=60.0)
    fresh = [record for record in failed if record.started_at == TODAY]

    without = run(looks_at(), fresh)

    assert without[0].end is EndReason.FUTILE
    assert run(looks_at(reuse_max_age_days=7.0), failed) == without
    assert run(looks_at(reuse_max_age_days=7.0), passed) == without
    assert run(looks_at(reuse_max_age_days=40.0), failed)[0].end is EndReason.DECIDED


def test_the_age_of_reused_runs_counts_to_the_first_run_of_the_experiment_in_every_look() -> None:
    """Tasks that were run days later do not make the reused runs beside them stale."""
    records = [
        replace(record, started_at=TODAY - timedelta(days=6), extra={REUSED_LABEL: {"run_id": "there"}})
        if record.trial.arm == "old"
        else replace(record, started_at=TODAY + timedelta(days=ORDER.index(record.trial.task_id)))
        for record in runs(ORDER, 0.45, speed=0.8)
    ]

    assert run(looks_at(reuse_max_age_days=7.0), records) == run(looks_at(), records)


def test_tasks_that_finish_early_wait_for_those_that_come_before_them() -> None:
    records = runs(ORDER, 0.45, speed=0.8)
    first_last = [*ORDER[1:], ORDER[0]]

    seen, tasks = run(looks_at(), records, finished_in=first_last)

    assert (seen.end, tasks) == (EndReason.DECIDED, len(ORDER))


def test_looks_that_fall_due_together_are_taken_in_their_order() -> None:
    records = runs(ORDER, 0.45, speed=0.8)
    together = looks_at()
    for record in records:
        together.add(record)

    one_by_one, _ = run(looks_at(), records)

    assert together.take(set()).notes == one_by_one.notes


def test_a_run_whose_last_look_decides_nothing_has_just_ended() -> None:
    looks = looks_at(plan_even_looks(ORDER[:6], 2))
    records = runs(ORDER[:6], 0.0, seed=4)

    seen, tasks = run(looks, records, finished_in=ORDER[:6])

    assert (seen, tasks) == (LookResult(), 6)


def test_no_look_is_taken_before_its_tasks_are_complete() -> None:
    looks = looks_at()
    for record in runs(ORDER, 0.45, speed=0.8):
        looks.add(record)

    assert looks.take(set(ORDER[5:])) == LookResult()


def test_a_task_that_becomes_complete_while_a_look_is_taken_counts_with_all_its_runs() -> None:
    records = runs(ORDER, 0.45, speed=0.8)

    class LastTaskEndsNow(set[str]):
        """Tasks that are all complete as soon as they are asked for; only then have their runs ended."""

        def __contains__(self, task: object) -> bool:
            while late:
                looks.add(late.pop())
            return False

    looks, late = looks_at(), list(records)

    seen = looks.take(LastTaskEndsNow())

    assert seen == run(looks_at(), records)[0]


def test_a_candidate_that_is_settled_needs_no_more_runs_while_the_others_go_on() -> None:
    records = [
        *runs(ORDER, 0.45, speed=0.8),
        *(r for r in runs(ORDER, 0.1, seed=8, arms=("slow",)) if r.trial.arm == "slow"),
    ]
    looks = looks_at(arms=("new", "slow"))
    settled = [(done, seen.settled) for done, seen in enumerate(steps(looks, records), start=1)]

    done, first = next(step for step in settled if step[1])
    assert first == {"new"}
    assert done < 30
    assert settled[-1][1] == {"new", "slow"}


def test_among_three_candidates_one_that_can_no_longer_win_is_dropped() -> None:
    arms = ("a", "b", "c")
    records = runs(ORDER, -0.1, seed=11, arms=arms)

    seen, tasks = run(looks_at(arms=arms), records)

    assert seen.end is EndReason.FUTILE
    assert tasks <= 20
    assert any("can no longer win" in note for step in steps(looks_at(arms=arms), records) for note in step.notes)


def test_a_store_that_planned_no_looks_is_decided_by_a_confidence_sequence() -> None:
    seen, tasks = run(looks_at(None), runs(ORDER, 0.45, speed=0.8))
    nothing, to_the_end = run(looks_at(None), runs(ORDER, 0.0, seed=4))

    assert seen.end is EndReason.DECIDED
    assert seen.notes == (f"new: improved after {tasks} of 40 tasks",)
    assert (nothing.end, to_the_end) == (None, len(ORDER))


def steps(looks: Looks, records: Sequence[RunRecord]) -> list[LookResult]:
    """Every look while task after task finishes in the plan's order."""
    found = []
    for done, task in enumerate(ORDER, start=1):
        for record in records:
            if record.trial.task_id == task:
                looks.add(record)
        found.append(looks.take(set(ORDER[done:])))
    return found
