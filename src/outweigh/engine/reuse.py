"""Runs of earlier experiments that can be reused: same arm, same task, same settings, and not too many stale ones.

A run beyond the suite's `reuse_max_age` is stale: whatever changed since in models, agents or machines would count as a
difference between the arms. Stale runs stand for at most half of a task's runs. The others are made anew among the
candidate's: these anchor runs are what a verdict compares, and the stale ones show how far the baseline moved.
"""

from collections import Counter, defaultdict
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
    stale: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseLimits:
    """Runs from before `not_before` are stale; `stale_runs` says how many of them each task may have."""

    not_before: datetime
    stale_runs: Mapping[str, int]


def reuse_limits(
    plan: Iterable[PlannedRun],
    stored: Iterable[RunRecord],
    *,
    baseline: str,
    not_before: datetime,
) -> ReuseLimits:
    """Half of a task's runs of the baseline may be stale, less those in the store; none where no arm is compared."""
    planned = list(plan)
    repeats = Counter(run.trial.task_id for run in planned if run.trial.arm == baseline)
    compared = any(run.trial.arm != baseline for run in planned)
    held = Counter(
        run.trial.task_id
        for run in stored
        if REUSED_LABEL in run.extra and (run.started_at is None or run.started_at < not_before)
    )
    return ReuseLimits(
        not_before=not_before,
        stale_runs={task: max(0, runs // 2 - held[task]) if compared else 0 for task, runs in repeats.items()},
    )


def find_reusable_runs(
    left: Iterable[tuple[PlannedRun, int]],
    arms: Mapping[str, Arm],
    tasks: Mapping[str, Task],
    sources: Iterable[ReuseSource],
    *,
    settings: str,
    limits: ReuseLimits,
) -> Iterator[ReusedRun]:
    """For each planned run the newest matching one, as far as the limits allow; no run is used twice."""
    stock = _candidates(source for source in sources if source.settings == settings)
    stale_left = dict(limits.stale_runs)
    # In the random order of the trials' seeds: in the order of the plan, the runs to be made would all come last.
    for planned, attempt in sorted(left, key=lambda each: each[0].trial.seed or 0):
        arm, task = arms[planned.trial.arm], tasks[planned.trial.task_id]
        fitting = stock.get((arm.fingerprint, task.checksum))
        if not fitting:
            continue
        source, run, started_at = fitting[-1]
        stale = started_at < limits.not_before
        if stale and not stale_left.get(task.id, 0):
            continue
        stale_left[task.id] -= stale
        fitting.pop()
        record = _as_planned(run, source, planned, attempt)
        yield ReusedRun(record=record, source=source, started_at=started_at, stale=stale)


def anchor_repeats(
    runs: Iterable[RunRecord], repeats: int, *, begun_at: datetime, max_age: timedelta | None
) -> dict[str, tuple[int, ...]]:
    """The repeats of the baseline to run anew beside a version of an arm that was begun at some time, by task.

    `runs` are the baseline's in the same store. Those that are older than `max_age` by then are stale: of each task's
    `repeats` at most half may be. With None every earlier run is run anew. The new repeats follow the earlier ones, so
    the same numbers come out when the run is started again.
    """
    earlier: dict[str, int] = {}
    stale: Counter[str] = Counter()
    for run in runs:
        if run.started_at is None or run.started_at >= begun_at:
            continue
        task, repeat = run.trial.task_id, run.trial.repeat
        earlier[task] = max(repeat, earlier.get(task, repeats))
        is_counted = run.status not in EXCLUDED_STATUSES and repeat <= repeats
        stale[task] += is_counted and (max_age is None or begun_at - run.started_at > max_age)
    allowed = 0 if max_age is None else repeats // 2
    return {
        task: tuple(range(earlier[task] + 1, earlier[task] + 1 + number - allowed))
        for task, number in stale.items()
        if number > allowed
    }


def version_drift(reused: Iterable[RunRecord], fresh: Iterable[RunRecord]) -> str | None:
    """How the agents' versions changed since the reused runs; None where they did not, or are unknown."""
    before, after = ({_agent_version(run) for run in runs} - {None} for runs in (reused, fresh))
    if not before or not after or before == after:
        return None
    return (
        f"the reused runs were made by {' and '.join(sorted(filter(None, before)))}, the others by "
        f"{' and '.join(sorted(filter(None, after)))}: what that changed counts as a difference between the arms. "
        "Run the baseline again to be sure."
    )


def age_note(arm: str, reused: Sequence[ReusedRun], now: datetime, max_age: str) -> str:
    """The note about reused runs and their age that is shown with the results."""
    days = (now - min(run.started_at for run in reused)) / timedelta(days=1)
    note = f"{len(reused)} runs of {arm} are reused from an earlier experiment, the oldest {days:.1f} days old."
    if stale := sum(run.stale for run in reused):
        return (
            f"{note} {stale} of them are older than reuse_max_age ({max_age}), so other runs of {arm} are repeated on "
            "every task, and the candidate is compared with those; the old ones show how far the baseline moved."
        )
    return f"{note} What changed since then in models, agents or machines counts as a difference between the arms."


def _candidates(
    sources: Iterable[ReuseSource],
) -> dict[tuple[str, str], list[tuple[str, RunRecord, datetime]]]:
    """Reusable runs by arm and task, the newest last, without duplicates."""
    found: dict[tuple[str, str], dict[bytes, tuple[str, RunRecord, datetime]]] = defaultdict(dict)
    for source in sources:
        for run in source.runs:
            if run.status in EXCLUDED_STATUSES or run.started_at is None:
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
    # No position: it was not run in the order of this plan, and its clock says when it was.
    return msgspec.structs.replace(
        run,
        run_id=f"{trial.task_id}/{trial.arm}/{trial.repeat}#{attempt}",
        trial=trial,
        attempt=attempt,
        position=None,
        extra={**run.extra, REUSED_LABEL: origin},
    )


def _agent_version(run: RunRecord) -> str | None:
    agent = run.agent
    return None if agent.version is None else " ".join(filter(None, (agent.name, agent.version, agent.model)))
