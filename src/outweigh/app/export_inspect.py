"""Export an Inspect log for every arm, from the records and the artifacts stored with them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from outweigh.app.export import ExportRequest, Warn, refuse_gaps
from outweigh.app.suite_selection import read_suite
from outweigh.compare.evidence import Evidence, gather
from outweigh.errors import UsageError
from outweigh.interop.inspect_ai.exporter import ExportedLog, write_log
from outweigh.interop.inspect_ai.sample_writer import (
    UNKNOWN_MODEL,
    ExportedRun,
    InspectSample,
    known_input,
    make_sample,
    sample_id,
)
from outweigh.model.codec import LocatedRecord
from outweigh.model.run_record import RunRecord
from outweigh.prices import price_tables
from outweigh.score.run_score import Score
from outweigh.store.durable_files import make_folder, open_atomic
from outweigh.store.fetched_artifacts import artifacts_of
from outweigh.store.run_artifacts import read_run_trajectory, safe_file_name
from outweigh.store.store_set import StoreSet
from outweigh.transcript.atif import AtifTrajectory
from outweigh.version import __version__

RecordPosition = tuple[str, int]
"""Source and line of a record."""

TaskInstructions = dict[tuple[str, str], str]
"""What was asked, by a task's name and checksum."""


@dataclass(slots=True)
class ArmFacts:
    """What all runs of an arm tell about it, in order of appearance."""

    models: dict[str, None] = field(default_factory=dict)
    agents: dict[str, None] = field(default_factory=dict)
    fingerprints: dict[str, None] = field(default_factory=dict)
    began_at: datetime | None = None

    def see(self, run: RunRecord) -> None:
        """Take note of one run."""
        agent = " ".join(part for part in (run.agent.name, run.agent.version) if part)
        for known, fact in (
            (self.models, run.agent.model),
            (self.agents, agent),
            (self.fingerprints, run.arm_fingerprint),
        ):
            if fact:
                known[fact] = None
        if run.started_at is not None and (self.began_at is None or run.started_at < self.began_at):
            self.began_at = run.started_at


def export_inspect(request: ExportRequest, suite: str | None, warn: Warn) -> None:
    """Write one log per arm into a folder; a log is there whole or not at all."""
    refuse_gaps(request)
    stores, target = request.evidence.stores, request.target
    if any(store.path is None for store in stores.stores):
        raise UsageError("--inspect reads the records more than once, which standard input cannot; name a file.")
    if target.is_file():
        raise UsageError(f"-o {target} is a file; name a folder for the logs.")
    facts: dict[str, ArmFacts] = defaultdict(ArmFacts)
    evidence = _gather_evidence(request, facts)
    for warning in evidence.warnings:
        warn(warning)
    instructions = _instructions(stores, suite)
    try:
        make_folder(target)
    except OSError as fault:
        raise UsageError(f"{target} cannot be made: {fault.strerror}.") from fault
    has_input: dict[str, bool] = {}
    for arm, scores in evidence.arms.items():
        evaluation = _evaluation(arm, evidence, facts[arm], _suite_name(stores))
        samples = _samples(request, scores, evaluation, instructions, _epoch_shift(evidence))
        with open_atomic(target / f"{safe_file_name(arm)}.eval") as stream:
            write_log(stream, evaluation, _noting_inputs(samples, has_input))
    _warn_unknown_inputs(has_input, warn)


def _gather_evidence(request: ExportRequest, facts: dict[str, ArmFacts]) -> Evidence:
    stores = request.evidence.stores

    def seen() -> Iterator[LocatedRecord]:
        for located in stores.read(skip_invalid=False):
            if isinstance(located.record, RunRecord):
                facts[located.record.trial.arm].see(located.record)
            yield located

    return gather(seen(), prices=price_tables(request.evidence.prices), judge_rules=stores.judge_rules())


def _evaluation(arm: str, evidence: Evidence, facts: ArmFacts, suite: str) -> ExportedLog:
    scores = evidence.arms[arm]
    whole, part = evidence.sha256(*evidence.arms), evidence.sha256(arm)
    return ExportedLog(
        evaluation_id=sha256(f"{arm}\n{part}".encode()).hexdigest()[:22],
        experiment_id=whole[:22],
        suite=suite,
        arm=arm,
        model=" + ".join(facts.models) or UNKNOWN_MODEL,
        agents=tuple(facts.agents),
        arm_fingerprints=tuple(facts.fingerprints),
        created=facts.began_at or datetime.now(UTC),
        began_at=facts.began_at,
        sample_ids=tuple(dict.fromkeys(sample_id(score.task_id) for score in scores)),
        epochs=max(score.repeat for score in scores) + _epoch_shift(evidence),
        evidence_sha256=part,
        written_by=f"outweigh {__version__}",
    )


def _samples(
    request: ExportRequest,
    scores: Sequence[Score],
    evaluation: ExportedLog,
    instructions: TaskInstructions,
    shift: int,
) -> Iterator[InspectSample]:
    """The arm's runs in the order of the records, without the attempts that were made again."""
    prices = price_tables(request.evidence.prices)
    wanted: dict[RecordPosition, Score] = {(score.source, score.line): score for score in scores}
    for located in request.evidence.stores.read(skip_invalid=False):
        score, run = wanted.get((located.source, located.line)), located.record
        if score is None or not isinstance(run, RunRecord):
            continue
        trajectory = _trajectory(run, _folder_of(request.evidence.stores, located))
        attempted = ExportedRun(
            run=run,
            epoch=run.trial.repeat + shift,
            trajectory=trajectory,
            instruction=instructions.get((run.trial.task_id, run.task_checksum or "")) or known_input(run, trajectory),
            judge_score=score.judge_score,
        )
        yield make_sample(attempted, evaluation.evaluation_id, prices)


def _folder_of(stores: StoreSet, located: LocatedRecord) -> Path:
    """The folder that a record was read from."""
    named = Path(located.source).parent
    store = stores.find_source(located.source)
    return named if store is None else store.folder or named


def _trajectory(run: RunRecord, store: Path) -> AtifTrajectory | None:
    """Records may have been taken out of their store, without what was kept beside them."""
    artifacts = artifacts_of(store)
    return read_run_trajectory(run, artifacts) if artifacts.exists() else None


def _epoch_shift(evidence: Evidence) -> int:
    """Epochs count from 1, repeats of others may count from 0; all arms are moved alike, so that pairs stay pairs."""
    return int(any(score.repeat == 0 for scores in evidence.arms.values() for score in scores))


def _suite_name(stores: StoreSet) -> str:
    if stores.experiment is not None:
        return stores.experiment.suite
    return " + ".join(Path(store.name).resolve().stem for store in stores.stores)


def _instructions(stores: StoreSet, suite: str | None) -> TaskInstructions:
    """From the suite that the user names, and from what stores keep for their judges."""
    found = stores.instructions()
    for each in read_suite(suite).tasks if suite is not None else ():
        found[each.id, each.checksum] = each.instruction
    return found


def _noting_inputs(samples: Iterator[InspectSample], has_input: dict[str, bool]) -> Iterator[InspectSample]:
    """The same samples; `has_input` is told of each task whether all its samples say what was asked."""
    for sample in samples:
        has_input[sample["id"]] = bool(sample["input"]) and has_input.get(sample["id"], True)
        yield sample


def _warn_unknown_inputs(has_input: dict[str, bool], warn: Warn) -> None:
    unknown = sum(not known for known in has_input.values())
    if unknown:
        warn(
            f"what was asked in {unknown:,} of {len(has_input):,} tasks is not kept with the runs, so their "
            "samples have no input; name the suite that was run with -c."
        )
