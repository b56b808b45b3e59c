"""Importer of skill-creator: `benchmark.json`, or the folder `eval-N/CONFIGURATION/run-K` that it worked in."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from outweigh.errors import EvidenceError, quote_names
from outweigh.interop.field_values import milliseconds_to_seconds
from outweigh.interop.imported_run import decode_file_name, field_origins
from outweigh.interop.result_files import read_bytes, read_head, read_json_object, walk_files
from outweigh.interop.skill_creator.graded_run import (
    GradedRun,
    make_skill_run,
    read_arm_summaries,
    read_assertions,
    read_benchmark_runs,
    read_counts,
    read_pass_rate,
    read_task_name,
)
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_name
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_RUN_FOLDER = re.compile(r"run-(\d{1,9})")
_EVAL_FOLDER = re.compile(r"eval-.+")
_RUN_FILES = ("grading.json", "timing.json")


def find_run_folders(root: Path) -> list[Path]:
    """Every folder of a run, by the names of the folders above it: eval-N, the configuration, perhaps run-K."""
    found = dict.fromkeys(file.parent for file in walk_files(root, lambda file: file in _RUN_FILES))
    return [folder for folder in found if _evaluation_folder(folder) is not None]


def read_run_folders(root: Path, skill: str, notes: ImportNotes) -> Iterator[GradedRun]:
    """The runs. Several iterations below one root are different versions of a skill, so their arms stay apart."""
    evaluations = dict(_without_copies(root, notes))
    several = len({place.parent for place in evaluations.values()}) > 1
    for folder, place in evaluations.items():
        arm_folder = folder.parent if _RUN_FOLDER.fullmatch(folder.name) else folder
        arm = decode_file_name(f"{place.parent.name}/{arm_folder.name}" if several else arm_folder.name)
        try:
            yield _run(folder, place, arm, skill, notes)
        except EvidenceError as fault:
            notes.unread(folder, 0, str(fault))


def _without_copies(root: Path, notes: ImportNotes) -> Iterator[tuple[Path, Path]]:
    """Each folder of a run with that of its evaluation, except copies within another run or elsewhere."""
    seen: dict[str, Path] = {}
    for folder in sorted(find_run_folders(root), key=lambda each: (len(each.parts), each)):
        place = _evaluation_folder(folder)
        if place is None:
            continue
        within = folder.relative_to(place)
        if len(within.parts) > (2 if _RUN_FOLDER.fullmatch(folder.name) else 1):
            notes.warn(f"{folder.relative_to(root)} is within another run, as a copy would; it is left out.")
            continue
        first = seen.setdefault(_copy_key(folder, f"{place.name}/{within}"), folder)
        if first == folder:
            yield folder, place
        else:
            notes.warn(f"{folder.relative_to(root)} is a copy of {first.relative_to(root)} and was not counted again.")


def _copy_key(folder: Path, called: str) -> str:
    """A key that copies of a run share: its name and files. Without times each folder has its own, because runs may be
    equal.
    """
    grading, timing = (read_bytes(file) if (file := folder / mark).is_file() else b"" for mark in _RUN_FILES)
    if not any(digit in timing for digit in b"123456789"):
        return str(folder)
    return f"{called} {sha256(grading).hexdigest()} {sha256(timing).hexdigest()}"


def _evaluation_folder(folder: Path) -> Path | None:
    return next((each for each in list(folder.parents)[:4] if _EVAL_FOLDER.fullmatch(each.name)), None)


def _run(folder: Path, place: Path, arm: str, skill: str, notes: ImportNotes) -> GradedRun:
    grading = read_json_object(folder / "grading.json", notes)
    timing = read_json_object(folder / "timing.json", notes) or as_dict(grading.get("timing"))
    numbered = _RUN_FOLDER.fullmatch(folder.name)
    passed, total = read_counts(as_dict(grading.get("summary")))
    metrics = as_dict(grading.get("execution_metrics"))
    return GradedRun(
        skill=skill,
        task=read_task_name(read_json_object(place / "eval_metadata.json", notes), decode_file_name(place.name)),
        arm=arm,
        repeat=int(numbered[1]) if numbered else 1,
        model=None,
        assertions=read_assertions(grading.get("expectations")),
        passed=passed,
        total=total,
        seconds=_seconds(timing),
        tool_calls=as_count(metrics.get("total_tool_calls")) or None,
        status=Status.COMPLETED,
        status_detail=None if grading else "it was not graded",
        extra={
            "total_tokens": as_count(timing.get("total_tokens")) or None,
            "place": decode_file_name("/".join(folder.parts[-3:])),
        },
    )


def _seconds(timing: dict[str, Any]) -> float | None:
    executing = as_amount(timing.get("executor_duration_seconds"))
    known = executing or milliseconds_to_seconds(timing.get("duration_ms"))
    return known or as_amount(timing.get("total_duration_seconds")) or None


BENCHMARK_FILE = "benchmark.json"
_CANDIDATE_NAMES = ("with_skill", "new_skill")
"""The arms under test; the others come first."""

_LAYOUT_MARKS = (b'"run_summary"', b'"scenarios"', b'"configs"', b'"runs"')


class SkillCreatorImporter:
    """Reads an evaluation as a task, a configuration as an arm, an assertion as a check."""

    name = "skill-creator"
    reads_also = frozenset({"claude-code", "codex"})
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="duration_seconds usage tool_call_count checks", derived="status_detail task_checksum extra"
    )

    def recognises(self, path: Path) -> bool:
        """Whether a path is a benchmark with and without a skill, or a folder with one, or with the runs themselves."""
        try:
            if path.is_dir():
                return _is_benchmark(path / BENCHMARK_FILE) or bool(find_run_folders(path))
            return _is_benchmark(path)
        except (EvidenceError, OSError):
            return False

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read the runs' own files if they are there, else the benchmark that was made from them."""
        path = request.path
        file = path / BENCHMARK_FILE if path.is_dir() else path
        document = read_json_object(file, notes)
        if path.is_dir() and find_run_folders(path):
            skill = as_name(as_dict(document.get("metadata")).get("skill_name")) or path.resolve().name or "skill"
            runs = list(read_run_folders(path, skill, notes))
        else:
            runs = list(_readable_runs(read_benchmark_runs(document), file, notes))
        _state_facts(document, bool(runs), notes)
        if not runs and not notes.aggregates:
            raise EvidenceError(f"{path} has neither runs with and without a skill nor a summary of them.")
        _warn_of_counts(runs, notes)
        yield from map(make_skill_run, sorted(runs, key=lambda run: run.arm.endswith(_CANDIDATE_NAMES)))


_OTHER_MARKS = (b'"promptIdx"', b'"n_per_condition"', b'"skillevaluation/test-run-result')
"""What results of promptfoo, agent-crucible and skillevaluation contain, which have arms of these names, too."""


def _is_benchmark(path: Path) -> bool:
    start = read_head(path)
    if path.suffix != ".json" or not start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return False
    arms = b'"with_skill"' in start or b'"without_skill"' in start
    others = any(mark in start for mark in _OTHER_MARKS)
    return arms and not others and any(layout in start for layout in _LAYOUT_MARKS)


def _readable_runs(runs: Iterable[GradedRun | None], file: Path, notes: ImportNotes) -> Iterator[GradedRun]:
    for number, run in enumerate(runs, start=1):
        if run is None:
            notes.unread(file, 0, f"run {number} does not say whether it had the skill")
        else:
            yield run


def _state_facts(document: Mapping[str, Any], has_runs: bool, notes: ImportNotes) -> None:
    for arm, summary in read_arm_summaries(document).items():
        if (rate := read_pass_rate(summary)) is not None:
            notes.facts[f"{arm}: mean share of assertions that held"] = rate
        if not has_runs:
            notes.aggregates.append({"arm": arm, "summary": summary})


def _warn_of_counts(runs: list[GradedRun], notes: ImportNotes) -> None:
    """Warn if the arms of a task were graded by different numbers of assertions, so that shares cannot be compared."""
    counts: dict[str, set[int]] = defaultdict(set)
    for run in runs:
        if run.asserted is not None:
            counts[run.task].add(run.asserted)
    uneven = [task for task, found in counts.items() if len(found) > 1]
    if uneven:
        notes.warn(f"{quote_names(uneven)}: the arms were graded by different numbers of assertions.")
