"""Prepare a store before the first run: record what it is for, keep the files of its arms, copy baseline runs that can
be reused.
"""

import argparse
import sys
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from outweigh.cli.arguments import Parser
from outweigh.cli.progress import write_notice
from outweigh.engine.experiment import experiment_progress
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.reuse import ReusedRun, ReuseSource, age_note, find_reusable_runs, version_drift
from outweigh.engine.trial_plan import PlannedRun
from outweigh.errors import EvidenceError, UsageError
from outweigh.interop.harbor.jobs import has_started_jobs
from outweigh.model.run_record import REUSED_LABEL
from outweigh.model.suite import settings_fingerprint
from outweigh.report.formatting import escape_controls
from outweigh.store.artifact_folder import ArtifactFolder
from outweigh.store.experiment_file import EXPERIMENT_FILE, remove_experiment, write_experiment
from outweigh.store.pins import find_pins, read_check, read_runs, read_settings_fingerprint
from outweigh.store.run_store import FolderRunStore

DEFAULT_REUSE_DAYS = 7.0
MAX_REUSE_DAYS = 3650.0


def add_reuse_options(parser: Parser) -> None:
    """Whether earlier runs of the baseline may stand for new ones, and how old they may be."""
    parser.add_argument(
        "--reuse",
        metavar="DIR",
        action="append",
        default=[],
        help="a store, a pin or a folder of pins: runs of the same baseline, tasks and settings are not made again",
    )
    parser.add_argument(
        "--reuse-days",
        type=_parse_days,
        default=DEFAULT_REUSE_DAYS,
        metavar="N",
        help="how old such a run may be (default: %(default)g)",
    )


def begin_store(
    store: FolderRunStore,
    suite: LoadedSuite,
    plan: Sequence[PlannedRun],
    options: argparse.Namespace,
    secrets: Collection[str],
) -> None:
    """Note what the store is for, keep what its arms lay, and fill in what can be reused."""
    until_decided = bool(options.until_decided)
    if not store.begun and not has_started_jobs(store.folder):
        remove_experiment(store.folder)
    # Noted before anything is copied: a store that is for something else is refused here.
    _write_experiment(store, suite, until_decided=until_decided, planned_runs=len(plan))
    # The manifest of an arm is found by its fingerprint, which every run names.
    for content in (*suite.overlays.values(), *(arm.manifest for arm in suite.arms.values())):
        if not any(secret and secret.encode() in content for secret in secrets):
            store.keep(content)
    _print_notes(suite.notes)
    if options.reuse:
        _reuse(store, suite, plan, options)


def note_drift(store: FolderRunStore, suite: LoadedSuite) -> None:
    """After the last run: whether reused runs and new ones were made by the same agents."""
    records = [record for attempts in store.finished().values() for record in attempts]
    reused = [record for record in records if REUSED_LABEL in record.extra]
    if reused:
        drift = version_drift(reused, (record for record in records if REUSED_LABEL not in record.extra))
        _add_notes(store, suite, [] if drift is None else [drift])


def _reuse(store: FolderRunStore, suite: LoadedSuite, plan: Sequence[PlannedRun], options: argparse.Namespace) -> None:
    now = datetime.now(UTC)
    left = [
        (run, number) for run, number in experiment_progress(plan, store).left if run.trial.arm == suite.spec.baseline
    ]
    folders = list(_reusable_folders(options.reuse))
    found = find_reusable_runs(
        left,
        suite.arms,
        {task.id: task for task in suite.tasks},
        [
            ReuseSource(name=str(place), settings=read_settings_fingerprint(place), runs=list(read_runs(place)))
            for place in folders
        ],
        settings=settings_fingerprint(suite.spec),
        not_before=now - timedelta(days=options.reuse_days),
    )
    moments = [one.started_at for one in found if _copy_run(one, store)]
    if moments:
        _add_notes(store, suite, [age_note(suite.spec.baseline, moments, now)])
    write_notice(f"outweigh: {len(moments)} of {len(left)} runs of {suite.spec.baseline} are reused\n", sys.stderr)


def _reusable_folders(paths: Sequence[str]) -> Iterator[Path]:
    for path in map(Path, paths):
        if (path / EXPERIMENT_FILE).is_file():
            yield path
            continue
        if path.exists() and not path.is_dir():
            raise UsageError(f"--reuse {path}: name a store, a pin or a folder of pins.")
        # A folder that does not exist yet holds no pins: the first experiment of all has nothing to reuse.
        for pin in find_pins(path):
            check = read_check(pin)
            if check is not None and check.drifted:
                write_notice(
                    f"outweigh: {escape_controls(str(pin))} is not reused: its last check found drift\n", sys.stderr
                )
            else:
                yield pin


def _copy_run(one: ReusedRun, store: FolderRunStore) -> bool:
    """Copy a run with everything it names; one whose artifacts are gone is made again instead."""
    artifacts = ArtifactFolder(Path(one.source) / "artifacts")
    try:
        contents = [artifacts.read(digest) for digest in one.record.artifacts.values()]
    except EvidenceError as fault:
        write_notice(f"outweigh: {one.record.run_id} is made again: {fault}\n", sys.stderr)
        return False
    for content in contents:
        store.keep(content)
    store.append(one.record)
    return True


def _add_notes(store: FolderRunStore, suite: LoadedSuite, notes: Sequence[str]) -> None:
    if notes:
        _write_experiment(store, suite, notes=notes)
        _print_notes(notes)


def _write_experiment(
    store: FolderRunStore,
    suite: LoadedSuite,
    *,
    until_decided: bool = False,
    notes: Sequence[str] = (),
    planned_runs: int | None = None,
) -> None:
    write_experiment(
        store.folder,
        suite.spec,
        suite.tasks,
        suite.arms,
        until_decided=until_decided,
        origins=suite.origins,
        notes=(*suite.notes, *notes),
        planned_runs=planned_runs,
    )


def _print_notes(notes: Sequence[str]) -> None:
    write_notice("".join(f"outweigh: NOTE: {escape_controls(note)}\n" for note in notes), sys.stderr)


def _parse_days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = 0.0
    if not 0 < days <= MAX_REUSE_DAYS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days between 0 and {MAX_REUSE_DAYS:g}")
    return days
