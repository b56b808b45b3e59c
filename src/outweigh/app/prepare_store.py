"""Prepare a store before the first run: record what it is for, keep the files of its arms, copy baseline runs that can
be reused.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from outweigh.app.observer import Notify
from outweigh.engine.experiment import experiment_progress
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.reuse import (
    ReusedRun,
    ReuseLimits,
    ReuseSource,
    age_note,
    find_reusable_runs,
    reuse_limits,
    version_drift,
)
from outweigh.engine.trial_plan import PlannedRun
from outweigh.errors import EvidenceError, OutweighError, UsageError
from outweigh.interop.harbor.jobs import has_started_jobs
from outweigh.model.look_plan import LookPlan
from outweigh.model.run_record import REUSED_LABEL, RunRecord
from outweigh.model.suite import age_in_days, settings_fingerprint
from outweigh.store.corrections_file import refuse_corrections
from outweigh.store.experiment_changes import VersionNames
from outweigh.store.experiment_file import EXPERIMENT_FILE, read_experiment, remove_experiment
from outweigh.store.pins import find_pins, read_check, read_settings_fingerprint
from outweigh.store.run_store import FolderRunStore
from outweigh.store.store import Store
from outweigh.store.store_address import is_address
from outweigh.store.write_experiment import UNIFORM_REPEATS, PlannedRepeats, write_experiment

FIRST_START = timedelta(hours=1)
"""The first run starts within this time, so a run that is not stale now is not stale for a verdict either."""


def begin_store(  # noqa: PLR0913 - see write_experiment
    store: FolderRunStore,
    suite: LoadedSuite,
    plan: Sequence[PlannedRun],
    secrets: Collection[str],
    notify: Notify,
    *,
    looks: LookPlan | None,
    reuse: Sequence[str],
    whole: Sequence[PlannedRun],
    versions: VersionNames,
    repeats: PlannedRepeats = UNIFORM_REPEATS,
) -> None:
    """Record what the store is for and when it is looked at, keep the files of its arms, and copy the runs that can be
    reused.

    `whole` is the plan of all shards. What the store is for says how many runs it has, so that all shards say the same.
    """
    refuse_corrections(store.folder)
    if not store.begun and not has_started_jobs(store.folder):
        remove_experiment(store.folder)
    # Noted before anything is copied: a store that is for something else is refused here.
    finished = store.finished()
    others = finished.keys() - {run.trial.key for run in whole}
    _write_experiment(
        store, suite, versions, looks=looks, planned_runs=len(whole) + len(others) + repeats.later_runs, repeats=repeats
    )
    # The manifest of an arm is found by its fingerprint, which every run names.
    for content in (*suite.overlays.values(), *(arm.manifest for arm in suite.arms.values())):
        if not any(secret and secret.encode() in content for secret in secrets):
            store.keep(content)
    _show_notes(suite.notes, notify)
    if reuse:
        _reuse_runs(store, suite, plan, reuse, notify, versions)


def note_drift(store: FolderRunStore, suite: LoadedSuite, notify: Notify, versions: VersionNames) -> None:
    """After the last run: whether reused runs and new ones were made by the same agents."""
    records = [record for attempts in store.finished().values() for record in attempts]
    reused = [record for record in records if REUSED_LABEL in record.extra]
    if reused:
        drift = version_drift(reused, (record for record in records if REUSED_LABEL not in record.extra))
        _add_notes(store, suite, versions, [] if drift is None else [drift], notify)


def _reuse_runs(
    store: FolderRunStore,
    suite: LoadedSuite,
    plan: Sequence[PlannedRun],
    reuse: Sequence[str],
    notify: Notify,
    versions: VersionNames,
) -> None:
    now, baseline, max_age = datetime.now(UTC), suite.spec.baseline, suite.spec.reuse_max_age
    left = [(run, number) for run, number in experiment_progress(plan, store).left if run.trial.arm == baseline]
    folders = list(_reusable_folders(reuse, notify))
    found = find_reusable_runs(
        left,
        suite.arms,
        {task.id: task for task in suite.tasks},
        [
            ReuseSource(
                name=Store.open(place).name, settings=read_settings_fingerprint(place), runs=_fresh_runs(place, suite)
            )
            for place in folders
        ],
        settings=settings_fingerprint(suite.spec),
        limits=_reuse_limits(store, plan, baseline, now + FIRST_START - timedelta(days=age_in_days(max_age))),
    )
    reused = [one for one in found if _copy_run(one, store, notify)]
    if reused:
        _add_notes(store, suite, versions, [age_note(baseline, reused, now, max_age)], notify)
    notify(f"{len(reused)} of {len(left)} runs of {baseline} are reused")


def _fresh_runs(place: Path, suite: LoadedSuite) -> list[RunRecord]:
    """The runs of a store that may be reused: not those that the suite's tasks were chosen by."""
    chosen = suite.spec.chosen
    return [run for run in Store.open(place).runs() if chosen is None or not chosen.used(run)]


def _reuse_limits(
    store: FolderRunStore, plan: Sequence[PlannedRun], baseline: str, not_before: datetime
) -> ReuseLimits:
    """How many stale runs may be reused: none for a version of an arm, which misses only fresh runs of the baseline."""
    records = [record for attempts in store.finished().values() for record in attempts]
    limits = reuse_limits(plan, records, baseline=baseline, not_before=not_before)
    experiment = read_experiment(store.folder)
    if experiment is None or not experiment.versions:
        return limits
    return replace(limits, stale_runs=dict.fromkeys(limits.stale_runs, 0))


def _reusable_folders(paths: Sequence[str], notify: Notify) -> Iterator[Path]:
    for path in _local_folders(paths):
        if (path / EXPERIMENT_FILE).is_file():
            yield path
            continue
        if path.exists() and not path.is_dir():
            raise UsageError(f"--reuse {path}: name a store, a pin or a folder of pins.")
        # A folder that does not exist yet holds no pins: the first experiment of all has nothing to reuse.
        for pin in find_pins(path):
            check = read_check(pin)
            if check is not None and check.drifted:
                notify(f"{pin} is not reused: a check found drift")
            else:
                yield pin


def _local_folders(paths: Sequence[str]) -> Iterator[Path]:
    """The folders that are named; of an address, what was fetched of the stores and pins there."""
    for path in paths:
        if not is_address(path):
            yield Path(path)
            continue
        from outweigh.store.fetched_stores import fetch_stores  # noqa: PLC0415 - only for addresses

        yield from (store.folder for store in fetch_stores(path, _refuse_source))


def _refuse_source(_: str, fault: OutweighError) -> None:
    raise fault


def _copy_run(one: ReusedRun, store: FolderRunStore, notify: Notify) -> bool:
    """Copy a run with everything it names; one whose artifacts are gone is made again instead."""
    artifacts = Store.open(one.source).artifacts
    try:
        contents = [artifacts.read(digest) for digest in one.record.artifacts.values()]
    except EvidenceError as fault:
        notify(f"{one.record.run_id} is made again: {fault}")
        return False
    for content in contents:
        store.keep(content)
    store.append(one.record)
    return True


def _add_notes(
    store: FolderRunStore, suite: LoadedSuite, versions: VersionNames, notes: Sequence[str], notify: Notify
) -> None:
    if notes:
        _write_experiment(store, suite, versions, notes=notes)
        _show_notes(notes, notify)


def _write_experiment(
    store: FolderRunStore,
    suite: LoadedSuite,
    versions: VersionNames,
    *,
    looks: LookPlan | None = None,
    notes: Sequence[str] = (),
    planned_runs: int | None = None,
    repeats: PlannedRepeats = UNIFORM_REPEATS,
) -> None:
    write_experiment(
        store.folder,
        suite.spec,
        suite.tasks,
        suite.arms,
        looks=looks,
        origins=suite.origins,
        notes=(*suite.notes, *notes),
        planned_runs=planned_runs,
        versions=versions,
        designs=suite.designs,
        repeats=repeats,
    )


def _show_notes(notes: Sequence[str], notify: Notify) -> None:
    for note in notes:
        notify(f"NOTE: {note}")
