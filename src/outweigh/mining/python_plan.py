"""The commands that install what the tests of a Python project need, by uv into a virtual environment."""

import shlex
from collections.abc import Iterator, Sequence
from datetime import date

from outweigh.mining.dependencies import DEPENDENCIES_INSIDE
from outweigh.mining.python_manifests import PythonManifests
from outweigh.mining.pythons import InstalledPython

VENV = f"{DEPENDENCIES_INSIDE}/venv"
PYTHON_INSIDE = f"{DEPENDENCIES_INSIDE}/python"
_EXPORTED = "/tmp/exported-requirements.txt"  # in the sandbox, which has its own
# The names by which tools that read a version from tags take it from a variable.
VERSION_VARIABLES = (
    "SETUPTOOLS_SCM_PRETEND_VERSION",
    "PBR_VERSION",
    "PDM_BUILD_SCM_VERSION",
    "UV_DYNAMIC_VERSIONING_BYPASS",
    "POETRY_DYNAMIC_VERSIONING_BYPASS",
    "VERSIONINGIT_OVERRIDE",
)


_METADATA_FOLDER = ".project-metadata"
# Not in a folder called `*.egg-info`, which Python would take for another installation of the project.
ENTRY_POINTS = f"{_METADATA_FOLDER}/entry_points.txt"


def connecting_commands(manifests: PythonManifests) -> tuple[str, ...]:
    """Commands that write the entry points of a commit into its workspace; the environment has a link to them."""
    if manifests.name is None or not manifests.entry_points:
        return ()
    lines = []
    for group, points in manifests.entry_points.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    write = f"mkdir -p {_METADATA_FOLDER} && printf '%s\\n' {shlex.join(lines)} > {ENTRY_POINTS}"
    return (write, f"[ ! -d .git/info ] || echo /{_METADATA_FOLDER}/ >> .git/info/exclude")


def create_environment(python: InstalledPython, *, seed: bool = False) -> str:
    """The command that makes the virtual environment; with `seed` it has pip."""
    program = python.program if python.is_shown else f"{PYTHON_INSIDE}/bin/python{python.name}"
    return f"uv venv -q {'--seed ' if seed else ''}--python {shlex.quote(program)} {VENV}"


def python_attempts(
    manifests: PythonManifests, python: InstalledPython, days: tuple[date, date], *, needs_pytest: bool = False
) -> Iterator[tuple[str, ...]]:
    """Lists of commands in the order in which they are tried: all that tests need as of the day, then less."""
    create = create_environment(python)
    runner = ("pytest",) if needs_pytest or not manifests.by_unittest else ()
    if not (runner or manifests.source or manifests.files or manifests.groups or manifests.requirements):
        yield (create,)
        return
    # The project itself is built with the tools of today: those of its time may know no editable installs.
    link = ("uv pip install -q --no-deps -e .",) if manifests.source is not None else ()
    limits = [*(f"--exclude-newer {day.isoformat()}" for day in dict.fromkeys(days)), ""]
    # Environments had it until Python 3.12, and much code of that time imports `pkg_resources`, which later ones lack.
    common = (*runner, "setuptools<81") if python.version < (3, 12) else runner
    everything, least = _wanted(manifests, common), _least(manifests, common)
    if manifests.has_uv_lock:
        yield (create, *_from_lock(manifests, common), *link)
    for wanted in dict.fromkeys((everything, least)):
        for limit in limits:
            yield (create, " ".join(f"uv pip install -q --compile-bytecode {limit} {wanted}".split()), *link)
    # A project that cannot be built is connected with the environment by its path; manifests may tell what it needs.
    for wanted in dict.fromkeys((*((everything, least) if link else ()), _without_project(manifests, common))):
        yield create, " ".join(f"uv pip install -q --compile-bytecode {limits[0]} {wanted}".split())


def _wanted(manifests: PythonManifests, common: Sequence[str]) -> str:
    words = []
    if manifests.source is not None:
        words += ["-r", manifests.source, *(f"--extra {shlex.quote(name)}" for name in manifests.extras)]
    words += [f"--group {shlex.quote(name)}" for name in manifests.groups]
    words += [f"-r {shlex.quote(path)}" for path in manifests.files]
    words += map(shlex.quote, (*manifests.requirements, *manifests.plugins, *common))
    return " ".join(dict.fromkeys(words)) if not manifests.files else " ".join(words)


def _least(manifests: PythonManifests, common: Sequence[str]) -> str:
    source = "" if manifests.source is None else f"-r {manifests.source} "
    return source + " ".join(map(shlex.quote, (*manifests.plugins, *common)))


def _without_project(manifests: PythonManifests, common: Sequence[str]) -> str:
    words = [*(f"-r {shlex.quote(path)}" for path in manifests.files)]
    return " ".join((*words, *map(shlex.quote, (*manifests.requirements, *manifests.plugins, *common))))


def _from_lock(manifests: PythonManifests, common: Sequence[str]) -> Iterator[str]:
    chosen = [f"--extra {shlex.quote(name)}" for name in manifests.extras]
    chosen += [f"--group {shlex.quote(name)}" for name in manifests.groups]
    yield f"uv export -q --frozen --no-hashes --no-emit-project {' '.join(chosen)} -o {_EXPORTED}"
    extra = " ".join(map(shlex.quote, (*manifests.requirements, *manifests.plugins, *common)))
    yield f"uv pip install -q --compile-bytecode -r {_EXPORTED} {extra}"
