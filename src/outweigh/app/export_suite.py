"""Export the tasks of a suite as the evals of a plugin."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from outweigh.app.new_files import refuse_to_overwrite, write_files
from outweigh.app.suite_selection import read_suite
from outweigh.errors import UsageError
from outweigh.interop.plugin_eval.suite_exporter import CaseExport, export_case
from outweigh.interop.suite_files import read_tree
from outweigh.model.suite import DEFAULT_REPEATS
from outweigh.model.task import FolderSource, Task
from outweigh.ports.suites import DraftFile


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedSuite:
    """The tasks that became cases, and what could not be carried over, a sentence each."""

    cases: tuple[str, ...]
    notes: tuple[str, ...]


def export_suite(suite: str, target: Path) -> ExportedSuite:
    """Write a case for every task that has one into a folder; nothing is overwritten."""
    loaded = read_suite(suite)
    files: dict[str, DraftFile] = {}
    cases: list[str] = []
    notes: list[str] = []
    repeats = loaded.spec.repeats or DEFAULT_REPEATS
    turns = loaded.arms[loaded.spec.baseline].options.get("max_turns")
    for task in loaded.tasks:
        made = export_case(task, _workspace(task), repeats, turns if isinstance(turns, int) else None)
        if isinstance(made, CaseExport):
            cases.append(task.id)
            files |= {f"{task.id}/{path}": file for path, file in made.files.items()}
            notes += [f"{task.id}: {note}." for note in made.notes]
        else:
            notes.append(f"{task.id} was left out: {made}.")
    if not cases:
        raise UsageError(f"{suite}: no task can be a case of `claude plugin eval`. {' '.join(notes[:3])}")
    refuse_to_overwrite((target / path for path in files), target)
    write_files(target, files)
    return ExportedSuite(cases=tuple(cases), notes=tuple(notes))


def _workspace(task: Task) -> Mapping[str, DraftFile]:
    """The files of a workspace that is a folder; those of others are fetched when the task is run."""
    if not isinstance(task.workspace, FolderSource):
        return {}
    left_out = (*task.workspace.without, *task.without)
    return read_tree(Path(task.workspace.path), without=lambda path: str(path) in left_out)
