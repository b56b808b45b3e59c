"""Evaluations of skills: `benchmark.json`, or the folder that skill-creator worked in."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.adapters.importers.imported_run import origins
from outweigh.adapters.importers.skill_benchmark import benchmark_runs, stated_pass_rate, stated_summaries
from outweigh.adapters.importers.skill_folders import folder_runs, run_folders
from outweigh.adapters.importers.skill_run import SkillRun, skill_record
from outweigh.adapters.importers.source_text import head, read_json
from outweigh.errors import EvidenceError, name_some
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.record.run_record import RunRecord
from outweigh.transcript.foreign import mapping, name

BENCHMARK = "benchmark.json"
_LATER = ("with_skill", "new_skill")
"""The arms under test; what they are compared with comes first."""

_LAYOUTS = (b'"run_summary"', b'"scenarios"', b'"configs"', b'"runs"')


class SkillCreator:
    """An evaluation is a task, a configuration an arm, an assertion a check."""

    name = "skill-creator"
    reads_also = frozenset({"claude-code", "codex"})
    fields: Mapping[str, FieldOrigin] = origins(
        reported="duration_seconds usage tool_call_count checks", derived="status_detail task_checksum extra"
    )

    def recognises(self, path: Path) -> bool:
        """A benchmark with and without a skill, or a folder with one, or with the runs themselves."""
        try:
            if path.is_dir():
                return _is_benchmark(path / BENCHMARK) or bool(run_folders(path))
            return _is_benchmark(path)
        except (EvidenceError, OSError):
            return False

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """The runs' own files, where they are there; a benchmark was made of them."""
        path = request.path
        file = path / BENCHMARK if path.is_dir() else path
        document = mapping(read_json(file, notes)) if file.is_file() else {}
        if path.is_dir() and run_folders(path):
            skill = name(mapping(document.get("metadata")).get("skill_name")) or path.resolve().name or "skill"
            runs = list(folder_runs(path, skill, notes))
        else:
            runs = list(_told(benchmark_runs(document), file, notes))
        _state_facts(document, bool(runs), notes)
        if not runs and not notes.aggregates:
            raise EvidenceError(f"{path} has neither runs with and without a skill nor a summary of them.")
        _warn_of_counts(runs, notes)
        yield from map(skill_record, sorted(runs, key=lambda run: run.arm.endswith(_LATER)))


def _is_benchmark(path: Path) -> bool:
    start = head(path)
    if path.suffix != ".json" or not start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return False
    arms = b'"with_skill"' in start or b'"without_skill"' in start
    return arms and b'"promptIdx"' not in start and any(layout in start for layout in _LAYOUTS)


def _told(runs: Iterable[SkillRun | None], file: Path, notes: ImportNotes) -> Iterator[SkillRun]:
    for number, run in enumerate(runs, start=1):
        if run is None:
            notes.unread(file, 0, f"run {number} does not say whether it had the skill")
        else:
            yield run


def _state_facts(document: Mapping[str, Any], has_runs: bool, notes: ImportNotes) -> None:
    for arm, summary in stated_summaries(document).items():
        if (rate := stated_pass_rate(summary)) is not None:
            notes.facts[f"{arm}: mean share of assertions that held"] = rate
        if not has_runs:
            notes.aggregates.append({"arm": arm, "summary": summary})


def _warn_of_counts(runs: list[SkillRun], notes: ImportNotes) -> None:
    """Shares of different numbers of assertions are not of the same thing."""
    counts: dict[str, set[int]] = defaultdict(set)
    for run in runs:
        if run.asserted is not None:
            counts[run.task].add(run.asserted)
    uneven = [task for task, found in counts.items() if len(found) > 1]
    if uneven:
        notes.warn(f"{name_some(uneven)}: the arms were graded by different numbers of assertions.")
