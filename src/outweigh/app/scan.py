"""Scan runs for signs of cheating, from the transcripts and diffs that a store keeps, and keep what was found.

A run is scanned once by the same rules. Nothing is decided here: findings are shown beside runs and verdicts.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from pkgutil import get_data

from msgspec.structs import replace

from outweigh.compare.scan_summary import ArmScan, summarise_scans
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.run_record import DIFF_ARTIFACT, RunRecord, changed_nothing
from outweigh.model.scan_result import RunKey, RunScan, ScanFile
from outweigh.report.run_diff import ComparedRun
from outweigh.store.artifact_folder import ArtifactFolder
from outweigh.store.fetched_artifacts import artifacts_of
from outweigh.store.run_artifacts import read_run_trajectory
from outweigh.store.scan_file import read_scan, write_scan
from outweigh.store.store import Store
from outweigh.store.store_cache import read_origin
from outweigh.transcript.cheat_rules import CheatRules
from outweigh.transcript.cheat_scan import scan_run


@cache
def bundled_rules() -> CheatRules:
    """The rules that come with outweigh, read on first use."""
    content = get_data("outweigh.transcript", "cheat_rules.toml")
    if content is None:
        raise UsageError("the rules of the scan are missing from this installation; install outweigh again.")
    return CheatRules(content)


def scan_stored_run(run: RunRecord, artifacts: ArtifactFolder) -> RunScan | None:
    """The scan of a run; None where neither transcript nor diff were kept, or none can be read."""
    try:
        trajectory = read_run_trajectory(run, artifacts)
    except EvidenceError:
        trajectory = None
    return scan_run(run, None if trajectory is None else trajectory.steps, _diff(run, artifacts), bundled_rules())


def open_scanned_run(store: Store, run: RunRecord) -> ComparedRun:
    """A run with what was kept of it, and the signs of cheating in it."""
    scan = scan_stored_run(run, store.artifacts)
    return replace(store.run_side(run), findings=None if scan is None else scan.findings)


def _diff(run: RunRecord, artifacts: ArtifactFolder) -> str | None:
    if DIFF_ARTIFACT not in run.artifacts:
        return "" if changed_nothing(run) else None
    try:
        return artifacts.read(run.artifacts[DIFF_ARTIFACT]).decode(errors="replace")
    except EvidenceError:
        return None


def scan_store(store: Store) -> Mapping[str, ArmScan]:
    """Scan the runs of a store that these rules have not seen before, keep all findings, and count them by arm."""
    folder = store.require().folder
    if folder is None:
        raise UsageError(f"{store.name} is not a folder; name the store that keeps the transcripts and diffs.")
    runs = list(store.runs())
    scans = _scan_runs(folder, runs)
    arms: dict[str, list[RunKey]] = defaultdict(list)
    for run in runs:
        arms[run.trial.arm].append(_key(run))
    return {arm: summarise_scans(keys, scans) for arm, keys in arms.items()}


def keep_scan(folder: Path, runs: Sequence[RunRecord] | None = None) -> None:
    """The same without an answer, after runs were made or imported; nothing where no artifact was kept.

    `runs` are those of the store where the caller has read them.
    """
    if ArtifactFolder.of_store(folder).exists():
        found = _readable_runs(folder) if runs is None else runs
        if any(run.artifacts for run in found):  # a folder may be left of an import that was killed
            _scan_runs(folder, found)


def _readable_runs(folder: Path) -> list[RunRecord]:
    readable = (located.record for located in Store.open(folder).records(lambda _: None))
    return [record for record in readable if isinstance(record, RunRecord)]


def _scan_runs(folder: Path, runs: Sequence[RunRecord]) -> dict[RunKey, RunScan]:
    artifacts, rules = artifacts_of(folder), bundled_rules().sha256
    kept = read_scan(folder)
    known = kept.by_run() if kept is not None and kept.rules_sha256 == rules else {}
    found: dict[RunKey, RunScan] = {}
    for run in runs:
        scan = known.get(_key(run)) or scan_stored_run(run, artifacts)
        if scan is not None:
            found[scan.key] = scan
    is_new = found.keys() != known.keys() or kept is None or kept.rules_sha256 != rules
    if is_new and read_origin(folder) is None:  # a store elsewhere is only read
        write_scan(folder, ScanFile(rules_sha256=rules, runs=tuple(found.values())))
    return found


def _key(run: RunRecord) -> RunKey:
    return run.run_id, run.attempt
