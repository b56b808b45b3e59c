"""Lets installed dependencies share the files that they have in common, so that many sets take little disk space.

Only what is installed completely is shared. Sandboxes show it read-only, and nothing is installed into it again.
"""

import filecmp
import os
import stat
from contextlib import suppress
from pathlib import Path

_LEAST_BYTES = 2048
_CACHE = "__pycache__"


def share_files(folder: Path, other: Path) -> int:
    """Replace files of a folder by links to equal files at the same path of another; returns how many.

    A compiled file follows its source: it names the time of the source, and Python ignores one that does not fit.
    """
    shared = 0
    for place, inside, names in os.walk(folder):
        inside[:] = [name for name in inside if name != _CACHE]
        twin = other / Path(place).relative_to(folder)
        for name in names:
            if _link_equal(Path(place, name), twin / name):
                shared += 1 + _link_compiled(Path(place), twin, name)
    return shared


def _link_equal(path: Path, twin: Path) -> bool:
    with suppress(OSError):
        ours, theirs = path.lstat(), twin.lstat()
        is_plain = stat.S_ISREG(ours.st_mode) and stat.S_ISREG(theirs.st_mode)
        is_equal = is_plain and (ours.st_size, ours.st_mode) == (theirs.st_size, theirs.st_mode)
        if is_equal and ours.st_size >= _LEAST_BYTES and filecmp.cmp(path, twin, shallow=False):
            return _link(twin, path)
    return False


def _link_compiled(place: Path, twin: Path, name: str) -> int:
    stem = name.removesuffix(".py")
    compiled = (place / _CACHE).glob(f"{stem}.*.pyc") if stem != name and not (place / _CACHE).is_symlink() else ()
    return sum(_link(twin / _CACHE / path.name, path) for path in list(compiled))


def _link(source: Path, target: Path) -> bool:
    """Whether the target is now another name of the source."""
    part = target.with_name(f"{target.name}.link")
    with suppress(OSError):
        os.link(source, part, follow_symlinks=False)
        part.replace(target)
        return True
    return False
