"""A draft as the files of a suite, ready to be written. Pure: nothing is on the disk yet."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

import msgspec

from outweigh.adapters.suites.plain_tables import plain_table
from outweigh.adapters.suites.toml_writer import toml_document
from outweigh.errors import UsageError
from outweigh.report.wording import visible
from outweigh.task.suite_draft import WORKSPACE_FOLDER, SuiteDraft, SuiteFile, TaskDraft
from outweigh.task.task import FolderSource, TaskSettings

NOTES_FILE = "NOTES.md"
_TASKS = "tasks"


def suite_files(draft: SuiteDraft) -> dict[str, SuiteFile]:
    """Every file by its path below the suite's folder. UsageError for a path that leads out, or is there twice."""
    files: dict[str, SuiteFile] = {}
    for path, file in _files(draft):
        place = _within(path)
        if place in files:
            raise UsageError(f"two files of the suite would be {place!r}; give the tasks names of their own.")
        files[place] = file
    _refuse_files_for_folders(files)
    return files


def _files(draft: SuiteDraft) -> Iterator[tuple[str, SuiteFile]]:
    yield "suite.toml", _suite_file(draft)
    for task in draft.tasks:
        for path, file in _task_files(task):
            yield f"{_TASKS}/{task.name}/{path}", file
    yield from draft.files.items()
    if draft.notes:
        yield NOTES_FILE, _text_file(_notes(draft))


def _suite_file(draft: SuiteDraft) -> SuiteFile:
    spec = msgspec.structs.replace(draft.spec, tasks=[f"{_TASKS}/*"])
    return _text_file(toml_document(plain_table(spec), draft.comments))


def _task_files(task: TaskDraft) -> Iterator[tuple[str, SuiteFile]]:
    table = {"schema_version": "1.4", "metadata": {"outweigh": plain_table(_with_workspace(task))}}
    yield "task.toml", _text_file(toml_document(table))
    yield "instruction.md", _text_file(task.instruction.rstrip("\n") + "\n")
    yield from task.files.items()


def _with_workspace(task: TaskDraft) -> TaskSettings:
    """Said plainly, so that a Dockerfile among the files is one of them."""
    has_files = any(path.startswith(f"{WORKSPACE_FOLDER}/") for path in task.files)
    if task.settings.workspace is not None or not has_files:
        return task.settings
    return msgspec.structs.replace(task.settings, workspace=FolderSource(path=WORKSPACE_FOLDER))


def _notes(draft: SuiteDraft) -> str:
    said = "\n".join(f"- {visible(' '.join(note.split()))}" for note in draft.notes)
    return f"# What was not carried over into {draft.spec.name}, or not as it was\n\n{said}\n"


def _text_file(text: str) -> SuiteFile:
    return SuiteFile(content=text.encode("utf-8", "replace"))


def _within(path: str) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\0" in path or not pure.parts:
        raise UsageError(f"{path!r} leads out of the suite's folder; give it a path within it.")
    return str(pure)


def _refuse_files_for_folders(files: Mapping[str, SuiteFile]) -> None:
    for path in files:
        for parent in PurePosixPath(path).parents:
            if str(parent) in files:
                raise UsageError(f"{str(parent)!r} would be a file and a folder of the suite; rename one of them.")
