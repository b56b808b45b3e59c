"""A mined task is an ordinary task: it loads, its solution passes, and an agent finds nothing of the change."""

import json
import sys
from pathlib import Path

import pytest
from tests.engine.engine_fixtures import artifact, open_engine, plan_of, shell, toml_lines
from tests.mining.small_history import Files, PytestRunner, SmallHistory, install_pytest, make_history
from tests.prerequisites import require

from outweigh.engine.attempt import run_attempt
from outweigh.engine.load_suite import load_suite
from outweigh.engine.load_task import load_task
from outweigh.mining.dependencies import InstalledDependencies
from outweigh.mining.fix_text import read_fix_text
from outweigh.mining.repository import open_history
from outweigh.mining.task_writer import MinedDraft, read_hidden_files, read_solution, write_task
from outweigh.model.run_record import DIFF_ARTIFACT
from outweigh.model.task import GitSource, Task, TestSuiteCheck
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.verdict.policy import check_policy

BASE: Files = {
    "work.py": "def double(n):\n    return n\n",
    "data/table.bin": "1\n",
    "tests/test_work.py": "from work import double\n\n\ndef test_zero():\n    assert double(0) == 0\n",
    "tests/test_gone.py": "def test_gone():\n    raise AssertionError('it must be gone')\n",
    "CHANGELOG.md": "# Changes\n",
}
FIX: Files = {
    "work.py": "def double(n):\n    return add_twice(n)\n\n\ndef add_twice(n):\n    return n + n\n",
    "data/table.bin": "2\n",
    "tests/test_work.py": (
        "from conftest import TWO\nfrom work import double\n\n\ndef test_two():\n    assert double(TWO) == 4\n"
    ),
    "tests/conftest.py": "TWO = 2\n",
    "tests/test_gone.py": None,
    "CHANGELOG.md": "# Changes\n- Double by `add_twice`\n",
}
MUST_PASS = "tests.test_work::test_two"


def write(history: SmallHistory, suite: Path, dependencies: InstalledDependencies | None = None) -> Task:
    candidate = history.candidate("Double numbers, not (only) return them (#7)\n\nBody", other_files=("CHANGELOG.md",))
    with open_history(history.repository.folder) as opened:
        hidden = read_hidden_files(opened, candidate)
        draft = MinedDraft(
            candidate=candidate,
            fix_text=read_fix_text(opened, candidate),
            hidden=hidden,
            deleted=candidate.deleted_tests,
            patch=read_solution(opened, candidate),
            command=PytestRunner().command(tuple(hidden), "$OUTWEIGH_REPORTS/report"),
            report="report",
            report_format="junit",
            dependencies=dependencies,
            must_pass=(MUST_PASS,),
            fail_to_pass=1,
            check_seconds=300.0,
            test_seconds=0.25,
        )
        return write_task(opened, draft, suite, "Make `double` double its argument.", "arithmetic")


def test_a_written_task_has_its_parts_where_every_task_has_them(tmp_path: Path) -> None:
    history = make_history(tmp_path / "repository", BASE, FIX)

    task = write(history, tmp_path / "suite")

    folder = tmp_path / "suite/tasks" / task.id
    assert task.id == f"{history.fix[:10]}-double-numbers-not-only-return-them"
    assert (task.instruction, task.family) == ("Make `double` double its argument.\n", "arithmetic")
    assert isinstance(task.workspace, GitSource)
    assert task.workspace.repository == str(tmp_path / "suite/workspaces.git")
    (check,) = task.checks
    assert isinstance(check, TestSuiteCheck)
    assert (check.must_pass, check.timeout_seconds) == ([MUST_PASS], 300.0)
    assert json.loads((folder / "tests/must_pass.json").read_text()) == [MUST_PASS]
    assert sorted(str(path.relative_to(folder / "tests/files")) for path in (folder / "tests/files").rglob("*.py")) == [
        "tests/conftest.py",
        "tests/test_work.py",
    ]
    patch = (folder / "solution/fix.patch").read_text()
    assert "add_twice" in patch
    assert "table.bin" in patch
    assert "tests/" not in patch
    assert "CHANGELOG" not in patch


def test_a_suite_can_be_moved_with_its_tasks(tmp_path: Path) -> None:
    history = make_history(tmp_path / "repository", BASE, FIX)
    task = write(history, tmp_path / "suite")

    moved = load_task((tmp_path / "suite").rename(tmp_path / "elsewhere") / "tasks" / task.id)

    assert isinstance(moved.workspace, GitSource)
    assert moved.workspace.repository == str(tmp_path / "elsewhere/workspaces.git")
    assert moved.checksum == task.checksum


def test_a_task_that_is_written_again_takes_the_place_of_the_first(tmp_path: Path) -> None:
    history = make_history(tmp_path / "repository", BASE, FIX)

    assert write(history, tmp_path / "suite") == write(history, tmp_path / "suite")
    assert len(list((tmp_path / "suite/tasks").iterdir())) == 1


SEARCH = """
for text in add_twice 'def test_two' 'double(TWO)'; do
    if grep -rqasF "$text" . "$HOME" /opt/dependencies /usr/lib/python3/dist-packages ||
        git cat-file --batch-all-objects --batch | grep -qaF "$text" || git log --all -p | grep -qaF "$text"
    then echo "$text" >> found.txt; fi
done
[ "$(git rev-list --all --count)" = 1 ] && [ -z "$(git remote)$(git stash list)" ] || echo history >> found.txt
[ ! -e /tests ] || echo tests >> found.txt
echo done > searched.txt
"""


@pytest.mark.needs_bubblewrap
def test_the_true_fix_passes_nothing_does_not_and_a_search_finds_nothing(tmp_path: Path) -> None:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    history = make_history(tmp_path / "repository", BASE, FIX)
    write(history, tmp_path / "suite", install_pytest(tmp_path / "suite/dependencies/key"))
    arms = {"solved": {"agent": "oracle"}, "idle": {"agent": "noop"}, "search": shell(SEARCH)}
    suite = {"name": "mined", "tasks": ["tasks/*"], "baseline": "idle", "arms": arms}
    (tmp_path / "suite/suite.toml").write_text(toml_lines({**suite, "sandbox": {"read_only": [sys.base_prefix]}}))

    loaded = load_suite(tmp_path / "suite", check_policy=check_policy)
    with open_engine(loaded, tmp_path / "runs") as (deps, store):
        records = {run.trial.arm: run_attempt(deps, run, 1).record for run in plan_of(loaded)}
        left = artifact(store, records["search"], DIFF_ARTIFACT)

    assert {arm: [check.passed for check in record.checks or ()] for arm, record in records.items()} == {
        "solved": [True],
        "idle": [False],
        "search": [False],
    }
    assert b"searched.txt" in left
    assert b"found.txt" not in left
