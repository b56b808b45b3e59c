"""Which folders a suite's task patterns mean."""

import os
from collections.abc import Sequence
from difflib import get_close_matches
from glob import glob, has_magic
from pathlib import Path

from outweigh.errors import UsageError

TASK_FILE = "task.toml"


def task_folders(patterns: Sequence[str], folder: Path, source: str) -> list[Path]:
    """Every task folder once, pattern by pattern, by name within a pattern."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        matches = sorted({match for path in _matches(pattern, folder) if (match := _task_folder(path)) is not None})
        if not matches:
            raise UsageError(_nothing_found(pattern, folder, source))
        found.update(dict.fromkeys(matches))
    return list(found)


def _matches(pattern: str, folder: Path) -> list[Path]:
    # Path.glob refuses absolute patterns, and looks into hidden folders.
    found = glob(pattern, root_dir=folder, recursive=True)  # noqa: PTH207
    return [Path(os.path.normpath(folder / match)) for match in found]


def _task_folder(path: Path) -> Path | None:
    """The task folder a match stands for; a folder that is half a task is a mistake, anything else is not meant."""
    if path.name == TASK_FILE and path.is_file():
        return path.parent
    if (path / TASK_FILE).is_file():
        return path
    if (path / "instruction.md").is_file():
        raise UsageError(
            f"{path} has an instruction.md but no {TASK_FILE}; add one (it may be empty), or move it away."
        )
    return None


def _nothing_found(pattern: str, folder: Path, source: str) -> str:
    place, missing = _deepest_folder(pattern, folder)
    said = f"{source}: tasks: {pattern!r} matches no task (a folder with a {TASK_FILE})."
    names = [path.name for path in place.iterdir() if path.is_dir()]
    near = get_close_matches(missing, names, n=1) if missing else []
    if near:
        return f"{said} There is no {missing!r} in {place}; did you mean {near[0]!r}?"
    return f"{said} The nearest folder that exists is {place}."


def _deepest_folder(pattern: str, folder: Path) -> tuple[Path, str | None]:
    """How far the pattern's plain part leads, and the first name that is not there."""
    place = folder
    for part in Path(pattern).parts:
        if has_magic(part):
            return place, None
        if not (place / part).is_dir():
            return place, part
        place = Path(os.path.normpath(place / part))
    return place, None
