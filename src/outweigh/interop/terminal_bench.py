"""Importer of terminal-bench's `results.json`, with the `run_metadata.json` beside it."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.errors import EvidenceError
from outweigh.interop.field_values import parse_time, seconds_between
from outweigh.interop.imported_run import (
    decode_file_name,
    extra_fields,
    field_origins,
    fingerprint,
    imported_run,
    outcome_check,
    real_agent,
)
from outweigh.interop.result_files import read_head, read_json, read_json_object, walk_files
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import as_count, as_dict, as_list, as_name
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

RESULTS_FILE = "results.json"
METADATA_FILE = "run_metadata.json"
_ATTEMPT = re.compile(r"\.(?P<number>\d{1,6})-of-\d{1,6}\.")
_STATUS_BY_FAILURE = {
    "agent_timeout": Status.TIMEOUT,
    "unknown_agent_error": Status.AGENT_ERROR,
    "fatal_llm_parse_error": Status.AGENT_ERROR,
    "context_length_exceeded": Status.AGENT_ERROR,
    "output_length_exceeded": Status.AGENT_ERROR,
    "test_timeout": Status.INFRA_ERROR,
    "parse_error": Status.INFRA_ERROR,
    "agent_installation_failed": Status.INFRA_ERROR,
    "unknown": Status.INFRA_ERROR,
}


class TerminalBenchImporter:
    """Reads one run for each trial; the number of the attempt is its repeat."""

    name = "terminal-bench"
    reads_also = frozenset({"atif", "claude-code", "codex", "mini-swe-agent"})

    @property
    def fields(self) -> Mapping[str, FieldOrigin]:
        """It counts cached tokens as input, so input without the cache is unknown; it states no cost."""
        return field_origins(
            reported="agent checks started_at status_detail extra",
            derived="arm_fingerprint duration_seconds checks_seconds usage",
        )

    def recognises(self, path: Path) -> bool:
        """Whether a path is a results file, or the folder of a run."""
        file = path / RESULTS_FILE if path.is_dir() else path
        start = read_head(file)
        return b'"results"' in start and b'"is_resolved"' in start and b'"trial_name"' in start

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read the results of one run, or of every run below a folder."""
        path = request.path
        files = (
            [path]
            if path.is_file()
            else [path / RESULTS_FILE]
            if (path / RESULTS_FILE).is_file()
            else _results_files(path)
        )
        if not files:
            raise EvidenceError(f"{path} holds no {RESULTS_FILE} of terminal-bench.")
        for file in files:
            yield from _runs(file, request, notes)


def _results_files(path: Path) -> list[Path]:
    """The results of runs; trials have files of the same name two levels further down."""
    found = [file for file in walk_files(path, lambda name: name == RESULTS_FILE) if b'"results"' in read_head(file)]
    return [file for file in found if (file.parent / METADATA_FILE).is_file()] or found


def _runs(file: Path, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    document = as_dict(read_json(file, notes))
    metadata = read_json_object(file.parent / METADATA_FILE, notes)
    if "results" not in document:
        raise EvidenceError(f"{file} has no 'results'; is it terminal-bench's?")
    for fact in ("accuracy", "n_resolved", "n_unresolved"):
        if isinstance(document.get(fact), int | float):
            notes.facts[fact] = document[fact]
    arm = request.arm or _arm_name(metadata) or decode_file_name(file.parent.resolve().name)
    attempts: dict[str, int] = {}
    for number, each in enumerate(as_list(document.get("results")), start=1):
        raw = as_dict(each)
        task, trial = as_name(raw.get("task_id")), as_name(raw.get("trial_name"))
        if task is None or trial is None:
            notes.unread(file, number, "the trial has no task_id or no trial_name")
            continue
        attempts[task] = attempts.get(task, 0) + 1
        stated = _ATTEMPT.search(trial)
        repeat = int(stated["number"]) if stated else attempts[task]
        yield _run(raw, task, trial, arm, repeat, metadata, labelled=stated is not None)


def _run(
    raw: Mapping[str, Any],
    task: str,
    trial: str,
    arm: str,
    repeat: int,
    metadata: Mapping[str, Any],
    *,
    labelled: bool,
) -> RunRecord:
    resolved = raw.get("is_resolved") if isinstance(raw.get("is_resolved"), bool) else None
    mode = as_name(raw.get("failure_mode")) or "unset"
    extra = {
        "trial_name": trial,
        "failure_mode": mode,
        "parser_results": raw.get("parser_results"),
        "total_input_tokens": raw.get("total_input_tokens"),
        "dataset": metadata.get("dataset_name"),
        "dataset_version": metadata.get("dataset_version"),
        "repeat_label": None if labelled else "arbitrary",
    }
    return imported_run(
        run_id=f"terminal-bench/{as_name(raw.get('id')) or trial}",
        task_id=task,
        arm=arm,
        repeat=repeat,
        # A tested trial counts by its result even if the agent ran out of time, as in terminal-bench.
        status=Status.COMPLETED if resolved is not None else _STATUS_BY_FAILURE.get(mode, Status.COMPLETED),
        status_detail=None if mode in ("unset", "none") else mode,
        agent=real_agent(as_name(metadata.get("agent_name")), None, as_name(metadata.get("model_name"))),
        arm_fingerprint=_arm_fingerprint(metadata),
        started_at=parse_time(raw.get("agent_started_at")) or parse_time(raw.get("trial_started_at")),
        duration_seconds=seconds_between(raw.get("agent_started_at"), raw.get("agent_ended_at")),
        checks_seconds=seconds_between(raw.get("test_started_at"), raw.get("test_ended_at")),
        usage=_usage(raw),
        checks=(outcome_check("is_resolved", resolved),),
        extra=extra_fields(extra),
    )


def _usage(raw: Mapping[str, Any]) -> Usage:
    """The tokens; zeros mean that nobody counted."""
    output = as_count(raw.get("total_output_tokens"))
    if not output:
        return NO_USAGE
    return Usage(input_tokens=None, output_tokens=output, cache_read_tokens=None, cache_write_tokens=None)


def _arm_name(metadata: Mapping[str, Any]) -> str | None:
    known = [found for key in ("agent_name", "model_name") if (found := as_name(metadata.get(key))) is not None]
    return " ".join(known)[:200] if known else None


def _arm_fingerprint(metadata: Mapping[str, Any]) -> str | None:
    settings = {key: metadata.get(key) for key in ("agent_name", "model_name", "agent_kwargs") if metadata.get(key)}
    return fingerprint(settings) if settings else None
