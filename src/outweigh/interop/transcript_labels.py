"""The task and the arm of a transcript, which its path names: transcripts themselves name neither."""

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from outweigh.interop.imported_run import decode_file_name

# Generic names of outputs; the name of the folder says more.
_GENERIC_NAME = re.compile(
    r"(trajectory|transcript|session|stdout|stream|output|result|rollout|traj|claude-code|codex)([-_.].*)?"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    re.IGNORECASE,
)


_REPEAT_FOLDER = re.compile(r"(run|attempt|trial|repeat|rep|try|epoch|seed|r)?[-_ ]?\d+(-attempt-\d+)?", re.IGNORECASE)
"""Folders below a task that only number its runs."""


class TranscriptLabels(NamedTuple):
    """A transcript's task and arm, as far as its path states them; `arm` is None if there is no folder for it."""

    name: str
    task: str
    arm: str | None


def label_transcript(file: Path, root: Path) -> TranscriptLabels:
    """The labels of a file: two or more folders are arm and task; with fewer, the file name may be the task."""
    relative = Path(decode_file_name(str(file.relative_to(root) if root.is_dir() else file.name)))
    folders, dated = _without_date(list(relative.parts[:-1]))
    while len(folders) > 2 and _REPEAT_FOLDER.fullmatch(folders[-1]):
        folders.pop()
    if len(folders) >= 2:
        arm, *task = folders
        return TranscriptLabels(relative.as_posix(), "/".join(task)[:200], _no_option(arm))
    stem = _stem(relative.name)
    if dated and not folders:
        # An archive of sessions: neither its dates nor its name say what they were about.
        return TranscriptLabels(relative.as_posix(), stem[:200], None)
    around = folders or [decode_file_name((root if root.is_dir() else file.parent).resolve().name)]
    if _GENERIC_NAME.fullmatch(stem) and around[-1]:
        return TranscriptLabels(relative.as_posix(), around[-1][:200], None)
    return TranscriptLabels(relative.as_posix(), (stem or "task")[:200], _no_option(folders[0]) if folders else None)


def _no_option(folder: str) -> str:
    """A folder's name as that of an arm, without dashes in front, with which it could not be typed."""
    return folder.lstrip("-")[:200] or folder[:200]


def _without_date(folders: list[str]) -> tuple[list[str], bool]:
    """The folders without year, month and day, by which Codex sorts rollouts; and whether there were any."""
    for place in range(len(folders) - 2):
        if all(map(re.fullmatch, (r"(19|20)\d\d", r"\d\d", r"\d\d"), folders[place : place + 3])):
            return [*folders[:place], *folders[place + 3 :]], True
    return folders, False


def _stem(file_name: str) -> str:
    for ending in (".jsonl", ".json", ".txt", ".stdout", ".log", ".traj", ".trajectory"):
        file_name = file_name.removesuffix(ending)
    return file_name


class TranscriptFolder:
    """The transcripts of a folder, and what their paths together say of each one's task and arm."""

    def __init__(self, root: Path, files: Sequence[Path]) -> None:
        self._root = root
        self._arms = _arms_of_folders(root, files) if root.is_dir() else {}

    def label(self, file: Path) -> TranscriptLabels:
        """The labels of a file: files of the same names in several folders are tasks, and the folders arms."""
        arm = self._arms.get(file.parent)
        if arm is None:
            return label_transcript(file, self._root)
        name = decode_file_name(file.relative_to(self._root).as_posix())
        return TranscriptLabels(name, _task_name(file)[:200], _no_option(arm))


def _arms_of_folders(root: Path, files: Sequence[Path]) -> dict[Path, str]:
    """The arm of each folder with transcripts, where they differ in one folder and have files of the same names.

    Names that only number runs, or that every program gives to its output, are not those of tasks.
    """
    names: dict[Path, set[str]] = defaultdict(set)
    for file in files:
        names[file.parent].add(_task_name(file))
    if len(names) < 2 or any(len(own) < 2 for own in names.values()):
        return {}
    shared = set.intersection(*names.values())
    if len(shared) < 2 or any(_REPEAT_FOLDER.fullmatch(name) or _GENERIC_NAME.fullmatch(name) for name in shared):
        return {}
    paths = {folder: tuple(decode_file_name(part) for part in folder.relative_to(root).parts) for folder in names}
    first, last = _common(list(paths.values())), _common([path[::-1] for path in paths.values()])
    own = {folder: path[first : len(path) - last] for folder, path in paths.items()}
    return {folder: path[0] for folder, path in own.items()} if all(len(path) == 1 for path in own.values()) else {}


def _common(paths: list[tuple[str, ...]]) -> int:
    """How many parts all paths begin with."""
    return sum(1 for _ in takewhile(lambda parts: len(set(parts)) == 1, zip(*paths, strict=False)))


def _task_name(file: Path) -> str:
    stem = _stem(decode_file_name(file.name))
    for ending in (".session", ".trace", ".transcript", ".stream"):
        stem = stem.removesuffix(ending) or stem
    return stem or "task"
