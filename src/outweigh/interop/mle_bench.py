"""Importer of MLE-bench: `*grading_report.json`, one attempt at each of some competitions."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.errors import EvidenceError
from outweigh.interop.field_values import parse_time
from outweigh.interop.imported_run import (
    decode_file_name,
    extra_fields,
    field_origins,
    fingerprint,
    imported_run,
    outcome_check,
    stable_id,
    with_repeat_numbers,
)
from outweigh.interop.result_files import FileMarks, listed_objects, read_json, read_text
from outweigh.model.run_record import CheckResult, RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_name, bool_at
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

GROUPS_FILE = "run_group_experiments.csv"
_FILES = FileMarks(
    suffixes=("grading_report.json",),
    start=re.compile(rb'^\s*\{\s*"total_runs"\s*:'),
    marks=(b'"competition_reports"',),
)
_TIME_AND_GROUP = re.compile(r"^\d{4}-\d\d-\d\dT[\d-]+(?:-[A-Z]{2,4})?_(?:run-group_)?")
_OTHER_CHECKS = ("above_median", "bronze_medal", "silver_medal", "gold_medal", "valid_submission", "submission_exists")


class MleBenchImporter:
    """Reads an attempt at a competition as a run, which passes with any medal; an experiment is an arm."""

    name = "mle-bench"
    fields: Mapping[str, FieldOrigin] = field_origins(reported="checks extra", derived="started_at status_detail")

    def recognises(self, path: Path) -> bool:
        """Whether a file begins as a grading report does, or a folder holds one."""
        return _FILES.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read every report; several of one arm are repeats."""
        files = _FILES.files(request.path)
        groups = _experiments(request.path, notes)
        medals: Counter[str] = Counter()
        yield from with_repeat_numbers(
            run for file in files for run in _report_runs(file, request.arm or _arm_of(file, groups), medals, notes)
        )
        for arm, won in medals.items():
            notes.state(arm, "passes", won)


def _experiments(root: Path, notes: ImportNotes) -> dict[str, str]:
    """The experiment of each group of runs, as the table beside published runs has them: they are its seeds."""
    place = next((each for each in (root, *root.resolve().parents[:2]) if (each / GROUPS_FILE).is_file()), None)
    if place is None:
        return {}
    try:
        rows = [line.split(",") for line in read_text(place / GROUPS_FILE, notes).splitlines()]
    except EvidenceError as fault:
        notes.warn(f"run groups keep their own names: {fault}")
        return {}
    if not rows or rows[0][:2] != ["experiment_id", "run_group"]:
        return {}
    return {row[1].strip(): row[0].strip() for row in rows[1:] if len(row) >= 2 and row[0].strip()}


def _arm_of(file: Path, experiments: Mapping[str, str]) -> str:
    """The experiment of the folder, or the folder without the time at which it was begun."""
    folder = file.resolve().parent.name
    return decode_file_name(experiments.get(folder) or _TIME_AND_GROUP.sub("", folder) or folder)[:200]


def _report_runs(file: Path, arm: str, medals_by_arm: Counter[str], notes: ImportNotes) -> Iterator[RunRecord]:
    report = as_dict(read_json(file, notes))
    place = f"{file.resolve().parent.name}/{fingerprint(report)[:16]}"
    for number, raw in enumerate(listed_objects(report, "competition_reports", file, notes)):
        competition = as_name(raw.get("competition_id"))
        if competition is None or bool_at(raw, "any_medal") is None:
            notes.unread(file, 0, "an attempt without a competition, or one that does not say whether it won a medal")
            continue
        yield imported_run(
            run_id=stable_id("mle-bench", place, competition, f"{number:06}"),
            task_id=competition,
            arm=arm,
            repeat=1,
            status_detail=_shortcoming(raw),
            checks=tuple(_checks(raw)),
            extra=extra_fields(
                {
                    "score": _score(raw.get("score")),
                    "is_lower_better": bool_at(raw, "is_lower_better"),
                    "graded_at": None if parse_time(raw.get("created_at")) is None else raw["created_at"],
                }
            ),
        )
    if (medals := as_count(report.get("total_medals"))) is not None:
        medals_by_arm[arm] += medals


def _checks(raw: Mapping[str, Any]) -> Iterator[CheckResult]:
    yield outcome_check("any_medal", bool_at(raw, "any_medal"))
    for name in _OTHER_CHECKS:
        if (held := bool_at(raw, name)) is not None:
            yield outcome_check(name, held, required=False)


def _shortcoming(raw: Mapping[str, Any]) -> str | None:
    if bool_at(raw, "submission_exists") is False:
        return "no submission"
    return "invalid submission" if bool_at(raw, "valid_submission") is False else None


def _score(value: object) -> float | None:
    """A score, which may be negative."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if as_amount(abs(value)) is not None else None
    return None
