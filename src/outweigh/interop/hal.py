"""Importer of HAL, the Holistic Agent Leaderboard: `*_UPLOAD.json`, one agent on one benchmark each."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.interop.imported_run import (
    decode_file_name,
    extra_fields,
    field_origins,
    fingerprint,
    imported_run,
    outcome_check,
    real_agent,
    stable_id,
    with_repeat_numbers,
)
from outweigh.interop.result_files import FileMarks, read_json
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import (
    amount_at,
    as_amount,
    as_count,
    as_dict,
    as_list,
    as_name,
    dict_at,
    name_at,
    names_at,
)
from outweigh.model.usage import reported_cost
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_FILES = FileMarks(suffixes=("_UPLOAD.json",), start=re.compile(rb'^\s*\{\s*"(?:config|metadata)"\s*:\s*\{'))
_LISTS = ("successful_tasks", "failed_tasks")
_SCORES = ("reward", "score", "resolved", "success", "passed", "correct")
"""Where the benchmarks keep the result of a task, if no list says what was successful."""


class HalImporter:
    """Reads a task of a benchmark as a run; an arm is an agent, which HAL names with its model."""

    name = "hal"
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="agent checks duration_seconds step_count cost extra", derived="arm_fingerprint family"
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file is called as HAL calls its results, or a folder holds one."""
        return _FILES.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read every file; several of one agent on one benchmark are repeats."""
        yield from with_repeat_numbers(
            run for file in _FILES.files(request.path) for run in _file_runs(file, request, notes)
        )


def _file_runs(file: Path, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
    document = as_dict(read_json(file, notes))
    config, results = dict_at(document, "config"), dict_at(document, "results")
    run_name = name_at(config, "run_id") or decode_file_name(file.name.removesuffix("_UPLOAD.json"))
    arm = stable_id(request.arm or name_at(config, "agent_name") or run_name)[:200]
    benchmark = name_at(config, "benchmark_name")
    outcomes = _outcomes(document, file, notes)
    if not outcomes:
        notes.unread(file, 0, "it names no task with its result")
        return
    agent = real_agent(
        name_at(config, "agent_name"), name_at(config, "agent_version"), name_at(config, "agent_args", "model_name")
    )
    for task, passed in outcomes.items():
        yield imported_run(
            run_id=stable_id("hal", benchmark or "benchmark", run_name, task),
            task_id=stable_id(*(part for part in (benchmark, task) if part)),
            arm=arm,
            repeat=1,
            agent=agent,
            arm_fingerprint=fingerprint([config.get("agent_args"), document.get("agent_hash")]),
            family=benchmark,
            duration_seconds=_duration(document, task),
            cost=reported_cost(amount_at(document, "raw_eval_results", task, "cost")),
            step_count=as_count(dict_at(document, "task_step_counts").get(task)),
            checks=(outcome_check("successful", passed),),
            extra=extra_fields({"run_id": run_name, "date": name_at(config, "date")}),
        )
    for fact, stated in (("accuracy", results.get("accuracy")), ("cost_usd", results.get("total_cost"))):
        if (figure := as_amount(stated)) is not None:
            notes.state(arm, fact, figure)


def _outcomes(document: Mapping[str, Any], file: Path, notes: ImportNotes) -> dict[str, bool | None]:
    """What came of each task, by the lists of successful and failed ones; else by its score, of which 1 is a pass.

    A task that is on both lists is unknown.
    """
    results = dict_at(document, "results")
    if results.keys() & set(_LISTS):
        won, lost = (_listed_tasks(results, key, file, notes) for key in _LISTS)
        both = {*won} & {*lost}
        return {task: None if task in both else task in won for task in dict.fromkeys((*won, *lost))}
    return {
        task: _passed(found)
        for task, found in dict_at(document, "raw_eval_results").items()
        if as_name(task) is not None and isinstance(found, dict)
    }


def _listed_tasks(results: Mapping[str, Any], key: str, file: Path, notes: ImportNotes) -> tuple[str, ...]:
    found = names_at(results, key)
    if found is None or len(found) < len(as_list(results[key])):
        notes.unread(file, 0, f"{key!r} is not a list of names")
    return found or ()


def _passed(found: Mapping[str, Any]) -> bool | None:
    stated = next((found[key] for key in _SCORES if key in found), None)
    if isinstance(stated, bool):
        return stated
    score = as_amount(stated)
    return None if score is None else score >= 1


def _duration(document: Mapping[str, Any], task: str) -> float | None:
    """The time of a task on the clock; where HAL did not take it, from the first request to the last."""
    measured = as_amount(dict_at(document, "wall_clock_times").get(task))
    if measured is not None:
        return measured
    latency = dict_at(document, "results", "latencies").get(task)
    return amount_at(latency, "total_time") if isinstance(latency, dict) else as_amount(latency)
