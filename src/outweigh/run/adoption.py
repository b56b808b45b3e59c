"""A run that another harness made for us, as the record of the trial that it was made for."""

from collections.abc import Collection

from msgspec.structs import replace

from outweigh.record.rules import RULES_LABEL
from outweigh.record.run_record import RunRecord
from outweigh.record.trajectory import Step
from outweigh.record.trial import ARBITRARY, REPEAT_LABEL, Trial
from outweigh.run.redaction import storable, storable_check
from outweigh.task.arm import Arm
from outweigh.task.task import Task

JOB = "job"
"""Where a record says which job of the other harness it comes from."""
SOURCE_CHECKSUM = "source_task_checksum"
"""Where it keeps the harness's own hash of the task."""


def adopted(
    record: RunRecord,
    trial: Trial,
    attempt: int,
    *,
    arm: Arm,
    task: Task,
    job: str,
    rules_sha256: str | None,
    secrets: Collection[str],
) -> RunRecord:
    """What the harness measured, under our names for it and tied to our rules, without anybody's secrets.

    Which of several repeats a run is, is a label: the harness knows none. The place in our plan is left unknown:
    whoever asks for the order of the runs goes by the clock.
    """
    checks, steps = record.checks, record.steps
    rules = {} if rules_sha256 is None else {RULES_LABEL: rules_sha256}
    return replace(
        record,
        trial=trial,
        attempt=attempt,
        status_detail=storable(record.status_detail, secrets),
        arm_fingerprint=arm.fingerprint,
        task_checksum=task.checksum,
        family=task.family,
        position=None,
        checks=None if checks is None else tuple(storable_check(check, secrets) for check in checks),
        steps=None if steps is None else tuple(_storable_step(step, secrets) for step in steps),
        warnings=tuple(storable(warning, secrets) or "" for warning in record.warnings),
        extra={**record.extra, JOB: job, REPEAT_LABEL: ARBITRARY, SOURCE_CHECKSUM: record.task_checksum, **rules},
    )


def _storable_step(step: Step, secrets: Collection[str]) -> Step:
    return replace(step, message=storable(step.message, secrets))
