"""Before the first run: what the store is for, what its arms lay, and which runs of the baseline need not be made."""

import argparse
import sys
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from outweigh.adapters.harbor.job import has_begun_jobs
from outweigh.adapters.stores.artifact_folder import ArtifactFolder
from outweigh.adapters.stores.experiment_file import EXPERIMENT_FILE, forget_suite, remember_suite
from outweigh.adapters.stores.pins import pins_in, read_check, runs_in, settings_of
from outweigh.adapters.stores.run_store import FolderRunStore
from outweigh.cli.arguments import Parser
from outweigh.cli.progress import tell
from outweigh.errors import EvidenceError, UsageError
from outweigh.record.payment import REUSED
from outweigh.report.wording import visible
from outweigh.run.experiment import progress_of
from outweigh.run.loading import LoadedSuite
from outweigh.run.plan import PlannedRun
from outweigh.run.reuse import Reused, Source, age_note, reusable, version_drift
from outweigh.task.suite import settings_fingerprint

MOST_DAYS = 7.0
LONGEST_DAYS = 3650.0


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
        type=_days,
        default=MOST_DAYS,
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
    if not store.begun and not has_begun_jobs(store.folder):
        forget_suite(store.folder)
    # Noted before anything is copied: a store that is for something else is refused here.
    _remember(store, suite, until_decided=until_decided, planned_runs=len(plan))
    # The manifest of an arm is found by its fingerprint, which every run names.
    for content in (*suite.overlays.values(), *(arm.manifest for arm in suite.arms.values())):
        if not any(secret and secret.encode() in content for secret in secrets):
            store.keep(content)
    _say(suite.notes)
    if options.reuse:
        _reuse(store, suite, plan, options)


def note_drift(store: FolderRunStore, suite: LoadedSuite) -> None:
    """After the last run: whether reused runs and new ones were made by the same agents."""
    records = [record for attempts in store.finished().values() for record in attempts]
    reused = [record for record in records if REUSED in record.extra]
    if reused:
        drift = version_drift(reused, (record for record in records if REUSED not in record.extra))
        _note(store, suite, [] if drift is None else [drift])


def _reuse(store: FolderRunStore, suite: LoadedSuite, plan: Sequence[PlannedRun], options: argparse.Namespace) -> None:
    now = datetime.now(UTC)
    left = [(run, number) for run, number in progress_of(plan, store).left if run.trial.arm == suite.spec.baseline]
    folders = list(_folders(options.reuse))
    found = reusable(
        left,
        suite.arms,
        {task.id: task for task in suite.tasks},
        [Source(name=str(place), settings=settings_of(place), runs=list(runs_in(place))) for place in folders],
        settings=settings_fingerprint(suite.spec),
        not_before=now - timedelta(days=options.reuse_days),
    )
    moments = [one.started_at for one in found if _taken_over(one, store)]
    if moments:
        _note(store, suite, [age_note(suite.spec.baseline, moments, now)])
    tell(f"outweigh: {len(moments)} of {len(left)} runs of {suite.spec.baseline} are reused\n", sys.stderr)


def _folders(paths: Sequence[str]) -> Iterator[Path]:
    for path in map(Path, paths):
        if (path / EXPERIMENT_FILE).is_file():
            yield path
            continue
        if path.exists() and not path.is_dir():
            raise UsageError(f"--reuse {path}: name a store, a pin or a folder of pins.")
        # A folder that does not exist yet holds no pins: the first experiment of all has nothing to reuse.
        for pin in pins_in(path):
            check = read_check(pin)
            if check is not None and check.drifted:
                tell(f"outweigh: {visible(str(pin))} is not reused: its last check found drift\n", sys.stderr)
            else:
                yield pin


def _taken_over(one: Reused, store: FolderRunStore) -> bool:
    """Copy a run with everything it names; one whose artifacts are gone is made again instead."""
    artifacts = ArtifactFolder(Path(one.source) / "artifacts")
    try:
        contents = [artifacts.read(digest) for digest in one.record.artifacts.values()]
    except EvidenceError as fault:
        tell(f"outweigh: {one.record.run_id} is made again: {fault}\n", sys.stderr)
        return False
    for content in contents:
        store.keep(content)
    store.append(one.record)
    return True


def _note(store: FolderRunStore, suite: LoadedSuite, notes: Sequence[str]) -> None:
    if notes:
        _remember(store, suite, notes=notes)
        _say(notes)


def _remember(
    store: FolderRunStore,
    suite: LoadedSuite,
    *,
    until_decided: bool = False,
    notes: Sequence[str] = (),
    planned_runs: int | None = None,
) -> None:
    remember_suite(
        store.folder,
        suite.spec,
        suite.tasks,
        suite.arms,
        until_decided=until_decided,
        origins=suite.origins,
        notes=(*suite.notes, *notes),
        planned_runs=planned_runs,
    )


def _say(notes: Sequence[str]) -> None:
    tell("".join(f"outweigh: NOTE: {visible(note)}\n" for note in notes), sys.stderr)


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = 0.0
    if not 0 < days <= LONGEST_DAYS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days between 0 and {LONGEST_DAYS:g}")
    return days
