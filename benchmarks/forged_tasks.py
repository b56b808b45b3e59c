"""Two small tasks that outweigh, Harbor and Inspect can all check, each in the way that its documentation describes.

One has hidden tests for pytest, the other a program whose output is compared.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from outweigh.engine.cheats import CHEATS, apply_cheat
from outweigh.engine.load_task import load_task

SOLVED, UNTOUCHED = "solved", "untouched"
"""What must pass and what must fail with every checker, beside the cheats."""

SYSTEM_PYTHON = "/usr/bin/python3"
_PACKAGES = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments")
_RUN_PYTEST = "import sys\nimport pytest\nsys.exit(pytest.main())\n"
_PYTEST = '#!/bin/sh\nexec "${0%/*}/python3" "${0%/*}/run_pytest.py" "$@"\n'

Files = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgedTask:
    """A task without its checker: `check` is a check of ours, `script` the condition in Harbor's tests/test.sh.

    `PYTHON` in a check and a script is the folder of an environment with pytest.
    """

    name: str
    workspace: Files
    solution: Files
    tests: Files
    check: str
    script: str
    inspect: Mapping[str, str]


_MEDIAN = """\
def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
"""
_CASES = """\
import sys

sys.path.insert(0, "")

from median import median


def test_an_odd_number_of_values():
    assert median([3, 1, 2]) == 2


def test_an_even_number_of_values():
    assert median([9, 1, 3, 2]) == 2.5
"""
_EXAMPLE = "from median import median\n\n\ndef test_one_value():\n    assert median([7]) == 7\n"
_NUMBERS, _TOTAL = "4\n-9\n12\n35\n", "42"
_SUM = "import sys\n\nprint(sum(int(line) for line in sys.stdin{condition}))\n"

TASKS = (
    ForgedTask(
        name="hidden-tests",
        workspace={"median.py": f"{_MEDIAN}    return ordered[middle]\n", "test_example.py": _EXAMPLE},
        solution={
            "median.py": f"{_MEDIAN}    return (ordered[middle] + ordered[-1 - middle]) / 2\n",
        },
        tests={"test_median.py": _CASES},
        check='type = "pytest"\npython = "PYTHON/bin/python3"\n',
        script="PYTHON/bin/pytest /tests/test_median.py -rA",
        inspect={"test": "test_median.py"},
    ),
    ForgedTask(
        name="compared-output",
        workspace={"total.py": _SUM.format(condition=" if int(line) > 0")},
        solution={"total.py": _SUM.format(condition="")},
        tests={"numbers.txt": _NUMBERS, "expected.txt": f"{_TOTAL}\n"},
        check='type = "call"\nrun = ["python3", "total.py"]\n'
        f"cases = [{{ stdin = {json.dumps(_NUMBERS)}, expected = {json.dumps(_TOTAL)} }}]\n",
        script='[ "$(python3 total.py </tests/numbers.txt)" = "$(cat /tests/expected.txt)" ]',
        inspect={"program": "total.py", "input": _NUMBERS, "target": _TOTAL},
    ),
)


def make_python(folder: Path) -> Path:
    """An environment of the system's Python with pytest alone, which can be shown and copied into sandboxes."""
    subprocess.run([SYSTEM_PYTHON, "-m", "venv", "--without-pip", "--symlinks", str(folder)], check=True)
    (target,) = folder.glob("lib/python*/site-packages")
    packages = Path(pytest.__file__).parents[1]
    shutil.copy(packages / "py.py", target)
    for name in (*_PACKAGES, *(path.name for path in packages.glob("pluggy-*.dist-info"))):
        shutil.copytree(packages / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    write(folder / "bin", {"run_pytest.py": _RUN_PYTEST, "pytest": _PYTEST})
    (folder / "bin/pytest").chmod(0o755)
    subprocess.run([str(folder / "bin/pytest"), "--version"], check=True, stdout=subprocess.DEVNULL)
    return folder


def write(folder: Path, files: Files) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def our_task(folder: Path, task: ForgedTask, python: Path) -> Path:
    """The task with a check of ours."""
    checks = f'[[metadata.outweigh.checks]]\nname = "works"\n{task.check}'.replace("PYTHON", str(python))
    return _written(folder / task.name, task, {**_in("environment", task.workspace), "task.toml": checks})


def scripted_task(folder: Path, task: ForgedTask, python: str) -> Path:
    """The same task with Harbor's tests/test.sh, which writes a reward, and the workspace in environment/."""
    files = {**_in("environment", task.workspace), **_test_script(task, python)}
    return _written(folder / task.name, task, files)


def harbor_task(folder: Path, task: ForgedTask, python: Path) -> Path:
    """The same, with what Harbor builds the agent's environment from."""
    files = {
        **_in("environment/given", task.workspace),
        **_test_script(task, "/python"),
        "environment/Dockerfile": "FROM scratch\nWORKDIR /app\nCOPY given/ ./\nCOPY python/ /python/",
    }
    place = _written(folder / task.name, task, files)
    shutil.copytree(python, place / "environment/python", symlinks=True)
    return place


def _in(folder: str, files: Files) -> dict[str, str]:
    return {f"{folder}/{name}": content for name, content in files.items()}


def _test_script(task: ForgedTask, python: str) -> dict[str, str]:
    judged = f"if {task.script.replace('PYTHON', python)}; then reward=1; else reward=0; fi"
    return {"tests/test.sh": f"#!/bin/sh\n{judged}\necho $reward >/logs/verifier/reward.txt\n", "task.toml": ""}


def _written(folder: Path, task: ForgedTask, files: Files) -> Path:
    solve = "".join(f"cat >{name} <<'END'\n{content}END\n" for name, content in task.solution.items())
    write(folder, {**files, **_in("tests", task.tests), "instruction.md": "Repair the program.\n"})
    write(folder, {"solution/solve.sh": f"#!/bin/sh\n{solve}"})
    return folder


def workspaces(folder: Path, task: ForgedTask, scripted: Path) -> Iterator[dict[str, Any]]:
    """The workspace as an agent leaves it, solved, untouched and with every cheat that has something to change.

    `script` is what a cheat runs in addition.
    """
    loaded = load_task(scripted)
    for name, files in ((SOLVED, {**task.workspace, **task.solution}), (UNTOUCHED, task.workspace)):
        write(folder / name, files)
        yield {"name": name, "left": str(folder / name), "script": None}
    for cheat in CHEATS:
        place = folder / cheat.name
        write(place, task.workspace)
        if apply_cheat(cheat, place, loaded):
            yield {"name": cheat.name, "left": str(place), "script": cheat.script}
