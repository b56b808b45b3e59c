"""A drafted suite as the files to write. Nothing is on the disk yet: the caller writes them.

Values that equal their defaults are left out, as a person would write it.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

import msgspec
from msgspec import NODEFAULT
from msgspec.structs import FieldInfo, fields

from outweigh.errors import UsageError
from outweigh.model.base import Spec
from outweigh.model.task import FolderSource, TaskSettings
from outweigh.model.toml_writer import write_toml
from outweigh.ports.suites import WORKSPACE_FOLDER, DraftFile, SuiteDraft, TaskDraft
from outweigh.report.formatting import escape_controls


def non_default_fields(spec: Spec) -> dict[str, Any]:
    """The fields of a specification that differ from their defaults, with the tag of its type."""
    config = spec.__struct_config__
    tag = {config.tag_field: config.tag} if config.tag_field is not None else {}
    said = {
        field.encode_name: _to_plain(value)
        for field in fields(spec)
        if not _is_default(value := getattr(spec, field.name), field)
    }
    return {**tag, **said}


def _is_default(value: object, field: FieldInfo) -> bool:
    if field.default is not NODEFAULT:
        return bool(value == field.default)
    return field.default_factory is not NODEFAULT and value == field.default_factory()


def _to_plain(value: object) -> Any:
    match value:
        case Spec():
            return non_default_fields(value)
        case dict():
            return {str(key): _to_plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_to_plain(item) for item in value]
    return msgspec.to_builtins(value)


NOTES_FILE = "NOTES.md"
_TASKS = "tasks"


def suite_files(draft: SuiteDraft) -> dict[str, DraftFile]:
    """Every file by its path below the suite's folder; UsageError for a path that leads outside or occurs twice."""
    files: dict[str, DraftFile] = {}
    for path, file in _files(draft):
        place = _checked_path(path)
        if place in files:
            raise UsageError(f"two files of the suite would be {place!r}; give the tasks names of their own.")
        files[place] = file
    _refuse_file_as_folder(files)
    return files


def _files(draft: SuiteDraft) -> Iterator[tuple[str, DraftFile]]:
    yield "suite.toml", _suite_file(draft)
    for task in draft.tasks:
        for path, file in _task_files(task):
            yield f"{_TASKS}/{task.name}/{path}", file
    yield from draft.files.items()
    if draft.notes:
        yield NOTES_FILE, _text_file(_notes(draft))


def _suite_file(draft: SuiteDraft) -> DraftFile:
    spec = msgspec.structs.replace(draft.spec, tasks=[f"{_TASKS}/*"] if draft.tasks else [])
    return _text_file(write_toml(non_default_fields(spec), draft.comments))


def _task_files(task: TaskDraft) -> Iterator[tuple[str, DraftFile]]:
    table = {"schema_version": "1.4", "metadata": {"outweigh": non_default_fields(_state_workspace(task))}}
    yield "task.toml", _text_file(write_toml(table))
    yield "instruction.md", _text_file(task.instruction.rstrip("\n") + "\n")
    yield from task.files.items()


def _state_workspace(task: TaskDraft) -> TaskSettings:
    """The task with its workspace stated, so that a Dockerfile among its files is an ordinary file."""
    has_files = any(path.startswith(f"{WORKSPACE_FOLDER}/") for path in task.files)
    if task.settings.workspace is not None or not has_files:
        return task.settings
    return msgspec.structs.replace(task.settings, workspace=FolderSource(path=WORKSPACE_FOLDER))


def _notes(draft: SuiteDraft) -> str:
    said = "\n".join(f"- {escape_controls(' '.join(note.split()))}" for note in draft.notes)
    return f"# What was not carried over into {draft.spec.name}, or not as it was\n\n{said}\n"


def _text_file(text: str) -> DraftFile:
    return DraftFile(content=text.encode("utf-8", "replace"))


def _checked_path(path: str) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\0" in path or not pure.parts:
        raise UsageError(f"{path!r} leads out of the suite's folder; give it a path within it.")
    return str(pure)


def _refuse_file_as_folder(files: Mapping[str, DraftFile]) -> None:
    for path in files:
        for parent in PurePosixPath(path).parents:
            if str(parent) in files:
                raise UsageError(f"{str(parent)!r} would be a file and a folder of the suite; rename one of them.")
