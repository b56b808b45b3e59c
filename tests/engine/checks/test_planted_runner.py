"""Files that an agent leaves to get hold of a test runner."""

from hashlib import sha256
from pathlib import Path

import pytest
from tests.engine.checks.test_checks import Scene, write

from outweigh.model.arm import OverlayFile
from outweigh.model.task import Check, CommandCheck, FileExistsCheck, RewardCheck, TestSuiteCheck

PLUGIN = "[console_scripts]\na = b\n\n[pytest11]\nplanted = planted\n"
PASSING: list[Check] = [
    CommandCheck(name="c", run="true"),
    TestSuiteCheck(name="t", run="true"),
    RewardCheck(name="r", run="echo 1 > $OUTWEIGH_REWARD"),
]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def passed(scene: Scene) -> list[bool | None]:
    return [result.passed for result in scene.evaluate(*PASSING).results]


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("pytest.py", ""),
        ("src/pytest.py", ""),
        ("sitecustomize.py", ""),
        ("usercustomize.pyc", ""),
        ("_pytest/__init__.py", ""),
        ("pluggy.cpython-311-x86_64-linux-gnu.so", ""),
        ("unittest.py", ""),
        ("planted-1.0.dist-info/entry_points.txt", PLUGIN),
        ("src/planted.egg-info/entry_points.txt", PLUGIN),
    ],
)
def test_every_command_fails_and_names_the_file(scene: Scene, path: str, content: str) -> None:
    write(scene.workspace / path, content)

    results = scene.evaluate(*PASSING, FileExistsCheck(name="f", path=path)).results

    assert [result.passed for result in results] == [False, False, False, True]
    assert repr(path) in (results[0].detail or "")


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("test_pytest.py", ""),
        ("pytest.ini", "[pytest]"),
        ("unittest/test_a.py", ""),
        ("docs/pytest.py", ""),
        ("mine.egg-info/entry_points.txt", "[console_scripts]\na = b\n"),
        ("conftest.py", ""),
    ],
)
def test_files_with_a_purpose_are_left_alone(scene: Scene, path: str, content: str) -> None:
    write(scene.workspace / path, content)

    assert passed(scene) == [True, True, True]


def test_what_the_task_or_the_arm_put_there_is_no_plant(scene: Scene) -> None:
    scene.both("pytest.py", "a = 1\n")
    write(scene.workspace / "sitecustomize.py", "laid")
    laid = OverlayFile(path="sitecustomize.py", sha256=sha256(b"laid").hexdigest(), executable=False)

    by_the_arm = scene.evaluate(CommandCheck(name="c", run="true"), overlay=(laid,)).results

    assert [result.passed for result in by_the_arm] == [True]
    assert passed(scene) == [False, False, False]


def test_a_link_to_a_plant_is_one(scene: Scene, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere/entry_points.txt", PLUGIN)
    (scene.workspace / "planted.dist-info").symlink_to(tmp_path / "elsewhere")

    assert passed(scene) == [False, False, False]


def test_what_a_command_itself_installs_is_no_plant(scene: Scene) -> None:
    install = CommandCheck(name="install", run="touch sitecustomize.py")

    assert [result.passed for result in scene.evaluate(install, *PASSING).results] == [True, True, True, True]
