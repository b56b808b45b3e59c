"""Where a program is installed: how it is started from inside a sandbox, and what it must see there.

A sandbox shows `/usr` and nothing else of the machine. A program elsewhere brings its own: a script of Node its
packages and Node itself, a binary among such packages these, a program of a virtual environment that environment and
the Python below it, any other file just itself. Everything has the same name inside and outside.
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

from outweigh.apart import run_apart

SHOWN_ANYWAY = ("/usr", "/bin", "/sbin", "/lib", "/lib64")
_PATIENCE_SECONDS = 60.0
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")
_NODE_MODULES = "node_modules"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A program: the words that start it, and the folders and files of the host that it needs to see."""

    command: tuple[str, ...]
    needs: tuple[str, ...]

    def version(self, question: str = "--version") -> str | None:
        """What it says when asked, once per process; None where it does not say."""
        return _version((*self.command, question))


def find(program: str, path: str) -> Installed | None:
    """The program of that name or path; None where it is not there, or not the Node that it needs."""
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
        return Installed(command=command, needs=_seen([_packages(real), real, Path(node).resolve()]))
    if any(folder.name == _NODE_MODULES for folder in real.parents):  # a binary of a package may want its neighbours
        return Installed(command=(str(real),), needs=_seen([_packages(real)]))
    environment = real.parent.parent
    if (environment / "pyvenv.cfg").is_file():
        return Installed(command=(str(real),), needs=_seen([environment, real, *_pythons(environment)]))
    return Installed(command=(str(real),), needs=_seen([real]))


def this_python() -> Installed:
    """The Python that runs the engine, without the engine."""
    program = Path(sys.executable).resolve()
    prefixes = (Path(sys.base_prefix), program.parent.parent)
    return Installed(command=(str(program),), needs=_seen(prefixes))


def _interpreter(program: Path) -> list[str] | None:
    """The words of a script's first line, without a leading `env`; None for what is no script."""
    with program.open("rb") as file:
        first = file.readline(500)
    if not first.startswith(b"#!"):
        return None
    words = first[2:].decode(errors="replace").split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if word != "-S"]
    return words or None


def _packages(script: Path) -> Path:
    """The outermost folder of packages that a script of Node lies in, for packages find each other by it."""
    for folder in reversed(script.parents):
        if folder.name == _NODE_MODULES:
            return folder
    return script.parent


def _pythons(environment: Path) -> Iterator[Path]:
    """The Python that a virtual environment was made from, under every name that leads to it."""
    link = environment / "bin" / "python"
    while link.is_symlink():
        link = Path(os.path.normpath(link.parent / link.readlink()))
        if link.parent != environment / "bin":
            yield link.parent.parent
            yield link.resolve().parent.parent


def _seen(paths: Sequence[Path]) -> tuple[str, ...]:
    """What of these a sandbox does not show by itself, each once.

    What was installed right into the user's home must not bring all of the home along.
    """
    apart = [path for path in dict.fromkeys(paths) if not Path.home().is_relative_to(path)]
    shown = (*map(Path, SHOWN_ANYWAY), *apart)
    return tuple(
        str(path) for path in apart if not any(path != other and path.is_relative_to(other) for other in shown)
    )


@cache
def _version(command: tuple[str, ...]) -> str | None:
    with tempfile.TemporaryDirectory(prefix="outweigh-version-") as home:
        try:
            done = run_apart(
                command,
                environment={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8"},
                folder=Path(home),
                timeout_seconds=_PATIENCE_SECONDS,
            )
        except (OSError, TimeoutExpired):
            return None
    said = _VERSION.search(done.stdout.decode(errors="replace"))
    return said.group().rstrip(".") if said is not None and done.returncode == 0 else None
