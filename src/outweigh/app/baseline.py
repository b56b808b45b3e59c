"""Pin the runs of a baseline for later experiments, and check a pin for drift by repeating a few of its runs."""

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import msgspec

from outweigh.app.observer import RunObserver
from outweigh.app.run import run_suite
from outweigh.app.run_request import RunRequest
from outweigh.app.suite_selection import SuiteRequest, choose_suite
from outweigh.app.this_folder import RUNS_FOLDER
from outweigh.compare.arm_drift import (
    COMBINED,
    FEWEST_TASKS,
    checked_runs,
    pinned_runs,
    weigh_drift,
)
from outweigh.compare.evidence import gather
from outweigh.engine.batch import EndReason
from outweigh.engine.load_suite import LoadedSuite, effective_repeats
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.codec import LocatedRecord, record_digest
from outweigh.model.evidence_hash import evidence_sha256_v1
from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.model.pin_check import CheckedRun, PinCheck
from outweigh.model.run_record import RunRecord
from outweigh.model.suite import settings_fingerprint
from outweigh.prices import price_tables
from outweigh.report.pins_page import PinRow
from outweigh.store.experiment_file import ExperimentFile
from outweigh.store.pins import Pin, find_pins, open_checks, read_checks, read_pin, write_pin
from outweigh.store.store import Store

PINS_FOLDER = "outweigh-baselines"
CHECKED_TASKS = 5
ENDED_WITH_RUNS = (EndReason.DONE, EndReason.DECIDED, EndReason.FUTILE, EndReason.UNJUDGED)
"""Ends after which every trial that was wanted has its run; drift is measured without judges."""
PINNED_ARM, CURRENT_ARM = "pinned", "now"
_INVALID_IN_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class PinRequest:
    """Whose runs of a store to pin, under which name, into which folder of pins.

    Without `arm` it is the baseline; without `name` one is made of suite, arm and runs.
    """

    store: Path
    arm: str | None = None
    name: str | None = None
    folder: Path = Path(PINS_FOLDER)


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedRuns:
    """A pin and its folder, and whether it was made just now or holds the same runs already."""

    pin: Pin
    folder: Path
    is_new: bool


def pin_runs(request: PinRequest) -> PinnedRuns:
    """Keep every counted run of an arm; runs that are pinned already are not pinned twice."""
    store = request.store
    opened = Store.open(store)
    experiment = opened.experiment
    if experiment is None:
        raise UsageError(f"{store} is not a store of `outweigh run`; a pin needs the suite of its runs.")
    made, runs = _make_pin(experiment, store, request.arm or experiment.baseline, request.name)
    for pinned in map(read_pin, find_pins(request.folder)):
        if pinned.evidence_sha256 == made.evidence_sha256:
            return PinnedRuns(pin=pinned, folder=request.folder / pinned.name, is_new=False)
    place = write_pin(request.folder, made, runs, opened.artifacts)
    return PinnedRuns(pin=made, folder=place, is_new=True)


def pin_rows(folder: Path) -> tuple[PinRow, ...]:
    """Every pin of a folder; a folder that does not exist has none."""
    now = datetime.now(UTC)
    return tuple(_pin_row(path, now) for path in find_pins(folder))


def _pin_row(folder: Path, now: datetime) -> PinRow:
    pinned, checks = read_pin(folder), read_checks(folder)
    checked = checks[-1] if checks else None
    day = timedelta(days=1)
    return PinRow(
        name=pinned.name,
        suite=pinned.suite,
        arm=pinned.arm,
        runs=pinned.runs,
        tasks=len(pinned.tasks),
        agents=pinned.agents,
        age_days=(now - pinned.oldest) / day,
        checked_days=None if checked is None else (now - checked.checked_at) / day,
        checks=len(checks),
        evidence=None if checked is None else checked.evidence.get(COMBINED),
        drifted=None if checked is None else checked.drifted,
        findings=() if checked is None else checked.findings,
    )


def baseline_key(request: SuiteRequest) -> str:
    """The same key means that the same baseline would be run on the same tasks as often, under the same settings."""
    with choose_suite(request) as suite:
        identity = {
            "arm": suite.arms[suite.spec.baseline].fingerprint,
            "tasks": {task.id: task.checksum for task in suite.tasks},
            "settings": settings_fingerprint(suite.spec),
            "repeats": effective_repeats(suite),
        }
    return sha256(msgspec.json.encode(identity, order="sorted")).hexdigest()


def describe_agents(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """Who made these runs: name, version and model, each as far as it is known."""
    parts = {(run.agent.name, run.agent.version, run.agent.model) for run in runs}
    return tuple(sorted(" ".join(filter(None, part)) or "unknown" for part in parts))


def _make_pin(experiment: ExperimentFile, store: Path, arm: str, name: str | None) -> tuple[Pin, list[RunRecord]]:
    if arm not in experiment.arms:
        raise UsageError(f"{store} has no arm {arm!r}; it has {', '.join(map(repr, experiment.arms))}.")
    runs = [
        run
        for run in Store.open(store).runs()
        if run.trial.arm == arm and run.status not in EXCLUDED_STATUSES and run.started_at is not None
    ]
    moments = [run.started_at for run in runs if run.started_at is not None]
    if not moments:
        raise EvidenceError(f"{store} holds no finished run of {arm!r}; there is nothing to pin.")
    if experiment.settings is None:
        raise EvidenceError(f"the runs of {store} were made under several or unknown settings; run the baseline again.")
    digest = evidence_sha256_v1(map(record_digest, runs))
    made = {run.trial.task_id for run in runs}
    wanted = name or _INVALID_IN_NAME.sub("-", f"{experiment.suite}-{arm}-{digest[:12]}").lstrip(".-_")[:100]
    if _INVALID_IN_NAME.search(wanted) or not wanted[:1].isalnum():
        raise UsageError(f"{wanted!r} cannot name a pin; use letters, digits, dots, dashes and underscores.")
    return Pin(
        name=wanted,
        pinned_at=datetime.now(UTC),
        suite=experiment.suite,
        arm=arm,
        fingerprint=experiment.arms[arm],
        settings=experiment.settings,
        tasks={task: checksum for task, checksum in experiment.tasks.items() if task in made},
        runs=len(runs),
        oldest=min(moments),
        newest=max(moments),
        agents=describe_agents(runs),
        evidence_sha256=digest,
    ), runs


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """A pin, how many of its tasks to run again, and how; without an output the check has a store of its own."""

    pin: Path
    tasks: int
    run: RunRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedPin:
    """What a check found about a pin, with the number of its checks so far and of their runs and tasks."""

    name: str
    result: PinCheck
    checks: int
    runs: int
    tasks: int


def check_pin(request: CheckRequest, observer: RunObserver) -> CheckedPin | EndReason:
    """Run a few tasks of a pin again and weigh them with all earlier checks; the pin remembers them.

    Says why where the runs did not end.
    """
    pinned = read_pin(request.pin)
    with choose_suite(request.run.suite) as suite:
        sample = _sample(suite, pinned, read_checks(request.pin), request.tasks)
        store = request.run.output or RUNS_FOLDER / f"check-{pinned.name}-{datetime.now(UTC):%Y%m%dT%H%M%S}"
        if store.exists():
            raise UsageError(f"{store} exists already, and a check needs a new folder; name one with -o.")
        ended = run_suite(sample, replace(request.run, output=store, dry_run=False), observer)
    if isinstance(ended, EndReason) and ended not in ENDED_WITH_RUNS:
        return ended
    return _record_check(request.pin, pinned, list(Store.open(request.pin).runs()), list(Store.open(store).runs()))


def _record_check(folder: Path, pinned: Pin, then: Sequence[RunRecord], now: Sequence[RunRecord]) -> CheckedPin:
    before, outcomes = _in_figures(then, now)
    if (tasks := len({run.task_id for run in outcomes})) < FEWEST_TASKS:
        raise EvidenceError(f"the check has {tasks} tasks with a result; it needs at least {FEWEST_TASKS}.")
    with open_checks(folder) as checks:
        made = [check.outcomes for check in checks.earlier if check.outcomes]
        drift = weigh_drift(before, [*made, outcomes], pinned.evidence_sha256)
        findings = (*_agent_changes(pinned, now), *drift.findings)
        result = PinCheck(
            checked_at=datetime.now(UTC),
            drifted=bool(findings),
            findings=findings,
            runs=len(now),
            outcomes=outcomes,
            evidence=dict(drift.evidence),
        )
        checks.append(result)
    return CheckedPin(name=pinned.name, result=result, checks=len(made) + 1, runs=drift.runs, tasks=drift.tasks)


def _in_figures(
    then: Sequence[RunRecord], now: Sequence[RunRecord]
) -> tuple[tuple[CheckedRun, ...], tuple[CheckedRun, ...]]:
    """The pinned runs and those of the check on one scale, at the same prices."""
    evidence = gather((*_relabelled(then, PINNED_ARM), *_relabelled(now, CURRENT_ARM)), prices=price_tables(None))
    before = evidence.arms.get(PINNED_ARM, ())
    return pinned_runs(before), checked_runs(before, evidence.arms.get(CURRENT_ARM, ()))


def _relabelled(runs: Sequence[RunRecord], arm: str) -> Iterator[LocatedRecord]:
    """One arm then and now, as two."""
    for number, run in enumerate(runs, 1):
        trial = msgspec.structs.replace(run.trial, arm=arm)
        yield LocatedRecord(msgspec.structs.replace(run, trial=trial, run_id=f"{arm} {run.run_id}"), arm, number)


def _agent_changes(pinned: Pin, now: Sequence[RunRecord]) -> Iterator[str]:
    agents = describe_agents([run for run in now if run.status not in EXCLUDED_STATUSES])
    if agents and set(agents) != set(pinned.agents):
        yield f"the agent was {' and '.join(pinned.agents)} and is {' and '.join(agents)}"


def _sample(suite: LoadedSuite, pinned: Pin, checks: Sequence[PinCheck], size: int) -> LoadedSuite:
    """The pinned arm alone, on the tasks that were checked least often, so that all of them get their turn.

    Among those checked equally often the order is random and fixed by the pin: no result has a say in it.
    """
    name = suite.spec.baseline
    _require_same_arm(suite, pinned)
    shared = [task for task in suite.tasks if pinned.tasks.get(task.id) == task.checksum]
    if len(shared) < FEWEST_TASKS:
        raise UsageError(f"the suite shares {len(shared)} unchanged tasks with {pinned.name}; run the baseline again.")
    turns = Counter(run.task_id for check in checks for run in check.outcomes)
    random.Random(pinned.evidence_sha256).shuffle(shared)
    chosen = sorted(shared, key=lambda task: turns[task.id])[:size]
    spec = msgspec.structs.replace(suite.spec, arms={name: suite.spec.arms[name]}, judges=[])
    return replace(suite, spec=spec, arms={name: suite.arms[name]}, tasks=tuple(chosen), inheriting={})


def _require_same_arm(suite: LoadedSuite, pinned: Pin) -> None:
    name = suite.spec.baseline
    if suite.arms[name].fingerprint != pinned.fingerprint:
        raise UsageError(f"{pinned.name} was made with another configuration than {name!r} has now; pin that one.")
    if settings_fingerprint(suite.spec) != pinned.settings:
        raise UsageError(f"{pinned.name} was made under other settings (sandbox, limits, gateway); pin under these.")
