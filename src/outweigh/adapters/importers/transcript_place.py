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


class Place(NamedTuple):
    """A transcript's task and arm, as far as its path tells; `arm` is None where there is no folder for one."""

    name: str
    task: str
    arm: str | None


def place_of(file: Path, root: Path) -> Place:
    """Read the path from its end: what names the task, then the outermost folder as the arm."""
    relative = Path(readable(str(file.relative_to(root) if root.is_dir() else file.name)))
    folders = list(relative.parts[:-1])
    stem = relative.name
    for ending in (".jsonl", ".json", ".txt", ".stdout", ".log", ".traj", ".trajectory"):
        stem = stem.removesuffix(ending)
    around = folders or [readable((root if root.is_dir() else file.parent).resolve().name)]
    if not _GENERIC.fullmatch(stem) or not around[-1]:
        task = stem
    else:
        task = around[-1]
        folders = folders[:-1]
    arm = folders[0] if folders else None
    return Place(relative.as_posix(), (task or "task")[:200], arm and arm[:200])


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
