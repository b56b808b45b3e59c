"""Importer of SWE-bench: final reports, reports of instances, predictions, lists of resolved ids, result lines."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.errors import EvidenceError, UsageError
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
    InstanceOutcome,
    count_mismatches,
    is_final_report,
    is_result_line,
    line_run,
    missing_outcomes,
    outcomes_of_list,
    read_resolved_list,
    report_outcomes,
    single_outcomes,
    unnamed_entries,
)
from outweigh.model.failure import Status
from outweigh.model.run_record import DIFF_ARTIFACT, TRAJECTORY_ARTIFACT, RunRecord
from outweigh.model.untrusted_json import as_amount, as_dict, as_name, as_str
from outweigh.model.usage import reported_cost
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.transcript.token_counts import usage_unless_empty
from outweigh.transcript.trajectory_file import trajectory_json

INSTANCE_REPORT_FILE = "report.json"
INSTANCE_PATCH_FILE = "patch.diff"
_MARKS = (b'"resolved_ids"', b'"resolvedIds"', b'"model_patch"', b'"total_instances"')
_FACTS = ("total_instances", "submitted_instances", "resolved_instances", "unresolved_instances", "score")
_NO_SUITE = "says what was resolved, and nothing about the rest: name all instances of the suite with --tasks FILE."


class SweBenchImporter:
    """Reads one run for each instance.

    An instance of a fixed suite without a prediction counts as failed; one that the environment broke does not.
    """

    name = "swe-bench"
    reads_also = frozenset({"mini-swe-agent"})
    takes = frozenset({"tasks"})

    @property
    def fields(self) -> Mapping[str, FieldOrigin]:
        """Reports state only outcomes; result lines and trajectories beside them state more."""
        return field_origins(
            reported="checks status_detail agent started_at usage cost step_count extra",
            derived="status family duration_seconds tool_call_count artifacts",
        )

    def recognises(self, path: Path) -> bool:
        """Whether a file has the keys of a report or prediction, or a folder the report of an instance."""
        if path.is_dir():
            return _has_logs(path)
        start = read_head(path)
        if b'"instanceId"' in start or b'"instance_id"' in start:
            return b'"model_patch"' in start or b'"resolved"' in start
        return b'"is_resolved"' not in start and any(mark in start for mark in _MARKS)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read a folder of logs, result lines, or a single document."""
        if request.path.is_dir():
            return _folder_runs(request, notes)
        if request.path.suffix == ".jsonl":
            return _line_runs(request, notes)
        return _document_runs(request, read_json(request.path, notes), notes)


def _document_runs(request: ImportRequest, document: object, notes: ImportNotes) -> Iterator[RunRecord]:
    path, table = request.path, as_dict(document)
    if is_final_report(document):
        found = report_outcomes(table)
        arm = _arm_of_report(path)
        for fault in unnamed_entries(table):
            notes.unread(path, 0, fault)
        for doubt in count_mismatches(table):
            notes.warn(f"{path.name} does not agree with itself: {doubt}. What it names is read.")
    elif (resolved := read_resolved_list(document)) is not None:
        if request.tasks is None:
            raise UsageError(f"{path} {_NO_SUITE}")
        found, arm = (
            outcomes_of_list(resolved, request.tasks),
            as_name(table.get("system")) or decode_file_name(path.stem),
        )
    elif predictions := _predictions(document):
        found, arm = map(_prediction_outcome, predictions), _model(predictions[0]) or decode_file_name(path.stem)
    else:
        found, arm = single_outcomes(table), decode_file_name(path.resolve().parent.parent.name or path.stem)
    notes.facts.update({key: table[key] for key in _FACTS if isinstance(table.get(key), int | float)})
    yield from _runs(_select_suite(found, request.tasks), request.arm or arm, request, notes)


def _line_runs(request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    """The runs of predictions or results, line by line."""
    seen: set[str] = set()
    arm: str | None = None
    for line in read_json_lines(request.path, notes):
        if is_result_line(line.value):
            run = line_run(line.value, request.arm)
        elif "model_patch" in line.value and as_name(line.value.get("instance_id")):
            outcome = _prediction_outcome(line.value)
            run = _run(outcome, request.arm or _model(line.value) or decode_file_name(request.path.stem), request)
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
    for file in _reports(request.path, notes):
        try:
            found = list(single_outcomes(as_dict(read_json(file, notes))))
        except EvidenceError as fault:
            notes.unread(file, 0, str(fault))
            continue
        if not found:
            notes.unread(file, 0, "not the report of an instance")
        arm = request.arm or decode_file_name(file.resolve().parent.parent.name)
        for each in found:
            if request.tasks is None or each.instance in request.tasks:
                seen.setdefault(arm, set()).add(each.instance)
                yield _run(each._replace(patch=_submitted_patch(file.parent)), arm, request)
    for arm, instances in seen.items():
        if request.tasks is not None:
            yield from (_run(each, arm, request) for each in missing_outcomes(frozenset(instances), request.tasks))


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


def _select_suite(found: Iterator[InstanceOutcome], tasks: frozenset[str] | None) -> Iterator[InstanceOutcome]:
    """The outcomes of exactly the instances of a fixed suite."""
    seen = set()
    for each in found:
        if tasks is None or each.instance in tasks:
            seen.add(each.instance)
            yield each
    if tasks is not None:
        yield from missing_outcomes(frozenset(seen), tasks)


def _runs(
    found: Iterator[InstanceOutcome], arm: str, request: ImportRequest, notes: ImportNotes
) -> Iterator[RunRecord]:
    missing = 0
    for each in found:
        missing += each.detail == "no prediction"
        yield _run(each, arm, request, _trajectory_fields(request, each.instance, notes))
    if missing:
        notes.warn(
            f"{missing:,} instances of the suite have no prediction and count as failed, as SWE-bench counts them; "
            "--tasks names a smaller suite."
        )


def _run(
    outcome: InstanceOutcome, arm: str, request: ImportRequest, trajectory_fields: Mapping[str, Any] | None = None
) -> RunRecord:
    known = dict(trajectory_fields or {})
    artifacts = dict(known.pop("artifacts", {}))
    if outcome.patch:
        artifacts[DIFF_ARTIFACT] = request.keep(outcome.patch.encode("utf-8", "replace"))
    return imported_run(
        run_id=stable_id("swe-bench", arm, outcome.instance),
        task_id=outcome.instance,
        arm=arm[:200],
        repeat=1,
        status=outcome.status,
        status_detail=outcome.detail,
        family=instance_repository(outcome.instance),
        checks=(outcome_check("resolved", outcome.resolved, outcome.detail),),
        artifacts=artifacts,
        **known,
    )


def _trajectory_fields(request: ImportRequest, instance: str, notes: ImportNotes) -> dict[str, Any]:
    """What a trajectory of mini-swe-agent adds, if the batch that made the predictions left one."""
    file = request.path.parent / instance / f"{instance}.traj.json"
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


def _predictions(document: object) -> list[Mapping[str, Any]]:
    """A list of predictions, or a table of them by instance."""
    rows = document if isinstance(document, list) else list(as_dict(document).values())
    found: list[Mapping[str, Any]] = [as_dict(row) for row in rows]
    return found if found and all("model_patch" in row and as_name(row.get("instance_id")) for row in found) else []


def _prediction_outcome(raw: Mapping[str, Any]) -> InstanceOutcome:
    """An empty patch is a failure; whether any other resolves the instance is unknown."""
    empty = not raw.get("model_patch")
    detail = "empty patch" if empty else "not evaluated"
    resolved = False if empty else None
    return InstanceOutcome(
        as_name(raw.get("instance_id")) or "", resolved, Status.COMPLETED, detail, as_str(raw.get("model_patch"))
    )


def _model(prediction: Mapping[str, Any]) -> str | None:
    return as_name(prediction.get("model_name_or_path"))


def _arm_of_report(path: Path) -> str:
    """The model in `<model>.<run id>.json`; SWE-bench writes two underscores for a slash."""
    model, dot, _ = path.name.removesuffix(".json").rpartition(".")
    return decode_file_name(model if dot else path.stem).replace("__", "/")


def _has_logs(path: Path) -> bool:
    try:
        first = next(iter(walk_files(path, lambda each: each == INSTANCE_REPORT_FILE)), None)
    except EvidenceError:
        return False
    return first is not None and b'"resolved"' in read_head(first) and b'"tests_status"' in read_head(first)
