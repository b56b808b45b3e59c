"""Runs from Inspect's logs: which arm each log is of, which logs repeat others, and the runs of their samples."""

from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from outweigh.errors import EvidenceError
from outweigh.interop.imported_run import fingerprint, stable_id
from outweigh.interop.inspect_ai.log_reader import InspectLog, SampleSummary, open_inspect_log, summarize_sample
from outweigh.interop.inspect_ai.sample_reader import LogContext, sample_runs
from outweigh.model.run_record import TRAJECTORY_ARTIFACT, RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_list, as_name
from outweigh.ports.importers import ImportNotes, ImportRequest

_ARM_SETTINGS = ("model", "model_args", "model_generate_config", "model_roles", "solver_args", "task_args")
_OWN_PREFIX = "outweigh "


@dataclass(frozen=True, kw_only=True)
class _Log:
    """A log to be read, and its header; without slots, because it caches properties."""

    path: Path
    header: Mapping[str, Any]

    @property
    def spec(self) -> dict[str, Any]:
        """The evaluation: its task, model and solver."""
        return as_dict(self.header.get("eval"))

    @property
    def task(self) -> str:
        """The task's name; its samples are the tasks of a comparison."""
        return as_name(self.spec.get("task")) or "task"

    @property
    def arm(self) -> str:
        """Model and solver, as far as they are named; in a log that outweigh exported, the solver alone is the arm."""
        ours = (as_name(as_dict(self.spec.get("metadata")).get("written_by")) or "").startswith(_OWN_PREFIX)
        parts = (None if ours else as_name(self.spec.get("model")), as_name(self.spec.get("solver")))
        return stable_id(" ".join(part for part in parts if part) or "inspect")

    @cached_property
    def configuration(self) -> str:
        """The hash of everything under test."""
        plan = as_dict(self.header.get("plan"))
        parts = {key: self.spec.get(key) or None for key in _ARM_SETTINGS}
        return fingerprint(parts | {"steps": as_list(plan.get("steps")), "config": as_dict(plan.get("config"))})

    @property
    def run(self) -> str:
        """The id of one execution of one task."""
        known = as_name(self.spec.get("eval_id"))
        return known or stable_id(self.spec.get("run_id"), self.spec.get("task_id"))

    @cached_property
    def scorers(self) -> list[str]:
        """The scorers, with Inspect's headline scorer first."""
        results = as_dict(self.header.get("results"))
        found = [
            as_dict(results.get("headline")).get("scorer"),
            *(as_dict(each).get("scorer") for each in as_list(results.get("scores"))),
            *(as_dict(each).get("name") for each in as_list(self.spec.get("scorers"))),
        ]
        return list(dict.fromkeys(each for each in map(as_name, found) if each))


def read_single_log(request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    """The runs of one log, which is opened once."""
    with open_inspect_log(request.path, notes) as opened:
        yield from _all_runs([_Log(path=request.path, header=opened.header)], opened, request, notes)


def read_logs(files: Iterable[Path], request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    """The runs of many logs.

    All headers are read first, so that arms with the same name and different configurations are told apart.
    """
    yield from _all_runs(_without_retried(_headers(files, notes), notes), None, request, notes)


def _all_runs(
    logs: list[_Log], opened: InspectLog | None, request: ImportRequest, notes: ImportNotes
) -> Iterator[RunRecord]:
    """The runs log by log; a single log is passed in opened."""
    arms = (
        _arms(logs, notes) if request.arm is None else dict.fromkeys((log.configuration for log in logs), request.arm)
    )
    repeats: Counter[tuple[str, str]] = Counter()
    again = Counter((log.task, arms[log.configuration]) for log in logs)
    for log in sorted(logs, key=lambda each: str(each.spec.get("created"))):
        key = (log.task, arms[log.configuration])
        evaluation = LogContext(
            task=log.task,
            arm=arms[log.configuration],
            repeats_before=repeats[key] if again[key] > 1 else None,
            arm_fingerprint=log.configuration,
            run=log.run,
            solver=as_name(log.spec.get("solver")),
            model=as_name(log.spec.get("model")),
            scorer=_scorer(log, request, notes),
        )
        with nullcontext(opened) if opened is not None else open_inspect_log(log.path, notes) as source:
            read = yield from _runs(source, evaluation, request, notes)
        repeats[key] += as_count(as_dict(log.spec.get("config")).get("epochs")) or 1
        _report_log(log, source, evaluation, read, notes)


def _headers(files: Iterable[Path], notes: ImportNotes) -> list[_Log]:
    found = []
    for file in files:
        with open_inspect_log(file, notes) as opened:
            found.append(_Log(path=file, header=opened.header))
    return found


def _without_retried(logs: list[_Log], notes: ImportNotes) -> list[_Log]:
    """The logs without those that were retried: the later log with the same task id has their samples again."""
    chosen: dict[object, _Log] = {}
    for log in logs:
        key = as_name(log.spec.get("task_id")) or log.path
        before = chosen.get(key)
        if before is None:
            chosen[key] = log
            continue
        older, newer = sorted((before, log), key=lambda each: str(each.spec.get("created")))
        chosen[key] = newer
        notes.warn(f"{older.path.name} is left out: {newer.path.name} is the same evaluation, retried or converted.")
    return list(chosen.values())


def _arms(logs: list[_Log], notes: ImportNotes) -> dict[str, str]:
    """A name for every configuration; configurations with the same name also get a part of their hash."""
    sharing: dict[str, dict[str, Path]] = defaultdict(dict)
    for log in logs:
        sharing[log.arm].setdefault(log.configuration, log.path)
    names: dict[str, str] = {}
    for arm, configurations in sharing.items():
        for configuration, path in configurations.items():
            names[configuration] = arm if len(configurations) == 1 else stable_id(f"{arm[:480]}@{configuration[:8]}")
            if len(configurations) > 1:
                notes.warn(f"{names[configuration]} is {path.name}: {arm} was evaluated in different configurations.")
    return names


def _scorer(log: _Log, request: ImportRequest, notes: ImportNotes) -> str | None:
    wanted = request.columns.get("success")
    if wanted is not None:
        if log.scorers and wanted not in log.scorers:
            known = ", ".join(log.scorers)
            raise EvidenceError(f"{log.path} has no scorer {wanted!r}; it has {known}. Say --map success=SCORER.")
        return wanted
    if len(log.scorers) > 1:
        notes.warn(
            f"success is what {log.scorers[0]!r} says; {', '.join(log.scorers[1:])} are kept beside it. Another one "
            "decides with --map success=SCORER."
        )
    return next(iter(log.scorers), None)


def _runs(
    opened: InspectLog, evaluation: LogContext, request: ImportRequest, notes: ImportNotes
) -> Generator[RunRecord, None, int]:
    number = 0
    for found in opened.samples:
        if not isinstance(found, dict):
            number += len(found)
            yield from _block_runs(opened, found, evaluation, request, notes)
            continue
        number += 1
        summary = summarize_sample(found)
        if summary is None:
            notes.unread(opened.path, 0, f"sample {number} has no id or epoch")
        else:
            yield from _block_runs(opened, [summary], evaluation, request, notes)
    return number


def _block_runs(
    opened: InspectLog,
    samples: Sequence[SampleSummary],
    evaluation: LogContext,
    request: ImportRequest,
    notes: ImportNotes,
) -> Iterable[RunRecord]:
    """The runs of some samples, with their transcripts where these are asked for."""
    runs = sample_runs(samples, evaluation, notes)
    if not request.transcripts:
        return runs
    from outweigh.interop.inspect_ai.sample_messages import trajectory_of_sample  # noqa: PLC0415 - seldom asked for

    kept = []
    for sample, run in zip(samples, runs, strict=True):
        content = opened.find_sample(sample.id, sample.epoch)
        found = None if content is None else trajectory_of_sample(content, evaluation.solver, evaluation.model)
        kept.append(run if found is None else replace(run, artifacts={TRAJECTORY_ARTIFACT: request.keep(found)}))
    return kept


def _report_log(log: _Log, opened: InspectLog, evaluation: LogContext, read: int, notes: ImportNotes) -> None:
    results = as_dict(log.header.get("results"))
    status = as_name(log.header.get("status")) or "started"
    if not opened.finished:
        notes.warn(
            f"{log.path.name} breaks off: still running, or crashed. The {read:,} samples that it holds are read."
        )
    elif status != "success":
        notes.warn(f"{log.path.name} ended as {status!r}; the {read:,} samples that it holds are read.")
    said = as_count(results.get("total_samples"))
    if read and said is not None and said != read:
        notes.warn(f"{log.path.name} announces {said:,} samples and holds {read:,}.")
    if results and not read:
        notes.aggregates.append({"log": log.path.name, "task": log.task, "arm": evaluation.arm, "results": results})
    for score in map(as_dict, as_list(results.get("scores"))):
        for metric, value in as_dict(score.get("metrics")).items():
            if (figure := as_amount(as_dict(value).get("value"))) is not None:
                notes.facts[f"{log.task}, {evaluation.arm}, {score.get('name')}: {metric}"] = figure
