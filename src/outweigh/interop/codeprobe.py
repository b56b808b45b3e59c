"""Importer of CodeProbe's experiments: `runs/<configuration>/results.json`, one configuration each."""

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
)
from outweigh.interop.result_files import (
    FileMarks,
    listed_objects,
    read_json,
    read_json_object,
)
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_name, bool_at, dict_at, dicts_at, name_at
from outweigh.model.usage import Usage, reported_cost
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.transcript.token_counts import usage_unless_empty

RESULTS_FILE, EXPERIMENT_FILE = "results.json", "experiment.json"
_FILES = FileMarks(
    suffixes=(RESULTS_FILE,),
    start=re.compile(rb'^\s*\{\s*"config"\s*:\s*"[^"]*"\s*,\s*"completed"\s*:\s*\['),
    marks=(b'"automated_score"',),
)
_STATUS = {"completed": Status.COMPLETED, "failed": Status.AGENT_ERROR, "error": Status.INFRA_ERROR}


class CodeProbeImporter:
    """Reads a task of a configuration as a run; a configuration is an arm, `repeat_index` a repeat."""

    name = "codeprobe"
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="status_detail agent duration_seconds usage cost step_count tool_call_count checks extra",
        derived="arm_fingerprint",
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file begins as the results of a configuration do, or a folder holds one."""
        return _FILES.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read every configuration, with what the experiment beside it says about it."""
        for file in _FILES.files(request.path):
            document = as_dict(read_json(file, notes))
            config = as_name(document.get("config")) or decode_file_name(file.resolve().parent.name)
            experiment, settings = _experiment(file, config, notes)
            for raw in listed_objects(document, "completed", file, notes):
                run = _task_run(raw, config, experiment, settings, request.arm)
                if run is None:
                    notes.unread(file, 0, "a result without a task, a status or a score")
                else:
                    yield run
            _state_summary(document, request.arm or config, notes)


def _experiment(file: Path, config: str, notes: ImportNotes) -> tuple[str | None, dict[str, Any]]:
    """The experiment's name and what it says about a configuration; `experiment.json` is two folders above."""
    found = read_json_object(file.resolve().parent.parent.parent / EXPERIMENT_FILE, notes)
    settings = next((each for each in dicts_at(found, "configs") if each.get("label") == config), {})
    return as_name(found.get("name")), settings


def _task_run(
    raw: Mapping[str, Any], config: str, experiment: str | None, settings: Mapping[str, Any], arm: str | None
) -> RunRecord | None:
    task, stated = as_name(raw.get("task_id")), as_name(raw.get("status"))
    score, repeat = as_amount(raw.get("automated_score")), as_count(raw.get("repeat_index"))
    if task is None or stated not in _STATUS or score is None or repeat is None:
        return None
    status = _STATUS[stated]
    return imported_run(
        run_id=stable_id("codeprobe", experiment or "experiment", config, task, repeat + 1),
        task_id=task,
        arm=arm or config,
        repeat=repeat + 1,
        status=status,
        status_detail=as_name(raw.get("error_category")) if status is not Status.COMPLETED else None,
        agent=real_agent(name_at(settings, "agent"), None, name_at(settings, "model")),
        arm_fingerprint=fingerprint(settings) if settings else None,
        # 0 stands for an attempt that was not timed.
        duration_seconds=as_amount(raw.get("duration_seconds")) or None,
        usage=usage_unless_empty(_usage(raw, name_at(settings, "agent"))),
        cost=reported_cost(as_amount(raw.get("cost_usd"))),
        step_count=as_count(raw.get("num_turns")),
        tool_call_count=as_count(raw.get("tool_call_count")),
        checks=(outcome_check("score", _passed(raw, score), f"{score:.3g}"),) if status is Status.COMPLETED else None,
        extra=extra_fields(
            {
                "score": score,
                "verdict": as_name(raw.get("verdict")),
                "scoring_details": as_dict(raw.get("scoring_details")) or None,
                "tool_use_by_name": as_dict(raw.get("tool_use_by_name")) or None,
                "cost_source": as_name(raw.get("cost_source")),
                "result_subtype": as_name(raw.get("result_subtype")),
            }
        ),
    )


def _passed(raw: Mapping[str, Any], score: float) -> bool | None:
    """Whether the task was passed, as its scoring states it; else full credit is a pass."""
    stated = bool_at(raw, "scoring_details", "passed")
    return score >= 1 if stated is None else stated


def _usage(raw: Mapping[str, Any], agent: str | None) -> Usage:
    """The tokens. Only Claude Code is known to count the cache apart; for others, input is unknown."""
    return Usage(
        input_tokens=as_count(raw.get("input_tokens")) if agent == "claude" else None,
        output_tokens=as_count(raw.get("output_tokens")),
        cache_read_tokens=as_count(raw.get("cache_read_tokens")),
        cache_write_tokens=as_count(raw.get("cache_creation_tokens")),
    )


def _state_summary(document: Mapping[str, Any], arm: str, notes: ImportNotes) -> None:
    summary = dict_at(document, "summary")
    for name, stated in (("mean score", "mean_automated_score"), ("cost_usd", "total_cost_usd")):
        if (figure := as_amount(summary.get(stated))) is not None:
            notes.state(arm, name, figure)
