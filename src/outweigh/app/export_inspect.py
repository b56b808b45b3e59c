"""Export an Inspect log for every arm, from the records and the artifacts stored with them."""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from outweigh import __version__
from outweigh.app.suite_selection import read_suite
from outweigh.cli.arguments import read_records
from outweigh.cli.console import print_escaped
from outweigh.cli.exit_codes import ExitCode
from outweigh.compare.evidence import Evidence, gather
from outweigh.errors import UsageError
from outweigh.interop.inspect_ai.exporter import ExportedLog, write_log
from outweigh.interop.inspect_ai.sample_writer import UNKNOWN_MODEL, ExportedRun, InspectSample, make_sample, sample_id
from outweigh.model.codec import LocatedRecord
from outweigh.model.run_record import RunRecord
from outweigh.prices import price_tables
from outweigh.score.run_score import Score
from outweigh.store.durable_files import make_folder, open_atomic
from outweigh.store.judging_file import read_judging
from outweigh.store.records import STANDARD_INPUT
from outweigh.store.run_artifacts import ARTIFACTS_FOLDER, read_run_trajectory, safe_file_name
from outweigh.store.store import judge_rules_of_stores, single_experiment
from outweigh.transcript.atif import AtifTrajectory

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


def export_inspect(options: argparse.Namespace, target: Path) -> int:
    """Write one log per arm into a folder; a log is there whole or not at all."""
    if STANDARD_INPUT in options.runs:
        raise UsageError("--inspect reads the records more than once, which standard input cannot; name a file.")
    if target.is_file():
        raise UsageError(f"-o {target} is a file; name a folder for the logs.")
    facts: dict[str, ArmFacts] = defaultdict(ArmFacts)
    evidence = _gather_evidence(options, facts)
    for warning in evidence.warnings:
        print_escaped(f"outweigh: {warning}", to=sys.stderr)
    instructions = _instructions(options)
    _warn_unknown_instructions(evidence, instructions)
    try:
        make_folder(target)
    except OSError as fault:
        raise UsageError(f"{target} cannot be made: {fault.strerror}.") from fault
    for arm, scores in evidence.arms.items():
        evaluation = _evaluation(arm, evidence, facts[arm], _suite_name(options.runs))
        with open_atomic(target / f"{safe_file_name(arm)}.eval") as stream:
            write_log(stream, evaluation, _samples(options, scores, evaluation, instructions, _epoch_shift(evidence)))
    return ExitCode.SATISFIED


def _gather_evidence(options: argparse.Namespace, facts: dict[str, ArmFacts]) -> Evidence:
    def seen() -> Iterator[LocatedRecord]:
        for located in read_records(options, skipped=[]):
            if isinstance(located.record, RunRecord):
                facts[located.record.trial.arm].see(located.record)
            yield located

    return gather(seen(), prices=price_tables(options.prices), jury=judge_rules_of_stores(options.runs))


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
    options: argparse.Namespace,
    scores: Sequence[Score],
    evaluation: ExportedLog,
    instructions: TaskInstructions,
    shift: int,
) -> Iterator[InspectSample]:
    """The arm's runs in the order of the records, without the attempts that were made again."""
    prices = price_tables(options.prices)
    wanted: dict[RecordPosition, Score] = {(score.source, score.line): score for score in scores}
    for located in read_records(options, skipped=[]):
        score, run = wanted.get((located.source, located.line)), located.record
        if score is None or not isinstance(run, RunRecord):
            continue
        attempted = ExportedRun(
            run=run,
            epoch=run.trial.repeat + shift,
            trajectory=_trajectory(run, Path(located.source).parent),
            instruction=instructions.get((run.trial.task_id, run.task_checksum or "")),
            judge_score=score.judge_score,
        )
        yield make_sample(attempted, evaluation.evaluation_id, prices)


def _trajectory(run: RunRecord, store: Path) -> AtifTrajectory | None:
    """Records may have been taken out of their store, without what was kept beside them."""
    return read_run_trajectory(run, store) if (store / ARTIFACTS_FOLDER).is_dir() else None


def _epoch_shift(evidence: Evidence) -> int:
    """Epochs count from 1, repeats of others may count from 0; all arms are moved alike, so that pairs stay pairs."""
    return int(any(score.repeat == 0 for scores in evidence.arms.values() for score in scores))


def _suite_name(runs: Sequence[str]) -> str:
    experiment = single_experiment(runs)
    return experiment.suite if experiment is not None else " + ".join(Path(path).resolve().stem for path in runs)


def _instructions(options: argparse.Namespace) -> TaskInstructions:
    """From the suite that the user names, and from what stores keep for their judges."""
    found: TaskInstructions = {}
    for path in options.runs:
        judging = read_judging(Path(path))
        for name, task in judging.tasks.items() if judging is not None else ():
            found[name, task.checksum] = task.instruction
    for each in read_suite(options.suite).tasks if options.suite is not None else ():
        found[each.id, each.checksum] = each.instruction
    return found


def _warn_unknown_instructions(evidence: Evidence, instructions: TaskInstructions) -> None:
    tasks = {(score.task_id, score.task_checksum or "") for scores in evidence.arms.values() for score in scores}
    unknown = tasks - instructions.keys()
    if unknown:
        print_escaped(
            f"outweigh: what was asked in {len(unknown):,} of {len(tasks):,} tasks is not kept with the runs, so their "
            "samples have no input; name the suite that was run by -c.",
            to=sys.stderr,
        )
