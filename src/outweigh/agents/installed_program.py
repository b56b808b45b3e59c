"""Where a program is installed: how it is started from inside a sandbox, and what it must see there.

A sandbox has `/usr` and nothing else of the machine. A program elsewhere needs more: a Node script its packages and
Node itself, a binary in such packages those, a program of a virtual environment that environment and its base Python,
any other file only itself. All paths are the same inside and outside.
"""

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shutil import which
from subprocess import TimeoutExpired

from outweigh.process import run_process

SHOWN_BY_DEFAULT = ("/usr", "/bin", "/sbin", "/lib", "/lib64")
_VERSION_TIMEOUT_SECONDS = 60.0
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")
_NODE_MODULES = "node_modules"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledProgram:
    """A program: the command that starts it, and the paths of the host that it needs.

    `system_paths` are those of them below /usr, which the image of a task does not have.
    """

    command: tuple[str, ...]
    paths: tuple[str, ...]
    system_paths: tuple[str, ...] = ()

    def version(self, flag: str = "--version") -> str | None:
        """The version that it prints, asked once per process; None where it prints none."""
        return _version((*self.command, flag))


def find_program(program: str, path: str) -> InstalledProgram | None:
    """The program of that name or path; None where it, or the Node that it needs, is not installed."""
    found = which(program, path=path)
    if found is None:
        return None
    beside, real = Path(found).absolute().parent, Path(found).resolve()
    interpreter = _interpreter(real)
    if interpreter is not None and Path(interpreter[0]).name == "node":
        node = which("node", path=f"{beside}:{path}")
        if node is None:
            return None
        command = (str(Path(node).resolve()), *interpreter[1:], str(real))
        return _installed(command, [_packages(real), real, Path(node).resolve()])
    if any(folder.name == _NODE_MODULES for folder in real.parents):  # a binary of a package may need files next to it
        return _installed((str(real),), [_packages(real)])
    environment = real.parent.parent
    if (environment / "pyvenv.cfg").is_file():
        return InstalledProgram(
            command=(str(real),), paths=_needed_paths([environment, real, *_base_pythons(environment)])
        )
    return _installed((str(real),), [real])


def _installed(command: tuple[str, ...], needed: Sequence[Path]) -> InstalledProgram:
    return InstalledProgram(command=command, paths=_needed_paths(needed), system_paths=_system_paths(needed))


def current_python() -> InstalledProgram:
    """The Python that runs the engine, without its packages."""
    program = Path(sys.executable).resolve()
    prefixes = (Path(sys.base_prefix), program.parent.parent)
    return InstalledProgram(command=(str(program),), paths=_needed_paths(prefixes))


def _interpreter(program: Path) -> list[str] | None:
    """The interpreter in a script's first line, without a leading `env`; None for other files."""
    with program.open("rb") as file:
        first = file.readline(500)
    if not first.startswith(b"#!"):
        return None
    words = first[2:].decode(errors="replace").split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if word != "-S"]
    return words or None


def _packages(script: Path) -> Path:
    """The outermost `node_modules` folder around a Node script, by which packages find each other."""
    for folder in reversed(script.parents):
        if folder.name == _NODE_MODULES:
            return folder
    return script.parent


def _base_pythons(environment: Path) -> Iterator[Path]:
    """The base Python of a virtual environment, under every path that leads to it."""
    link = environment / "bin" / "python"
    while link.is_symlink():
        link = Path(os.path.normpath(link.parent / link.readlink()))
        if link.parent != environment / "bin":
            yield link.parent.parent
            yield link.resolve().parent.parent


def _needed_paths(paths: Sequence[Path]) -> tuple[str, ...]:
    """The paths among these that a sandbox does not already have, each once.

    A path that contains the user's home is left out, so that the home is never exposed.
    """
    apart = [path for path in dict.fromkeys(paths) if not Path.home().is_relative_to(path)]
    shown = (*map(Path, SHOWN_BY_DEFAULT), *apart)
    return tuple(
        str(path) for path in apart if not any(path != other and path.is_relative_to(other) for other in shown)
    )


def _system_paths(paths: Sequence[Path]) -> tuple[str, ...]:
    """The paths among these that belong to the host's system, each once, without those that contain each other."""
    found = [path for path in dict.fromkeys(paths) if any(path.is_relative_to(top) for top in SHOWN_BY_DEFAULT)]
    return tuple(
        str(path) for path in found if not any(path != other and path.is_relative_to(other) for other in found)
    )


@cache
def _version(command: tuple[str, ...]) -> str | None:
    with tempfile.TemporaryDirectory(prefix="outweigh-version-") as home:
        try:
            done = run_process(
                command,
                environment={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8"},
                folder=Path(home),
                timeout_seconds=_VERSION_TIMEOUT_SECONDS,
            )
        except (OSError, TimeoutExpired):
            return None
    found = _VERSION.search(done.stdout.decode(errors="replace"))
    return found.group().rstrip(".") if found is not None and done.returncode == 0 else None
