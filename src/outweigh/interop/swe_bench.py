"""Importer of SWE-bench: reports of runs and of instances, maps of outcomes, leaderboards, predictions, lists of
resolved ids, and result lines.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from outweigh.errors import EvidenceError
from outweigh.interop.agent_sessions import is_mini_swe_trajectory, read_mini_swe_trajectory
from outweigh.interop.imported_run import (
    decode_file_name,
    extra_fields,
    field_origins,
    imported_run,
    outcome_check,
    real_agent,
    stable_id,
)
from outweigh.interop.result_files import read_bytes, read_head, read_json, read_json_lines, walk_files
from outweigh.interop.swe_bench_reports import (
    NO_PREDICTION,
    InstanceOutcome,
    is_result_line,
    line_run,
    missing_outcomes,
    prediction_model,
    prediction_outcome,
    single_outcomes,
    without_empty_costs,
)
from outweigh.interop.swe_bench_submissions import (
    INSTANCE_REPORT_FILE,
    Submission,
    holds_results,
    is_results_file,
    read_document,
    read_folder,
)
from outweigh.model.run_record import DIFF_ARTIFACT, TRAJECTORY_ARTIFACT, RunRecord
from outweigh.model.untrusted_json import as_amount, as_dict, as_name
from outweigh.model.usage import reported_cost
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.transcript.token_counts import usage_unless_empty
from outweigh.transcript.trajectory_file import trajectory_json

INSTANCE_PATCH_FILE = "patch.diff"

_OPENHANDS_MARK = b'"test_result"'
"""A line of OpenHands' output names an instance, too, and may contain its report."""


class SweBenchImporter:
    """Reads one run for each instance.

    An instance of a fixed suite without a prediction counts as failed; one that the environment broke does not.
    """

    name = "swe-bench"
    reads_also = frozenset({"mini-swe-agent"})
    takes = frozenset({"tasks"})

    @property
    def fields(self) -> Mapping[str, FieldOrigin]:
        """Reports state only outcomes; maps, result lines and trajectories beside them state more."""
        return field_origins(
            reported="checks status_detail agent started_at usage cost step_count extra",
            derived="status family duration_seconds tool_call_count artifacts",
        )

    def recognises(self, path: Path) -> bool:
        """Whether a file is a report, a map, a list or predictions, or a folder holds one or the logs of instances."""
        try:
            if path.is_dir():
                return (_has_logs(path) or holds_results(path)) and not _has_other_outputs(path)
            if path.suffix == ".jsonl":
                start = read_head(path)
                is_named = b'"instanceId"' in start or (b'"instance_id"' in start and _OPENHANDS_MARK not in start)
                return is_named and (b'"model_patch"' in start or b'"resolved"' in start)
            return is_results_file(path) or (path.name == INSTANCE_REPORT_FILE and _is_instance_report(path))
        except (EvidenceError, OSError):
            return False

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read a folder of submissions or logs, result lines, or a single document."""
        if request.path.suffix == ".jsonl":
            return _line_runs(request, notes)
        if request.path.is_file():
            return _submission_runs(_with_facts(read_document(request, request.path, notes), notes), request, notes)
        if holds_results(request.path):
            return _submission_runs(read_folder(request, notes), request, notes)
        return _folder_runs(request, notes)


def _with_facts(submissions: Iterable[Submission], notes: ImportNotes) -> Iterator[Submission]:
    """The submissions of one document; what it says about itself is noted."""
    for submission in submissions:
        notes.facts |= submission.stated
        yield submission


def _submission_runs(
    submissions: Iterable[Submission], request: ImportRequest, notes: ImportNotes
) -> Iterator[RunRecord]:
    """The runs of submissions; a second one of an arm repeats its instances."""
    seen: Counter[tuple[str, str | None]] = Counter()
    for submission in submissions:
        if submission.lines is not None:
            yield from _line_runs(
                replace(request, path=submission.lines, arm=request.arm or submission.arm or None), notes
            )
            continue
        arm = stable_id(request.arm or submission.arm)[:200]
        key = (arm, submission.benchmark)
        seen[key] += 1
        outcomes, are_free = without_empty_costs(submission.outcomes)
        if are_free:
            notes.warn(f"every run of {arm!r} cost 0, which is taken as unknown.")
        missing = sum(each.detail == NO_PREDICTION for each in outcomes)
        for each in outcomes:
            known = _trajectory_fields(submission.folder, each.instance, request, notes)
            yield _run(each, arm, request, known, submission.benchmark, seen[key])
        if missing:
            notes.warn(
                f"{missing:,} instances of the suite have no prediction and count as failed, as SWE-bench counts them; "
                "--tasks names a smaller suite."
            )


def _line_runs(request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    """The runs of predictions or results, line by line."""
    seen: set[str] = set()
    arm: str | None = None
    for line in read_json_lines(request.path, notes):
        if is_result_line(line.value):
            run = line_run(line.value, request.arm)
        elif "model_patch" in line.value and as_name(line.value.get("instance_id")):
            outcome = prediction_outcome(line.value)
            arm = request.arm or prediction_model(line.value) or decode_file_name(request.path.stem)
            run = _run(outcome, arm, request)
        else:
            notes.unread(request.path, line.number, "neither a prediction nor a result")
            continue
        if request.tasks is not None and run.trial.task_id not in request.tasks:
            continue
        arm = run.trial.arm
        seen.add(run.trial.task_id)
        yield run
    if request.tasks is not None and arm is not None:
        yield from (_run(each, arm, request) for each in missing_outcomes(frozenset(seen), request.tasks))


def _folder_runs(request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    """The runs of `logs/run_evaluation/<run>/<model>/<instance>/report.json`; a model is an arm."""
    seen: dict[str, set[str]] = {}
    files = list(_reports(request.path, notes))
    arms = _log_arms(files)
    for file in files:
        try:
            found = list(single_outcomes(as_dict(read_json(file, notes))))
        except EvidenceError as fault:
            notes.unread(file, 0, str(fault))
            continue
        if not found:
            notes.unread(file, 0, "not the report of an instance")
        arm = request.arm or arms[file]
        for each in found:
            if request.tasks is None or each.instance in request.tasks:
                seen.setdefault(arm, set()).add(each.instance)
                yield _run(each._replace(patch=_submitted_patch(file.parent)), arm, request)
    for arm, instances in seen.items():
        if request.tasks is not None:
            yield from (_run(each, arm, request) for each in missing_outcomes(frozenset(instances), request.tasks))


_LOG_FOLDERS = frozenset({"logs", "run_evaluation", "evaluation_logs", "eval_logs", "reports"})


def _log_arms(files: Sequence[Path]) -> dict[Path, str]:
    """The arm of each report: the folder around the instances, and the one around that where a model has several.

    Folders that only say that logs follow name no arm.
    """
    named = {
        file: [part for part in file.resolve().parts[:-2] if part not in _LOG_FOLDERS][-2:] or ["agent"]
        for file in files
    }
    runs: dict[str, set[str]] = {}
    for parts in named.values():
        runs.setdefault(parts[-1], set()).add(parts[0])
    chosen = {file: parts[-1] if len(runs[parts[-1]]) == 1 else " ".join(parts[::-1]) for file, parts in named.items()}
    return {file: decode_file_name(arm) for file, arm in chosen.items()}


def _submitted_patch(folder: Path) -> str | None:
    """The patch that the evaluation of an instance applied; None where it is not there."""
    try:
        return read_bytes(folder / INSTANCE_PATCH_FILE).decode(errors="replace")
    except EvidenceError:
        return None


def _reports(path: Path, notes: ImportNotes) -> Iterator[Path]:
    """The reports of instances, except copies within the folder of another instance."""
    known: set[Path] = set()
    found = walk_files(path, lambda each: each == INSTANCE_REPORT_FILE)
    for file in sorted(found, key=lambda each: (len(each.parts), each)):
        if known.isdisjoint(file.parent.parents):
            known.add(file.parent)
            yield file
        else:
            notes.warn(f"{file} is within the folder of another instance, as a copy would; it is left out.")


def _run(
    outcome: InstanceOutcome,
    arm: str,
    request: ImportRequest,
    trajectory_fields: Mapping[str, Any] | None = None,
    benchmark: str | None = None,
    repeat: int = 1,
) -> RunRecord:
    known: dict[str, Any] = {"extra": extra_fields(outcome.figures), "cost": reported_cost(outcome.cost_usd)}
    known |= trajectory_fields or {}
    artifacts = dict(known.pop("artifacts", {}))
    if outcome.patch:
        artifacts[DIFF_ARTIFACT] = request.keep(outcome.patch.encode("utf-8", "replace"))
    task = outcome.instance if benchmark is None else stable_id(benchmark, outcome.instance)
    return imported_run(
        run_id=stable_id("swe-bench", arm, task, *([repeat] if repeat > 1 else [])),
        task_id=task,
        arm=arm[:200],
        repeat=repeat,
        status=outcome.status,
        status_detail=outcome.detail,
        family=instance_repository(outcome.instance) or benchmark,
        checks=(outcome_check("resolved", outcome.resolved, outcome.detail),),
        artifacts=artifacts,
        **known,
    )


def _trajectory_fields(folder: Path, instance: str, request: ImportRequest, notes: ImportNotes) -> dict[str, Any]:
    """What a trajectory of mini-swe-agent adds, if the batch that made the predictions left one."""
    file = folder / instance / f"{instance}.traj.json"
    if "/" in instance or not is_mini_swe_trajectory(file):
        return {}
    try:
        report = read_mini_swe_trajectory(read_bytes(file), file, notes)
    except EvidenceError as fault:
        notes.warn(f"a trajectory was not read, so that its figures are unknown: {fault}")
        return {}
    return {
        "agent": real_agent("mini-swe-agent", report.version, report.model),
        "usage": usage_unless_empty(report.usage),
        "cost": reported_cost(as_amount(report.cost_usd)),
        "step_count": report.step_count,
        "tool_call_count": report.tool_call_count,
        "artifacts": {TRAJECTORY_ARTIFACT: request.keep(trajectory_json(report, "mini-swe-agent"))},
        "extra": extra_fields({"submitted": report.finished}),
    }


def instance_repository(instance: str) -> str | None:
    """The repository of an instance: `astropy__astropy-14365` belongs to `astropy/astropy`."""
    owner, mark, rest = instance.partition("__")
    repository, dash, number = rest.rpartition("-")
    return f"{owner}/{repository}" if owner and mark and dash and repository and number.isdigit() else None


def _has_logs(path: Path) -> bool:
    try:
        first = next(iter(walk_files(path, lambda each: each == INSTANCE_REPORT_FILE)), None)
    except EvidenceError:
        return False
    return first is not None and _is_instance_report(first)


def _is_instance_report(file: Path) -> bool:
    start = read_head(file)
    return b'"resolved"' in start and b'"tests_status"' in start


def _has_other_outputs(path: Path) -> bool:
    """Whether a folder holds outputs of OpenHands, which say more than the reports beside them."""
    outputs = walk_files(path, lambda name: name == "output.jsonl")
    return any(_OPENHANDS_MARK in read_head(file) for file in outputs)
