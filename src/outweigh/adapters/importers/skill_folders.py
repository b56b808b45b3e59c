"""The folders that skill-creator fills: `eval-N/CONFIGURATION/run-K` with a grading.json and a timing.json."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from outweigh.adapters.importers.folders import files_below
from outweigh.adapters.importers.skill_run import SkillRun, counted, graded, task_name
from outweigh.adapters.importers.source_text import read_json
from outweigh.adapters.importers.source_time import seconds_of_milliseconds
from outweigh.errors import EvidenceError
from outweigh.ports import ImportNotes
from outweigh.record.status import Status
from outweigh.transcript.foreign import amount, count, mapping

_RUN = re.compile(r"run-(\d{1,9})")
_EVALUATION = re.compile(r"eval-.+")
_MARKS = ("grading.json", "timing.json")


def run_folders(root: Path) -> list[Path]:
    """Every folder that holds one run, by what its place is called: eval-N, the configuration, perhaps run-K."""
    found = dict.fromkeys(file.parent for file in files_below(root, lambda file: file in _MARKS))
    return [folder for folder in found if _evaluation_folder(folder) is not None]


def folder_runs(root: Path, skill: str, notes: ImportNotes) -> Iterator[SkillRun]:
    """The runs; more than one iteration in a root means more than one skill under test, so they stay apart."""
    folders = run_folders(root)
    evaluations = {folder: place for folder in folders if (place := _evaluation_folder(folder)) is not None}
    several = len({place.parent for place in evaluations.values()}) > 1
    for folder, place in evaluations.items():
        arm_folder = folder.parent if _RUN.fullmatch(folder.name) else folder
        if arm_folder.parent != place:
            notes.warn(f"{folder.relative_to(root)} lies within another run, as a copy would; it is left out.")
            continue
        arm = f"{place.parent.name}/{arm_folder.name}" if several else arm_folder.name
        try:
            yield _run(folder, place, arm, skill, notes)
        except EvidenceError as fault:
            notes.unread(folder, 0, str(fault))


def _evaluation_folder(folder: Path) -> Path | None:
    return next((each for each in list(folder.parents)[:4] if _EVALUATION.fullmatch(each.name)), None)


def _run(folder: Path, place: Path, arm: str, skill: str, notes: ImportNotes) -> SkillRun:
    grading = _document(folder / "grading.json", notes)
    timing = _document(folder / "timing.json", notes) or mapping(grading.get("timing"))
    numbered = _RUN.fullmatch(folder.name)
    passed, total = counted(mapping(grading.get("summary")))
    metrics = mapping(grading.get("execution_metrics"))
    return SkillRun(
        skill=skill,
        task=task_name(_document(place / "eval_metadata.json", notes), place.name),
        arm=arm,
        repeat=int(numbered[1]) if numbered else 1,
        model=None,
        assertions=graded(grading.get("expectations")),
        passed=passed,
        total=total,
        seconds=_seconds(timing),
        tool_calls=count(metrics.get("total_tool_calls")) or None,
        status=Status.COMPLETED,
        status_detail=None if grading else "it was not graded",
        extra={"total_tokens": count(timing.get("total_tokens")) or None, "place": "/".join(folder.parts[-3:])},
    )


def _seconds(timing: dict[str, Any]) -> float | None:
    executing = amount(timing.get("executor_duration_seconds"))
    known = executing or seconds_of_milliseconds(timing.get("duration_ms"))
    return known or amount(timing.get("total_duration_seconds")) or None


def _document(path: Path, notes: ImportNotes) -> dict[str, Any]:
    return mapping(read_json(path, notes)) if path.is_file() else {}
