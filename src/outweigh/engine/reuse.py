"""Runs of earlier experiments that can be reused: same arm, same task, same settings, and recent enough."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from outweigh.engine.trial_plan import PlannedRun
from outweigh.model.arm import Arm
from outweigh.model.codec import record_digest
from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.model.run_record import REUSED_LABEL, RunRecord
from outweigh.model.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseSource:
    """An earlier experiment: its name, the hash of its settings, and its runs."""

    name: str
    settings: str | None
    runs: Sequence[RunRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReusedRun:
    """A record for a planned run, and the source that holds its artifacts."""

    record: RunRecord
    source: str
    started_at: datetime


def find_reusable_runs(
    left: Iterable[tuple[PlannedRun, int]],
    arms: Mapping[str, Arm],
    tasks: Mapping[str, Task],
    sources: Iterable[ReuseSource],
    *,
    settings: str,
    not_before: datetime,
) -> Iterator[ReusedRun]:
    """For each planned run the newest matching one; no run is used twice."""
    stock = _candidates([source for source in sources if source.settings == settings], not_before)
    for planned, attempt in left:
        arm, task = arms[planned.trial.arm], tasks[planned.trial.task_id]
        fitting = stock.get((arm.fingerprint, task.checksum))
        if fitting:
            source, run, started_at = fitting.pop()
            yield ReusedRun(record=_as_planned(run, source, planned, attempt), source=source, started_at=started_at)


def version_drift(reused: Iterable[RunRecord], fresh: Iterable[RunRecord]) -> str | None:
    """How the agents' versions changed since the reused runs; None where they did not, or are unknown."""
    before, after = ({_agent_version(run) for run in runs} - {None} for runs in (reused, fresh))
    if not before or not after or before == after:
        return None
    return (
        f"the reused runs were made by {' and '.join(sorted(filter(None, before)))}, the others by "
        f"{' and '.join(sorted(filter(None, after)))}: what that changed counts as a difference between the arms. "
        "Run the baseline anew to be sure."
    )


def age_note(arm: str, moments: Sequence[datetime], now: datetime) -> str:
    """The note about reused runs and their age that is shown with the results."""
    days = (now - min(moments)) / timedelta(days=1)
    return (
        f"{len(moments)} runs of {arm} are reused from an earlier experiment, the oldest {days:.1f} days old. Whatever "
        "changed since then in models, agents or machines counts as a difference between the arms."
    )


def _candidates(
    sources: Iterable[ReuseSource], not_before: datetime
) -> dict[tuple[str, str], list[tuple[str, RunRecord, datetime]]]:
    """Reusable runs by arm and task, the newest last, without duplicates."""
    found: dict[tuple[str, str], dict[bytes, tuple[str, RunRecord, datetime]]] = defaultdict(dict)
    for source in sources:
        for run in source.runs:
            if run.status in EXCLUDED_STATUSES or run.started_at is None or run.started_at < not_before:
                continue
            if run.arm_fingerprint is not None and run.task_checksum is not None:
                kept = found[run.arm_fingerprint, run.task_checksum]
                kept[_run_identity(run)] = (source.name, run, run.started_at)
    return {key: sorted(runs.values(), key=lambda item: (item[2], item[1].run_id)) for key, runs in found.items()}


def _run_identity(run: RunRecord) -> bytes:
    """The digest of the original record, which copies under other names share."""
    original = run.extra.get(REUSED_LABEL)
    return bytes.fromhex(original["record_sha256"]) if isinstance(original, dict) else record_digest(run)


def _as_planned(run: RunRecord, source: str, planned: PlannedRun, attempt: int) -> RunRecord:
    origin = run.extra.get(REUSED_LABEL) or {
        "run_id": run.run_id,
        "source": source,
        "record_sha256": record_digest(run).hex(),
    }
    trial = planned.trial
    return msgspec.structs.replace(
        run,
        run_id=f"{trial.task_id}/{trial.arm}/{trial.repeat}#{attempt}",
        trial=trial,
        attempt=attempt,
        position=planned.position,
        extra={**run.extra, REUSED_LABEL: origin},
    )


def _agent_version(run: RunRecord) -> str | None:
    agent = run.agent
    return None if agent.version is None else " ".join(filter(None, (agent.name, agent.version, agent.model)))
