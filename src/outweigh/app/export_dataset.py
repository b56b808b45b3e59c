"""Export the records of stores as a dataset: parts of whole tasks in order, as columns, with what merges beside them.

Records are read twice: once to see which tasks there are, once to put every record with those of its task. So memory
holds the names of tasks and the records of one part, however many there are.
"""

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from outweigh.compare.evidence import Evidence, gather
from outweigh.compare.evidence_part import AttemptKey, EvidencePart, arms_in_order, parts_by_arm
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.evidence_hash import EvidenceHash
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord
from outweigh.model.trigger_case import TRIGGER_LABEL
from outweigh.model.usage import CostProvenance
from outweigh.prices import price_tables
from outweigh.score.run_score import Score
from outweigh.store.artifact_folder import ArtifactFolder
from outweigh.store.dataset_manifest import (
    DATASET_SCHEMA,
    DatasetFile,
    DatasetManifest,
    DatasetPart,
    DatasetSource,
    describe_file,
    is_dataset,
    write_manifest,
)
from outweigh.store.dataset_sorting import SortedRecord, SortedRecords
from outweigh.store.dataset_stores import sources_folder
from outweigh.store.dataset_writer import write_part
from outweigh.store.records import STANDARD_INPUT
from outweigh.store.store import Store
from outweigh.store.store_files import rule_files
from outweigh.store.store_set import StoreSet
from outweigh.version import __version__

PART_RUNS = 200_000
"""So many runs a part has at most, unless a single task has more."""
MOST_PARTS = 400
"""Every part is a file that is open while records are put where they belong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetRequest:
    """Which records, the folder to make, and whether the records themselves are kept beside their columns."""

    stores: StoreSet
    target: Path
    with_records: bool = True
    part_runs: int = PART_RUNS


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenDataset:
    """What was written, and where; `unread_arms` says what of the stores' arms could not be copied, and why."""

    folder: Path
    manifest: DatasetManifest
    unread_arms: tuple[str, ...]


def export_dataset(request: DatasetRequest) -> WrittenDataset:
    """Write a dataset, whole or not at all."""
    _refuse_what_does_not_fit(request)
    overview = _look_through(request.stores)
    target = request.target.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        manifest, unread_arms = _write(request, overview, unfinished)
        unfinished.chmod(0o755)
        if target.is_dir():
            target.rmdir()  # it is empty
        unfinished.rename(target)
    except OSError as fault:
        raise UsageError(f"{request.target} cannot be written: {fault.strerror}.") from fault
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return WrittenDataset(folder=request.target, manifest=manifest, unread_arms=unread_arms)


def _refuse_what_does_not_fit(request: DatasetRequest) -> None:
    target = request.target
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"-o {target} is there already, and nothing is overwritten; name another folder.")
    for store in request.stores.stores:
        if store.name == STANDARD_INPUT:
            raise UsageError("records are read twice for a dataset, and standard input can be read once; name a file.")
        if store.path is not None and is_dataset(store.path):
            raise UsageError(f"{store.name} is a dataset already.")
        experiment = store.experiment
        if store.choices or (experiment is not None and experiment.inherits):
            raise UsageError(
                f"{store.name} has arms that inherit, which a dataset does not keep; read the store itself."
            )
        if experiment is not None and experiment.quarantine:
            raise UsageError(
                f"the suite of {store.name} has tasks in quarantine, which a dataset does not keep apart; read the "
                "store itself."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Overview:
    """What a first reading shows: how many runs each task has, in order of tasks, and which runs are judged."""

    runs: Mapping[str, int]
    judged: frozenset[str]

    def first_tasks(self, part_runs: int) -> list[str]:
        """The first task of every part."""
        limit = max(part_runs, sum(self.runs.values()) // MOST_PARTS)
        firsts: list[str] = []
        size = limit
        for task, runs in self.runs.items():
            if size + runs > limit:
                firsts.append(task)
                size = 0
            size += runs
        return firsts


def _look_through(stores: StoreSet) -> _Overview:
    """Read everything once, and refuse what a dataset does not keep."""
    runs: Counter[str] = Counter()
    judged: set[str] = set()
    cases = 0
    stream = stores.read(skip_invalid=False)
    for located in stream:
        if isinstance(located.record, RunRecord):
            runs[located.record.trial.task_id] += 1
            cases += TRIGGER_LABEL in located.record.extra
        elif isinstance(located.record, Judgment):
            judged.add(located.record.run_id)
    stream.check_rules()
    if not runs:
        raise EvidenceError("the records hold no run; there is nothing to export.")
    if 0 < cases < runs.total():
        raise UsageError(
            f"{cases} of {runs.total()} runs are of trigger cases, which a dataset does not keep beside others; read "
            "the stores themselves."
        )
    return _Overview(runs=dict(sorted(runs.items())), judged=frozenset(judged))


def _write(request: DatasetRequest, overview: _Overview, folder: Path) -> tuple[DatasetManifest, tuple[str, ...]]:
    sources, files, unread_arms = _keep_rules(request.stores, folder)
    prices, judge_rules = price_tables(None), request.stores.judge_rules()
    parts: list[DatasetPart] = []
    summaries: list[EvidencePart] = []
    priced = False
    with SortedRecords(folder, overview.first_tasks(request.part_runs)) as records:
        records.sort(request.stores, overview.judged)
        for number in range(records.parts):
            located = records.part(number)
            evidence = gather(located, prices=prices, judge_rules=judge_rules)
            summary = EvidencePart.of(evidence, {key: each.place for each in located if (key := _key(each))})
            kept = (each.record for each in located) if request.with_records else None
            parts.append(write_part(folder, number, evidence, summary, kept))
            summaries.append(summary)
            priced = priced or _needs_prices(evidence)
    manifest = DatasetManifest(
        schema=DATASET_SCHEMA,
        outweigh_version=__version__,
        rows=sum(part.rows for part in parts),
        tasks=len(overview.runs),
        arms=_rows_by_arm(summaries),
        prices=prices.names if priced else None,
        evidence_sha256=EvidenceHash.merged(part.hash for _, part in parts_by_arm(summaries)).hexdigest(),
        sources=sources,
        corrections=request.stores.corrections(),
        files=files,
        parts=tuple(parts),
    )
    write_manifest(folder, manifest)
    return manifest, unread_arms


def _key(located: SortedRecord) -> AttemptKey | None:
    run = located.record
    if not isinstance(run, RunRecord):
        return None
    return run.trial.task_id, run.trial.arm, run.trial.repeat, run.attempt


def _rows_by_arm(summaries: Sequence[EvidencePart]) -> dict[str, int]:
    rows = dict.fromkeys(arms_in_order(summaries), 0)
    for arm, part in parts_by_arm(summaries):
        rows[arm] += part.runs + part.excluded + part.superseded
    return rows


def _needs_prices(evidence: Evidence) -> bool:
    """Whether other prices could make other figures."""
    runs = (score for scores in (*evidence.arms.values(), *evidence.superseded.values()) for score in scores)
    return bool(evidence.ledgers) or any(map(_is_priced, runs))


def _is_priced(score: Score) -> bool:
    normalised: float | None = getattr(score, "cache_normalised_cost_usd", None)
    return score.cost_usd is None or score.cost_provenance is CostProvenance.PRICED or normalised is not None


def _keep_rules(
    stores: StoreSet, folder: Path
) -> tuple[tuple[DatasetSource, ...], tuple[DatasetFile, ...], tuple[str, ...]]:
    """Copy what the stores say about their runs; says last which arms could not be copied."""
    sources, kept = [], []
    unread: list[str] = []
    for number, store in enumerate(dict.fromkeys(stores.stores)):
        place = folder / sources_folder(number)
        place.mkdir(parents=True)
        for file in () if store.path is None else rule_files(store.path):
            shutil.copyfile(file, place / file.name)
        unread += _keep_arms(store, place)
        kept += sorted(each for each in place.rglob("*") if each.is_file())
        sources.append(
            DatasetSource(
                name=store.name,
                folder=None if store.folder is None else sources_folder(number),
                warnings=() if store.folder is not None else tuple(StoreSet([store]).warnings()),
                unread=tuple(store.unread_rows()),
            )
        )
    files = tuple(describe_file(folder, str(file.relative_to(folder))) for file in kept)
    return tuple(sources), files, tuple(unread)


def _keep_arms(store: Store, place: Path) -> Iterator[str]:
    """Copy what the arms of a store are, as far as it is there; yields why one is left out."""
    if store.experiment is None or store.folder is None:
        return
    target = ArtifactFolder.of_store(place)
    for name, digest in store.experiment.arms.items():
        try:
            target.keep(store.artifacts.read(digest))
        except EvidenceError as fault:
            yield f"the dataset does not say what arm {name!r} consists of: {fault}"
