"""Write the tasks that were chosen: as a list, and as a suite of its own where the whole suite can be found."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from glob import escape
from pathlib import Path

import msgspec

from outweigh.app.new_files import write_files
from outweigh.app.suite_selection import read_suite
from outweigh.app.this_folder import has_suite, suites_below
from outweigh.engine.load_suite import LoadedSuite, suite_path
from outweigh.engine.load_task import load_task, task_folders
from outweigh.errors import UsageError, quote_names
from outweigh.model.source_document import SourceDocument
from outweigh.model.suite import SUITE_FILE
from outweigh.model.task_list import TASK_LIST_FILE, TaskList
from outweigh.model.toml_writer import write_toml
from outweigh.ports.suites import DraftFile
from outweigh.store.experiment_file import ExperimentFile

LIST_REMARK = (
    "Written by `outweigh suite prune`. The runs that the tasks were chosen by do not count for a verdict on them:\n"
    "those of these arms (with odd repeats only, where it says so) that began before the date."
)
SUITE_REMARK = "A part of the suite in `folder`, whose files it uses. Written by `outweigh suite prune`; see [chosen]."


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSelection:
    """The folder that was written, and whether it holds a suite beside the list of tasks."""

    folder: Path
    is_suite: bool


def write_selection(
    chosen: TaskList, folder: Path, *, suite: str | None, experiment: ExperimentFile | None
) -> WrittenSelection:
    """Write the list, and the suite of the same tasks; a folder that has either is refused."""
    source = find_store_suite(suite, experiment)
    for name in (TASK_LIST_FILE, SUITE_FILE):
        if (folder / name).exists():
            raise UsageError(f"{folder / name} is already there and not overwritten; name another folder with -o.")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a folder to write to with -o.")
    table = msgspec.to_builtins(chosen, str_keys=True)
    table["chosen"] = _without_unknown(table["chosen"])
    files = {TASK_LIST_FILE: write_toml(table, {"": LIST_REMARK})}
    if source is not None:
        files[SUITE_FILE] = _suite_text(source, chosen, folder, table["chosen"])
    write_files(folder, {name: DraftFile(content=text.encode()) for name, text in files.items()})
    return WrittenSelection(folder=folder, is_suite=source is not None)


def _without_unknown(table: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in table.items() if value is not None}


def find_store_suite(named: str | None, experiment: ExperimentFile | None) -> Path | None:
    """The suite that the user names, or the one of this folder or just below it that the store was made for."""
    if named is not None:
        return suite_path(Path(named))
    if experiment is None:
        return None
    return next((file for file in _suites_here() if _suite_name(file) == experiment.suite), None)


def _suites_here() -> Iterator[Path]:
    if has_suite():
        yield Path(SUITE_FILE)
    yield from (folder / SUITE_FILE for folder in suites_below())


def _suite_name(file: Path) -> object:
    try:
        return SourceDocument(file.read_bytes(), str(file)).value.get("name")
    except (OSError, UsageError):
        return None


def _suite_text(file: Path, chosen: TaskList, folder: Path, how: dict[str, object]) -> str:
    """The suite with these tasks only; everything else stays as it is written, apart from comments."""
    suite = read_suite(str(file))
    table = dict(SourceDocument(file.read_bytes(), str(file)).value)
    table.pop("quarantine", None)  # none of those was run, so none was chosen
    head = {
        "name": folder.resolve().name,
        "folder": Path(os.path.relpath(suite.folder, folder.resolve())).as_posix(),
        "tasks": [escape(path) for path in _task_paths(suite, chosen, file)],
    }
    rest = {key: value for key, value in table.items() if key not in (*head, "chosen")}
    return write_toml({**head, **rest, "chosen": how}, {"": SUITE_REMARK})


def _task_paths(suite: LoadedSuite, chosen: TaskList, file: Path) -> list[str]:
    """Where the chosen tasks are, from the folder of the suite."""
    places = {load_task(place).id: place for place in task_folders(suite.spec.tasks, suite.folder, str(file))}
    if missing := [name for name in chosen.tasks if name not in places]:
        raise UsageError(
            f"{file} has no task {quote_names(missing, 5)}, which the records have. Name the suite that they were run "
            "from with -c."
        )
    return [Path(os.path.relpath(places[name], suite.folder)).as_posix() for name in chosen.tasks]
