"""The known cheats against every kind of check that runs code, in each kind of sandbox."""

import json
import shutil
import sys
import venv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.engine.engine_fixtures import toml_lines
from tests.engine.fake_sandboxes import BrokenSandboxes, Copies
from tests.prerequisites import require
from tests.sandbox.container_fixtures import busybox_image, working_engine

from outweigh.engine.attack import TriedCheat, attack
from outweigh.engine.load_task import load_task
from outweigh.engine.preflight import PreflightContext, preflight
from outweigh.model.preflight_result import FindingKind, PreflightResult
from outweigh.model.suite import SandboxSpec
from outweigh.ports.sandboxes import SandboxProvider
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.container import ContainerSandboxProvider
from outweigh.sandbox.local import LocalSandboxProvider
from outweigh.testing.sandbox_fixtures import COMMAND_TIMEOUT_SECONDS

ROOT = Path(__file__).resolve().parents[2]
WRONG = "def double(x):\n    return x\n"
RIGHT = "def double(x):\n    return x + x\n"
TESTS = """\
from work import double


def test_small():
    assert double(1) == 2


def test_large():
    assert double(5) == 10
"""
PYTEST = 'PYTHON -m pytest -q "$OUTWEIGH_TESTS"'
CHECKS: dict[str, dict[str, Any]] = {
    "command": {"type": "command", "run": PYTEST},
    "tests": {"type": "tests", "run": f"{PYTEST} --junitxml=out/junit.xml", "report": "out/junit.xml"},
    "reported-outside": {
        "type": "tests",
        "run": f'{PYTEST} --junitxml="$OUTWEIGH_REPORTS/junit.xml"',
        "report": "$OUTWEIGH_REPORTS/junit.xml",
    },
    "reward": {"type": "reward", "run": f'{PYTEST} && echo 1 > "$OUTWEIGH_REWARD" || echo 0 > "$OUTWEIGH_REWARD"'},
    "pytest": {"type": "pytest", "python": "PYTHON"},
    "call": {
        "type": "call",
        "function": "work:double",
        "python": "PYTHON",
        "cases": [{"arguments": [1], "expected": 2}, {"arguments": [5], "expected": 10}],
    },
}
_PACKAGES = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments")


@dataclass(frozen=True)
class Arena:
    """A kind of sandbox in which Python and pytest can be started."""

    sandboxes: SandboxProvider
    spec: SandboxSpec
    folder: Path
    python: str

    def context(self) -> PreflightContext:
        return PreflightContext(
            sandboxes=self.sandboxes,
            workspaces=Copies(),
            scratch=self.folder,
            sandbox=self.spec,
            label="engine",
            solution_timeout_seconds=COMMAND_TIMEOUT_SECONDS,
            cancel=Event(),
        )


@pytest.fixture(scope="module")
def small_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with pytest alone: its many plugins here would be loaded hundreds of times."""
    folder = tmp_path_factory.mktemp("python")
    venv.create(folder, symlinks=True)
    (target,) = folder.glob("lib/python*/site-packages")
    packages = Path(pytest.__file__).parents[1]
    shutil.copy2(packages / "py.py", target)
    for name in _PACKAGES:
        shutil.copytree(packages / name, target / name)
    return folder


@pytest.fixture
def arena(request: pytest.FixtureRequest, tmp_path: Path, small_python: Path) -> Iterator[Arena]:
    folder, python = tmp_path / "scratch", str(small_python / "bin/python")
    shown = [str(small_python), sys.base_prefix]
    folder.mkdir()
    if request.param == "local":
        yield Arena(LocalSandboxProvider(), SandboxSpec(kind="local"), folder, python)
    elif request.param == "bubblewrap":
        require("bubblewrap", BubblewrapSandboxProvider().missing())
        yield Arena(BubblewrapSandboxProvider(), SandboxSpec(read_only=shown), folder, python)
    else:
        require("container", ContainerSandboxProvider().missing())
        libraries = [path for path in ("/lib", "/lib64", "/usr") if Path(path).exists()]
        with busybox_image(working_engine()) as image:
            spec = SandboxSpec(kind="container", image=image, read_only=[*libraries, *shown])
            yield Arena(ContainerSandboxProvider(), spec, folder, python)


def write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def a_task(folder: Path, arena: Arena, kind: str, *, solved: bool = True) -> Path:
    checks = json.loads(json.dumps([{"name": "works", **CHECKS[kind]}]).replace("PYTHON", arena.python))
    write(folder / "instruction.md", "Mend `double` in work.py.\n")
    write(folder / "environment/work.py", WRONG)
    write(folder / "tests/test_work.py", TESTS)
    write(folder / "task.toml", toml_lines({"metadata": {"outweigh": {"checks": checks}}}))
    if solved:
        write(folder / "solution/solve.sh", f"#!/bin/sh\ncat > work.py <<'END'\n{RIGHT}END\n")
    return folder


def attacked(arena: Arena, folder: Path) -> tuple[PreflightResult, Sequence[TriedCheat]]:
    task, context = load_task(folder), arena.context()
    tried = preflight(task, context)
    return tried, attack(task, context, tried.case_names)


def passing(cheats: Sequence[TriedCheat]) -> list[str]:
    assert [tried.fault for tried in cheats if tried.fault] == []
    return [tried.cheat.name for tried in cheats if tried.passes]


KINDS_BY_SANDBOX = {
    "local": ("command", "tests"),
    "bubblewrap": ("command", "reported-outside", "reward", "pytest", "call"),
    "container": ("reward", "pytest", "call"),
}
IN_SANDBOXES = [
    pytest.param(sandbox, kind, marks=() if sandbox == "local" else getattr(pytest.mark, f"needs_{sandbox}"))
    for sandbox, kinds in KINDS_BY_SANDBOX.items()
    for kind in kinds
]


@pytest.mark.parametrize(("arena", "kind"), IN_SANDBOXES, indirect=["arena"])
def test_cheats_fail_where_the_names_of_the_tests_are_known(arena: Arena, kind: str, tmp_path: Path) -> None:
    tried, cheats = attacked(arena, a_task(tmp_path / "task", arena, kind))

    assert tried.findings == ()
    assert passing(cheats) == []
    if kind != "call":
        # In the local sandbox the path of the tests is a part of the names.
        names = [name.rpartition("test_work::")[2] for name in tried.case_names["works"]]
        assert names == ["test_large", "test_small"]


@pytest.mark.parametrize("arena", ["local"], indirect=True)
def test_without_a_solution_cheats_pass_that_a_call_stops(arena: Arena, tmp_path: Path) -> None:
    tried, cheats = attacked(arena, a_task(tmp_path / "command", arena, "command", solved=False))
    _, called = attacked(arena, a_task(tmp_path / "call", arena, "call", solved=False))

    assert FindingKind.NO_SOLUTION in [finding.kind for finding in tried.findings]
    assert passing(cheats) == ["exit-0", "known-answers", "forged-report"]
    assert passing(called) == []


@pytest.mark.parametrize("arena", ["local"], indirect=True)
def test_no_cheat_passes_the_tasks_of_the_pull_request_example(arena: Arena) -> None:
    folders = sorted((ROOT / "examples/pull-request/tasks").iterdir())

    assert len(folders) == 6
    assert [passing(attacked(arena, folder)[1]) for folder in folders] == [[]] * 6


@pytest.mark.parametrize("arena", ["local"], indirect=True)
def test_a_cheat_that_could_not_be_tried_says_why(arena: Arena, tmp_path: Path) -> None:
    task = load_task(a_task(tmp_path / "task", arena, "call"))

    cheats = attack(task, replace(arena.context(), sandboxes=BrokenSandboxes()), {})

    assert {tried.fault for tried in cheats} == {None, "no sandbox today"}
    assert not any(tried.passes for tried in cheats)
