"""The folders that skill-creator fills: `eval-N/CONFIGURATION/run-K` with a grading.json and a timing.json."""

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from outweigh.adapters.importers.folders import files_below
from outweigh.adapters.importers.identity import readable
from outweigh.adapters.importers.skill_run import SkillRun, counted, graded, task_name
from outweigh.adapters.importers.source_text import read_bytes, read_json
from outweigh.adapters.importers.source_time import seconds_of_milliseconds
from outweigh.errors import EvidenceError
from outweigh.ports.importers import ImportNotes
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
    evaluations = dict(_originals(root, notes))
    several = len({place.parent for place in evaluations.values()}) > 1
    for folder, place in evaluations.items():
        arm_folder = folder.parent if _RUN.fullmatch(folder.name) else folder
        arm = readable(f"{place.parent.name}/{arm_folder.name}" if several else arm_folder.name)
        try:
            yield _run(folder, place, arm, skill, notes)
        except EvidenceError as fault:
            notes.unread(folder, 0, str(fault))


def _originals(root: Path, notes: ImportNotes) -> Iterator[tuple[Path, Path]]:
    """Each folder of a run with that of its evaluation, but for copies: within another run, or the same elsewhere."""
    seen: dict[str, Path] = {}
    for folder in sorted(run_folders(root), key=lambda each: (len(each.parts), each)):
        place = _evaluation_folder(folder)
        if place is None:
            continue
        within = folder.relative_to(place)
        if len(within.parts) > (2 if _RUN.fullmatch(folder.name) else 1):
            notes.warn(f"{folder.relative_to(root)} lies within another run, as a copy would; it is left out.")
            continue
        first = seen.setdefault(_content(folder, f"{place.name}/{within}"), folder)
        if first == folder:
            yield folder, place
        else:
            notes.warn(f"{folder.relative_to(root)} is a copy of {first.relative_to(root)} and was not counted again.")


def _content(folder: Path, called: str) -> str:
    """What a run left, under its name. Only times tell two runs from a copy: without any, each stays its own."""
    grading, timing = (read_bytes(file) if (file := folder / mark).is_file() else b"" for mark in _MARKS)
    if not any(digit in timing for digit in b"123456789"):
        return str(folder)
    return f"{called} {sha256(grading).hexdigest()} {sha256(timing).hexdigest()}"


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
        task=task_name(_document(place / "eval_metadata.json", notes), readable(place.name)),
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
        extra={
            "total_tokens": count(timing.get("total_tokens")) or None,
            "place": readable("/".join(folder.parts[-3:])),
        },
    )


def _seconds(timing: dict[str, Any]) -> float | None:
    executing = amount(timing.get("executor_duration_seconds"))
    known = executing or seconds_of_milliseconds(timing.get("duration_ms"))
    return known or amount(timing.get("total_duration_seconds")) or None


def _document(path: Path, notes: ImportNotes) -> dict[str, Any]:
    return mapping(read_json(path, notes)) if path.is_file() else {}
