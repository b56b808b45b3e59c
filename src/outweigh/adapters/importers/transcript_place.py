"""Where a transcript stands says what it is of: `<arm>/<task>/<file>`, `<arm>/<task>.jsonl`, or as little as a name."""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from outweigh.adapters.importers.folders import files_below
from outweigh.adapters.importers.identity import readable
from outweigh.errors import OutweighError

_LOOKED_AT = 20
# Names that programs give to whatever they write; the folder around them says more.
_GENERIC = re.compile(
    r"(trajectory|transcript|session|stdout|stream|output|result|rollout|traj|claude-code|codex)([-_.].*)?"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    re.IGNORECASE,
)


_REPEAT = re.compile(r"(run|attempt|trial|repeat|rep|try|epoch|seed|r)?[-_ ]?\d+(-attempt-\d+)?", re.IGNORECASE)
"""Folders below a task that only number its runs."""


class Place(NamedTuple):
    """A transcript's task and arm, as far as its path tells; `arm` is None where there is no folder for one."""

    name: str
    task: str
    arm: str | None


def place_of(file: Path, root: Path) -> Place:
    """Two folders or more are an arm and its task; with fewer, the file's name may be what names the task."""
    relative = Path(readable(str(file.relative_to(root) if root.is_dir() else file.name)))
    folders, dated = _without_date(list(relative.parts[:-1]))
    while len(folders) > 2 and _REPEAT.fullmatch(folders[-1]):
        folders.pop()
    if len(folders) >= 2:
        arm, *task = folders
        return Place(relative.as_posix(), "/".join(task)[:200], arm[:200])
    stem = _stem(relative.name)
    if dated and not folders:
        # An archive of sessions: neither the day nor the archive is what they were about.
        return Place(relative.as_posix(), stem[:200], None)
    around = folders or [readable((root if root.is_dir() else file.parent).resolve().name)]
    if _GENERIC.fullmatch(stem) and around[-1]:
        return Place(relative.as_posix(), around[-1][:200], None)
    return Place(relative.as_posix(), (stem or "task")[:200], folders[0][:200] if folders else None)


def _without_date(folders: list[str]) -> tuple[list[str], bool]:
    """The folders without those of year, month and day, in which Codex keeps rollouts; and whether there were any."""
    for place in range(len(folders) - 2):
        if all(map(re.fullmatch, (r"(19|20)\d\d", r"\d\d", r"\d\d"), folders[place : place + 3])):
            return [*folders[:place], *folders[place + 3 :]], True
    return folders, False


def _stem(file_name: str) -> str:
    for ending in (".jsonl", ".json", ".txt", ".stdout", ".log", ".traj", ".trajectory"):
        file_name = file_name.removesuffix(ending)
    return file_name


def transcript_files(path: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    """The file itself, or every one below a folder with such an ending; copies lie deeper, so those come last."""
    if path.is_file():
        return iter([path])
    found = files_below(path, lambda name: name.endswith(endings))
    return iter(sorted(found, key=lambda file: (len(file.parts), file)))


def all_look_right(path: Path, endings: tuple[str, ...], looks_right: Callable[[Path], bool]) -> bool:
    """Whether a file, or the first few of a folder, are all of a kind: a folder of something else has others too."""
    try:
        if path.is_file():
            return looks_right(path)
        if not path.is_dir():
            return False
        found = list(islice(files_below(path, lambda name: name.endswith((*endings, ".json", ".jsonl"))), _LOOKED_AT))
        return bool(found) and all(looks_right(file) for file in found)
    except (OSError, OutweighError):
        return False
