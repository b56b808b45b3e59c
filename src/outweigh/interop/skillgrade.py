"""Importer of skillgrade's reports: `results/<task>_<time>.json`, one task with all its trials each."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.interop.field_values import milliseconds_to_seconds, parse_time
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
from outweigh.interop.result_files import FileMarks, listed_objects, read_json
from outweigh.model.failure import FailureKind, Status, failure_from_text
from outweigh.model.run_record import CheckResult, RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_list, as_name, as_str, dicts_at
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_FILES = FileMarks(
    suffixes=(".json",),
    start=re.compile(rb'^\s*\{\s*"task"\s*:\s*"'),
    marks=(b'"pass_at_k"', b'"pass_pow_k"'),
)
_PASSING_REWARD = 0.5
"""From which reward on skillgrade itself counts a trial as passed."""


class SkillgradeImporter:
    """Reads a trial as a run. A report names its skills, but neither agent nor model: folders tell those apart."""

    name = "skillgrade"
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="status_detail duration_seconds checks extra",
        derived="started_at arm_fingerprint task_checksum",
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file begins as a report does, or a folder holds one."""
        return _FILES.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read all reports; several of one task and arm continue the count of repeats."""
        files = _FILES.files(request.path)
        reports = [(file, as_dict(read_json(file, notes))) for file in files]
        folders = {file: _folder_label(file, request.path) for file in files}
        several = len({*folders.values()}) > 1
        yield from with_repeat_numbers(
            run
            for file, report in reports
            for run in _runs(file, report, request.arm or _arm(report, folders[file] if several else ""), notes)
        )


def _folder_label(file: Path, root: Path) -> str:
    """The folder that the user chose with `--output`, without those that skillgrade makes in it."""
    if not root.is_dir():
        return ""
    parts = file.relative_to(root).parent.parts
    own = 2 if parts and parts[-1] == "results" else 0
    return decode_file_name("/".join(parts[: len(parts) - own]))


def _arm(report: Mapping[str, Any], folder: str) -> str:
    skills = sorted(filter(None, map(as_name, as_list(report.get("skills_used")))))
    named = f"with {'+'.join(skills)}" if skills else "without skills"
    return stable_id(f"{folder} {named}".strip())


def _runs(file: Path, report: Mapping[str, Any], arm: str, notes: ImportNotes) -> Iterator[RunRecord]:
    task = as_name(report.get("task"))
    for raw in listed_objects(report, "trials", file, notes):
        reward, log = as_amount(raw.get("reward")), dicts_at(raw, "session_log")
        if task is None or reward is None:
            notes.unread(file, 0, "a trial without a task or a reward")
            continue
        times = sorted(filter(None, (parse_time(entry.get("timestamp")) for entry in log)))
        instruction = next((found for entry in log if (found := as_str(entry.get("instruction")))), None)
        error = _error(raw, log)
        yield imported_run(
            run_id=stable_id("skillgrade", task, fingerprint(raw)[:16]),
            task_id=task,
            arm=arm,
            repeat=1,
            status=Status.COMPLETED if error is None else _error_status(error),
            status_detail=error,
            agent=real_agent(),
            arm_fingerprint=fingerprint(report.get("skills_used")),
            task_checksum=None if instruction is None else fingerprint(instruction),
            started_at=times[0] if times else None,
            duration_seconds=milliseconds_to_seconds(raw.get("duration_ms")),
            checks=_checks(raw, reward) if error is None else None,
            extra=extra_fields(
                {
                    "reward": reward,
                    "trial": as_count(raw.get("trial_id")),
                    "commands": as_count(raw.get("n_commands")),
                    "estimated_input_tokens": as_count(raw.get("input_tokens")),
                    "estimated_output_tokens": as_count(raw.get("output_tokens")),
                    "skills_triggered": as_list(raw.get("skills_triggered")) or None,
                    "metadata": as_dict(report.get("metadata")) or None,
                }
            ),
        )


def _error(raw: Mapping[str, Any], log: list[dict[str, Any]]) -> str | None:
    """Why a trial broke: it has a reward of 0 and no grader's result, and the last entry of its log has the message."""
    if dicts_at(raw, "grader_results") or not log:
        return None
    return (as_str(log[-1].get("output")) or "the trial ended in an error")[:500]


def _error_status(error: str) -> Status:
    if error.startswith("Agent (limit"):
        return Status.TIMEOUT
    return (
        Status.INFRA_ERROR if error.startswith("Grader ") else failure_from_text(error, FailureKind.CRASH).kind.status
    )


def _checks(raw: Mapping[str, Any], reward: float) -> tuple[CheckResult, ...]:
    return (
        outcome_check("reward", reward >= _PASSING_REWARD, f"{reward:.3g}"),
        *(
            outcome_check(
                f"{number} {as_name(each.get('grader_type')) or 'grader'}"[:500],
                None if (score := as_amount(each.get("score"))) is None else score >= _PASSING_REWARD,
                (as_str(each.get("details")) or "")[:500] or None,
                required=False,
            )
            for number, each in enumerate(dicts_at(raw, "grader_results"), start=1)
        ),
    )
