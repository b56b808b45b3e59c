"""Before hidden tests run, tests, their helpers and the settings of runners are as the change has them."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.mining.small_history import Files, PytestRunner, make_history

from outweigh.mining.repository import open_history
from outweigh.mining.restored_files import placing_lines, read_restored_files
from outweigh.mining.runners.compiled_runners import GoRunner
from outweigh.mining.runners.runner import Runner
from outweigh.mining.task_writer import read_hidden_files


def placed(folder: Path, base: Files, fix: Files, left: Files, runner: Runner) -> Path:
    """The workspace that an agent left with some files, after everything was put into place."""
    history = make_history(folder / "repository", base, fix)
    tests = {path for path in fix if "test" in path and fix[path] is not None}
    candidate = history.candidate(test_files=tuple(sorted(tests)), source_files=("keys.go",))
    with open_history(history.repository.folder) as opened:
        hidden = read_hidden_files(opened, candidate)
        restored = read_restored_files(opened, candidate, runner, ())
    for place, files in (("files", {**restored.written, **hidden}), ("packages", restored.packages)):
        for path, file in files.items():
            write(folder / "tests" / place / path, file.content.decode())
    workspace = folder / "workspace"
    for path, content in {**base, **left}.items():
        if content is not None:
            write(workspace / path, content)
    script = "\n".join(("set -eu", *placing_lines(hidden, candidate.deleted_tests, restored)))
    environment = {"PATH": os.environ["PATH"], "OUTWEIGH_TESTS": str(folder / "tests")}
    subprocess.run(["sh", "-c", script], cwd=workspace, env=environment, check=True)
    return workspace


def write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def test_tests_that_would_be_compiled_with_the_hidden_ones_are_as_the_change_has_them(tmp_path: Path) -> None:
    """Whoever adds a test of the same name in another file would break the package with it."""
    workspace = placed(
        tmp_path,
        {"keys.go": "1", "keys_test.go": "old", "rows_test.go": "rows", "web/page_test.go": "page"},
        {"keys.go": "2", "keys_test.go": "hidden"},
        {"keys_test.go": "mine", "rows_test.go": "mine", "added_test.go": "mine", "web/added_test.go": "mine"},
        GoRunner(),
    )

    found = {path.name: path.read_text() for path in workspace.glob("*_test.go")}
    assert found == {"keys_test.go": "hidden", "rows_test.go": "rows"}
    assert (workspace / "web/added_test.go").read_text() == "mine", "no hidden test is in that package"


@pytest.mark.skipif(not Path("/usr/bin/node").exists(), reason="there is no node for sandboxes")
def test_of_a_package_that_the_change_edits_only_the_parts_about_tests_are_put_back(tmp_path: Path) -> None:
    base = {"name": "work", "jest": {"verbose": True}}
    fix = {**base, "exports": "./work.mjs", "jest": {"verbose": False}}
    mine = {**base, "exports": "./mine.mjs", "jest": {"reporters": ["./forged"]}, "scripts": {"test": "true"}}

    workspace = placed(
        tmp_path,
        {"package.json": json.dumps(base), "test/a.js": "1"},
        {"package.json": json.dumps(fix), "test/a.js": "2"},
        {"package.json": json.dumps(mine)},
        PytestRunner(),
    )

    found = json.loads((workspace / "package.json").read_text())
    assert found == {"name": "work", "exports": "./mine.mjs", "jest": {"verbose": False}}


def test_settings_that_the_change_gives_up_do_not_stay(tmp_path: Path) -> None:
    workspace = placed(
        tmp_path,
        {"setup.cfg": "[tool:pytest]\n", "tests/test_a.py": "1"},
        {"setup.cfg": None, "pyproject.toml": "[tool.pytest.ini_options]\n", "tests/test_a.py": "2"},
        {},
        PytestRunner(),
    )

    assert not (workspace / "setup.cfg").exists()
    assert (workspace / "pyproject.toml").read_text() == "[tool.pytest.ini_options]\n"
