"""The Python interpreters of this machine, and which of them fits a commit.

A sandbox shows the system's own interpreter. Any other, such as one of pyenv or uv, is copied once and becomes part of
the dependencies, so that they need nothing else of the machine.
"""

import os
import re
import shutil
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

_RELEASES = {
    (3, 7): date(2018, 6, 27),
    (3, 8): date(2019, 10, 14),
    (3, 9): date(2020, 10, 5),
    (3, 10): date(2021, 10, 4),
    (3, 11): date(2022, 10, 24),
    (3, 12): date(2023, 10, 2),
    (3, 13): date(2024, 10, 7),
    (3, 14): date(2025, 10, 7),
    (3, 15): date(2026, 10, 1),
}
"""When interpreters were released, by version; others are not considered."""
_TIME_TO_SUPPORT = timedelta(days=120)
"""After how long most packages work with a new interpreter."""
_PLACES = (
    "/usr/bin/python3.*",
    "/usr/local/bin/python3.*",
    "~/.pyenv/versions/*/bin/python3.*",
    "~/.local/share/uv/python/*/bin/python3.*",
    "/opt/hostedtoolcache/Python/*/*/bin/python3.*",
)
_PROGRAM = re.compile(r"python(3)\.(\d+)")
_CONSTRAINT = re.compile(r"(>=|<=|<|>|==|!=|~=|\^)\s*(\d+)(?:\.(\d+|\*))?")
# Tests of the library itself, what other programs installed, and graphics: nothing that a project's tests need.
_LEFT_OUT = ("test", "site-packages", "idlelib", "turtledemo", "ensurepip", "config-*")

Version = tuple[int, int]


@dataclass(frozen=True, slots=True, order=True)
class InstalledPython:
    """An interpreter: its version, and the full path of its program."""

    version: Version
    program: str

    @property
    def is_shown(self) -> bool:
        """Whether every sandbox has it: it is below /usr, or a name that the PATH of an image leads to."""
        return "/" not in self.program or Path(self.program).resolve().is_relative_to("/usr")

    @property
    def name(self) -> str:
        """The version as people write it."""
        return f"{self.version[0]}.{self.version[1]}"


def python_of_image(version: str | None) -> InstalledPython:
    """The interpreter of a container image, by its name; its version is taken for a common one if none is given."""
    found = re.fullmatch(r"3\.(\d+)", version or "3.12")
    number = (3, int(found[1])) if found else (3, 12)
    return InstalledPython(
        number if number in _RELEASES else (3, 12), "python3" if version is None else f"python{version}"
    )


def find_pythons() -> tuple[InstalledPython, ...]:
    """The interpreters of this machine, one for each version, the system's own first."""
    found: dict[Version, InstalledPython] = {}
    for path in _programs():
        matched = _PROGRAM.fullmatch(path.name)
        if matched and os.access(path, os.X_OK):
            version = int(matched[1]), int(matched[2])
            if version in _RELEASES:
                found.setdefault(version, InstalledPython(version, str(path)))
    return tuple(sorted(found.values()))


def _programs() -> Iterator[Path]:
    for pattern in _PLACES:
        place = Path(pattern).expanduser()
        yield from sorted(Path("/").glob(str(place).lstrip("/")))
    yield Path(sys.base_prefix, "bin", f"python{sys.version_info[0]}.{sys.version_info[1]}")


def choose_python(
    pythons: Collection[InstalledPython], requires: str | None, classified: Collection[str], day: date
) -> InstalledPython | None:
    """The newest that the project allows and that was in use on that day, else the oldest that it allows."""
    allowed = [python for python in pythons if satisfies(python.version, requires)]
    if not allowed:
        return None
    stated = {tuple(map(int, name.split("."))) for name in classified}
    in_use = [python for python in allowed if _RELEASES[python.version] + _TIME_TO_SUPPORT <= day]
    best = [python for python in in_use if python.version in stated] or in_use
    return max(best) if best else min(allowed)


def satisfies(version: Version, requires: str | None) -> bool:
    """Whether an interpreter satisfies `requires-python`; what cannot be read is no limit."""
    for operator, major, minor in _CONSTRAINT.findall(requires or ""):
        limit = int(major), 0 if minor in ("", "*") else int(minor)
        of_minor = minor not in ("", "*")
        fits = {
            ">=": version >= limit,
            "^": limit <= version < (limit[0] + 1, 0),
            "~=": limit <= version < (limit[0] + 1, 0),
            ">": version >= limit,  # the excluded version is one of its patches
            "<=": version <= limit if of_minor else version[0] <= limit[0],
            "<": version < limit,
            "==": version == limit if of_minor else version[0] == limit[0],
            "!=": version != limit,
        }[operator]
        if not fits:
            return False
    return True


def earliest_packages(version: Version) -> date:
    """The day from which packages work with an interpreter: those that are older do not know it."""
    return _RELEASES[version] + _TIME_TO_SUPPORT


def copy_python(python: InstalledPython, folder: Path) -> None:
    """Copy an interpreter with its library into a new folder, in a way that it works at any path."""
    prefix = Path(python.program).resolve().parent.parent
    library = f"python{python.name}"
    (folder / "bin").mkdir(parents=True)
    shutil.copy2(Path(python.program).resolve(), folder / "bin" / library)
    _find_library_beside(folder / "bin" / library, prefix)
    (folder / "bin" / "python3").symlink_to(library)
    (folder / "lib").mkdir()
    for shared in (prefix / "lib").glob("libpython*.so*"):
        shutil.copy2(shared, folder / "lib" / shared.name, follow_symlinks=False)
    shutil.copytree(
        prefix / "lib" / library, folder / "lib" / library, symlinks=True, ignore=shutil.ignore_patterns(*_LEFT_OUT)
    )
    (folder / "lib" / library / "site-packages").mkdir()
    if (prefix / "include").is_dir():
        shutil.copytree(prefix / "include", folder / "include", symlinks=True)


def _find_library_beside(program: Path, prefix: Path) -> None:
    """Let a copied program find its library from where it is, as tests may start it without the variables of its task.

    The path is a string of its own in the program. One that is not there exactly once is left alone.
    """
    content, stated = program.read_bytes(), b"\0%s\0" % os.fsencode(prefix / "lib")
    wanted = b"\0$ORIGIN/../lib\0"
    if content.count(stated) == 1 and len(wanted) <= len(stated):
        program.write_bytes(content.replace(stated, wanted.ljust(len(stated), b"\0")))
