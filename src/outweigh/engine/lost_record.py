"""Records about attempts whose host is gone: that one was lost, and one that came after all.

A late record counts if no other attempt has settled its trial; otherwise it is kept for what it cost.
"""

from dataclasses import dataclass, replace

import msgspec

from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.run_draft import RunDraft, build_record, unknown_outcome
from outweigh.engine.trial_plan import PlannedRun
from outweigh.model.base import Json
from outweigh.model.failure import EXCLUDED_STATUSES, Status
from outweigh.model.run_record import LATE_LABEL, LateLabel, RunRecord, amount_paid
from outweigh.model.usage import Cost


@dataclass(frozen=True, slots=True)
class LossReason:
    """Why an attempt has no result, and what it had cost when that was last known."""

    detail: str
    cost: Cost


def late_id(run_id: str) -> str:
    """The id of a record whose attempt was closed under `run_id` before it came."""
    return f"{run_id}-late"


def lost_record(planned: PlannedRun, number: int, suite: LoadedSuite, labels: Json, lost: LossReason) -> RunRecord:
    """The record of an attempt that took place and has no result: not even its start time is known."""
    trial = planned.trial
    task = next(task for task in suite.tasks if task.id == trial.task_id)
    draft = RunDraft(
        planned=planned, number=number, task=task, arm=suite.arms[trial.arm], started_at=None, labels=labels
    )
    draft.failure = Status.INFRA_ERROR, lost.detail
    draft.outcome = replace(unknown_outcome(draft.arm), cost=lost.cost)
    return build_record(draft, {}, ())


def late_record(record: RunRecord, closed: RunRecord | None, number: int, *, settled: bool) -> RunRecord:
    """A record that came after its attempt was `closed`, under an id and a `number` that no other attempt has.

    Where the trial is `settled` it is no result, whatever it was. `closed` is None where the attempt has no record yet.
    """
    superseded = settled and record.status not in EXCLUDED_STATUSES
    counted = 0.0 if closed is None else amount_paid(closed) or 0.0
    label = LateLabel(run_id=record.run_id, counted_usd=counted, status=record.status.value if superseded else None)
    late = msgspec.structs.replace(
        record,
        run_id=record.run_id if closed is None else late_id(record.run_id),
        attempt=record.attempt if closed is None else number,
        extra={**record.extra, LATE_LABEL: msgspec.to_builtins(label)},
    )
    if not superseded:
        return late
    return msgspec.structs.replace(
        late,
        status=Status.INFRA_ERROR,
        status_detail=f"it came after another attempt had settled the trial; it had ended as {record.status.value}",
    )
