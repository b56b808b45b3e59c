"""The check that runs the task's own tests by pytest, with nothing of the workspace in the runner."""

import sys
from pathlib import Path

import pytest
from tests.engine.checks.test_checks import Scene, write

from outweigh.model.run_record import CheckResult
from outweigh.model.task import PytestCheck

TEST = "from work import right\ndef test_it():\n    assert right\n"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    made = Scene(tmp_path)
    write(made.workspace / "work.py", "right = True\n")
    write(made.tests / "test_work.py", TEST)
    return made


def outcome(result: CheckResult) -> tuple[bool | None, int | None, int | None]:
    return result.passed, result.cases_passed, result.cases_total


def test_the_tests_of_the_task_are_run_and_counted(scene: Scene) -> None:
    write(scene.tests / "sub/test_more.py", "def test_this():\n    pass\ndef test_that():\n    assert False\n")

    everything = scene.check(PytestCheck(name="p", python=sys.executable))
    one_file = scene.check(PytestCheck(name="p", python=sys.executable, files=["test_work.py"]))

    assert outcome(everything) == (False, 2, 3)
    assert outcome(one_file) == (True, 1, 1)


def test_settings_and_helpers_of_the_tests_apply_and_those_of_the_workspace_do_not(scene: Scene) -> None:
    write(scene.tests / "pytest.ini", "[pytest]\npython_functions = check_*\n")
    write(scene.tests / "conftest.py", "import work\n")
    write(scene.tests / "helper.py", "from work import right\n")
    write(scene.tests / "test_work.py", "from helper import right\ndef check_it():\n    assert right\n")
    write(scene.workspace / "pytest.ini", "[pytest]\naddopts = --collect-only\n")
    write(scene.workspace / "conftest.py", "raise SystemExit(0)\n")
    write(scene.workspace / "helper.py", "right = False\n")

    assert outcome(scene.check(PytestCheck(name="p", python=sys.executable))) == (True, 1, 1)


def test_folders_of_the_workspace_can_be_imported_from(scene: Scene) -> None:
    (scene.workspace / "src").mkdir()
    (scene.workspace / "work.py").rename(scene.workspace / "src/work.py")

    assert scene.check(PytestCheck(name="p", python=sys.executable, python_path=["src"])).passed is True
    assert scene.check(PytestCheck(name="p", python=sys.executable)).passed is False


def test_programs_that_tests_start_have_an_ordinary_python(scene: Scene) -> None:
    write(scene.workspace / "program.py", "import work\nprint(work.right)\n")
    run = f"subprocess.check_output([{sys.executable!r}, 'program.py'], text=True)"
    write(scene.tests / "test_work.py", f"import subprocess\ndef test_it():\n    assert {run} == 'True\\n'\n")

    assert scene.check(PytestCheck(name="p", python=sys.executable)).passed is True


def test_no_tests_and_no_pytest_are_failures(scene: Scene) -> None:
    without = scene.check(PytestCheck(name="p", python="no-such-python"))
    (scene.tests / "test_work.py").unlink()
    empty = scene.check(PytestCheck(name="p", python=sys.executable))

    assert (without.passed, without.exit_code) == (False, 127)
    assert (empty.passed, empty.exit_code) == (False, 5)
