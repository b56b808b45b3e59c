"""A clean environment with the wheel in it, made without a network.

The wheel is built and installed by the tools a user would take. What it depends on is linked from the environment that
the tests run in: exactly the packages that the wheel asks for, so that one it forgot is missing here too.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanEnvironment:
    """An environment that holds the wheel, what it depends on, and nothing else."""

    folder: Path
    packages: tuple[Distribution, ...]

    @property
    def program(self) -> Path:
        """The installed command."""
        return self.folder / "bin" / "outweigh"

    def run(
        self, *arguments: str | Path, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the installed command beside the environment, with no variable of the caller's but PATH."""
        return subprocess.run(
            [str(self.program), *map(str, arguments)],
            cwd=self.folder.parent,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder.parent), **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    @property
    def megabytes(self) -> float:
        """Everything that is installed."""
        return sum(_bytes(package) for package in self.packages) / 1e6


def build_wheel(folder: Path) -> Path:
    """The wheel of the working tree."""
    _run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)])
    (wheel,) = folder.glob("*.whl")
    return wheel


def install_wheel(wheel: Path, folder: Path, *extras: str) -> CleanEnvironment:
    """The wheel with the extras in a new environment."""
    _run([str(BIN / "uv"), "venv", "--quiet", "--offline", "--python", sys.executable, str(folder)])
    python = folder / "bin" / "python"
    _run([str(BIN / "uv"), "pip", "install", "--quiet", "--offline", "--no-deps", "--python", str(python), str(wheel)])
    (site,) = folder.glob("lib/python*/site-packages")
    (metadata,) = site.glob("outweigh-*.dist-info")
    own = Distribution.at(metadata)
    needed = tuple(_closure(own, frozenset(extras)))
    for package in needed:
        _link(package, site)
    return CleanEnvironment(folder=folder, packages=(own, *needed))


def _closure(own: Distribution, extras: frozenset[str]) -> Iterator[Distribution]:
    """What a resolver would install besides the wheel itself, each package once."""
    open_ones = [(own, extras)]
    seen: set[tuple[str, frozenset[str]]] = set()
    met: set[str] = {"outweigh"}
    while open_ones:
        package, wanted = open_ones.pop()
        for requirement in map(Requirement, package.requires or ()):
            if not _applies(requirement, wanted):
                continue
            name, more = canonicalize_name(requirement.name), frozenset(requirement.extras)
            if (name, more) in seen:
                continue
            seen.add((name, more))
            found = own if name == "outweigh" else distribution(name)
            open_ones.append((found, more))
            if name not in met:
                met.add(name)
                yield found


def _applies(requirement: Requirement, extras: frozenset[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in (extras or {""}))


def _link(package: Distribution, site: Path) -> None:
    tops = {file.parts[0] for file in package.files or () if file.parts[0] not in ("..", "__pycache__")}
    for top in tops:
        (site / top).symlink_to(Path(str(package.locate_file(top))).resolve())


def _bytes(package: Distribution) -> int:
    files = [Path(str(package.locate_file(file))) for file in package.files or ()]
    return sum(file.stat().st_size for file in files if file.is_file())


def _run(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
