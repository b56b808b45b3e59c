"""SWE-bench: final reports, reports of single instances, predictions, lists of what was resolved, and result lines."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.adapters.importers.folders import files_below
from outweigh.adapters.importers.identity import readable, stable_id
from outweigh.adapters.importers.imported_run import agent, imported_run, kept_fields, origins, outcome
from outweigh.adapters.importers.mini_swe_agent import is_mini_swe_trajectory, read_mini_swe_trajectory
from outweigh.adapters.importers.source_text import head, json_lines, read_bytes, read_json
from outweigh.adapters.importers.swe_bench_lines import is_result_line, line_run
from outweigh.adapters.importers.swe_bench_outcome import (
    Outcome,
    contradictions,
    is_report,
    listed_outcomes,
    missing_outcomes,
    report_outcomes,
    resolved_list,
    single_outcomes,
    unnamed_entries,
)
from outweigh.errors import EvidenceError, UsageError
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.record.cost import reported_cost
from outweigh.record.run_record import RunRecord
from outweigh.record.status import Status
from outweigh.transcript.foreign import amount, mapping, name
from outweigh.transcript.token_counts import unless_empty

SINGLE_REPORT = "report.json"
_MARKS = (b'"resolved_ids"', b'"resolvedIds"', b'"model_patch"', b'"total_instances"')
_FACTS = ("total_instances", "submitted_instances", "resolved_instances", "unresolved_instances", "score")
_NO_SUITE = "says what was resolved, and nothing about the rest: name all instances of the suite by --tasks FILE."


class SweBench:
    """One run for each instance. What is missing of a fixed suite was failed; what the environment broke was not."""

    name = "swe-bench"
    reads_also = frozenset({"mini-swe-agent"})
    takes = frozenset({"tasks"})

    @property
    def fields(self) -> Mapping[str, FieldOrigin]:
        """Reports know outcomes only; result lines and trajectories beside them know more."""
        return origins(
            reported="checks status_detail agent started_at usage cost step_count extra",
            derived="status family duration_seconds tool_call_count",
        )

    def recognises(self, path: Path) -> bool:
        """A file by its keys, a folder of logs by a report of a single instance."""
        if path.is_dir():
            return _has_logs(path)
        start = head(path)
        if b'"instanceId"' in start or b'"instance_id"' in start:
            return b'"model_patch"' in start or b'"resolved"' in start
        return b'"is_resolved"' not in start and any(mark in start for mark in _MARKS)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Whichever of the shapes it is."""
        if request.path.is_dir():
            return _folder(request, notes)
        if request.path.suffix == ".jsonl":
            return _lines(request, notes)
        return _document(request, read_json(request.path, notes), notes)


def _document(request: ImportRequest, document: object, notes: ImportNotes) -> Iterator[RunRecord]:
    path, table = request.path, mapping(document)
    if is_report(document):
        found = report_outcomes(table)
        arm = _arm_of_report(path)
        for fault in unnamed_entries(table):
            notes.unread(path, 0, fault)
        for doubt in contradictions(table):
            notes.warn(f"{path.name} does not agree with itself: {doubt}. What it names is read.")
    elif (resolved := resolved_list(document)) is not None:
        if request.tasks is None:
            raise UsageError(f"{path} {_NO_SUITE}")
        found, arm = listed_outcomes(resolved, request.tasks), name(table.get("system")) or readable(path.stem)
    elif predictions := _predictions(document):
        found, arm = map(_of_prediction, predictions), _model(predictions[0]) or readable(path.stem)
    else:
        found, arm = single_outcomes(table), readable(path.resolve().parent.parent.name or path.stem)
    notes.facts.update({key: table[key] for key in _FACTS if isinstance(table.get(key), int | float)})
    yield from _runs(_of_suite(found, request.tasks), request.arm or arm, path.parent, notes)


def _lines(request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    """Predictions or results, line by line."""
    seen: set[str] = set()
    arm: str | None = None
    for line in json_lines(request.path, notes):
        if is_result_line(line.value):
            run = line_run(line.value, request.arm)
        elif "model_patch" in line.value and name(line.value.get("instance_id")):
            told = _of_prediction(line.value)
            run = _run(told, request.arm or _model(line.value) or readable(request.path.stem))
        else:
            notes.unread(request.path, line.number, "neither a prediction nor a result")
            continue
        if request.tasks is not None and run.trial.task_id not in request.tasks:
            continue
        arm = run.trial.arm
        seen.add(run.trial.task_id)
        yield run
    if request.tasks is not None and arm is not None:
        yield from (_run(each, arm) for each in missing_outcomes(frozenset(seen), request.tasks))


def _folder(request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    """`logs/run_evaluation/<run>/<model>/<instance>/report.json`: a model is an arm."""
    seen: dict[str, set[str]] = {}
    for file in _reports(request.path, notes):
        try:
            found = list(single_outcomes(mapping(read_json(file, notes))))
        except EvidenceError as fault:
            notes.unread(file, 0, str(fault))
            continue
        if not found:
            notes.unread(file, 0, "not the report of an instance")
        arm = request.arm or readable(file.resolve().parent.parent.name)
        for each in found:
            if request.tasks is None or each.instance in request.tasks:
                seen.setdefault(arm, set()).add(each.instance)
                yield _run(each, arm)
    for arm, instances in seen.items():
        if request.tasks is not None:
            yield from (_run(each, arm) for each in missing_outcomes(frozenset(instances), request.tasks))


def _reports(path: Path, notes: ImportNotes) -> Iterator[Path]:
    """The reports of instances. One within the folder of another is of a copy, and its folders name no model."""
    known: set[Path] = set()
    found = files_below(path, lambda each: each == SINGLE_REPORT)
    for file in sorted(found, key=lambda each: (len(each.parts), each)):
        if known.isdisjoint(file.parent.parents):
            known.add(file.parent)
            yield file
        else:
            notes.warn(f"{file} lies within the folder of another instance, as a copy would; it is left out.")


def _of_suite(found: Iterator[Outcome], tasks: frozenset[str] | None) -> Iterator[Outcome]:
    """The outcomes of a fixed suite: all of it, and nothing else."""
    seen = set()
    for each in found:
        if tasks is None or each.instance in tasks:
            seen.add(each.instance)
            yield each
    if tasks is not None:
        yield from missing_outcomes(frozenset(seen), tasks)


def _runs(found: Iterator[Outcome], arm: str, folder: Path, notes: ImportNotes) -> Iterator[RunRecord]:
    missing = 0
    for each in found:
        missing += each.detail == "no prediction"
        yield _run(each, arm, _beside(folder, each.instance, notes))
    if missing:
        notes.warn(
            f"{missing:,} instances of the suite have no prediction and count as failed, as SWE-bench counts them; "
            "--tasks names a smaller suite."
        )


def _run(told: Outcome, arm: str, beside: Mapping[str, Any] | None = None) -> RunRecord:
    return imported_run(
        run_id=stable_id("swe-bench", arm, told.instance),
        task_id=told.instance,
        arm=arm[:200],
        repeat=1,
        status=told.status,
        status_detail=told.detail,
        family=repository_of(told.instance),
        checks=(outcome("resolved", told.resolved, told.detail),),
        **(beside or {}),
    )


def _beside(folder: Path, instance: str, notes: ImportNotes) -> dict[str, Any]:
    """What the trajectory of mini-swe-agent adds, where the batch that made the predictions left one."""
    file = folder / instance / f"{instance}.traj.json"
    if "/" in instance or not is_mini_swe_trajectory(file):
        return {}
    try:
        report = read_mini_swe_trajectory(read_bytes(file), file, notes)
    except EvidenceError as fault:
        notes.warn(f"a trajectory was not read, so that its figures are unknown: {fault}")
        return {}
    return {
        "agent": agent("mini-swe-agent", report.version, report.model),
        "usage": unless_empty(report.usage),
        "cost": reported_cost(amount(report.cost_usd)),
        "step_count": report.step_count,
        "tool_call_count": report.tool_call_count,
        "extra": kept_fields({"submitted": report.finished}),
    }


def repository_of(instance: str) -> str | None:
    """`astropy__astropy-14365` is about the repository `astropy/astropy`, a cluster of instances."""
    owner, mark, rest = instance.partition("__")
    repository, dash, number = rest.rpartition("-")
    return f"{owner}/{repository}" if owner and mark and dash and repository and number.isdigit() else None


def _predictions(document: object) -> list[Mapping[str, Any]]:
    """A list of predictions, or a table of them by instance."""
    rows = document if isinstance(document, list) else list(mapping(document).values())
    found: list[Mapping[str, Any]] = [mapping(row) for row in rows]
    return found if found and all("model_patch" in row and name(row.get("instance_id")) for row in found) else []


def _of_prediction(raw: Mapping[str, Any]) -> Outcome:
    """Nothing handed in is a failure; what was handed in is not known to be one or none."""
    empty = not raw.get("model_patch")
    detail = "empty patch" if empty else "not evaluated"
    return Outcome(name(raw.get("instance_id")) or "", False if empty else None, Status.COMPLETED, detail)


def _model(prediction: Mapping[str, Any]) -> str | None:
    return name(prediction.get("model_name_or_path"))


def _arm_of_report(path: Path) -> str:
    """`<model>.<run id>.json`; SWE-bench writes two underscores for a slash."""
    model, dot, _ = path.name.removesuffix(".json").rpartition(".")
    return readable(model if dot else path.stem).replace("__", "/")


def _has_logs(path: Path) -> bool:
    try:
        first = next(iter(files_below(path, lambda each: each == SINGLE_REPORT)), None)
    except EvidenceError:
        return False
    return first is not None and b'"resolved"' in head(first) and b'"tests_status"' in head(first)
