"""`outweigh init --from-git` turns a history into a suite that is clean in preflight, and says what it left out."""

import subprocess
from pathlib import Path

import pytest
from tests.cli.engines import Engine, until
from tests.conftest import Outweigh
from tests.mining.tally_history import FEATURES, make_tally_history

from outweigh.app.preflight_suite import preflight_tasks
from outweigh.app.suite_selection import read_suite

pytestmark = pytest.mark.needs_bubblewrap


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tally_history(tmp_path_factory.mktemp("history") / "tally", features=4)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_change_with_tests_becomes_a_task_that_preflight_finds_fit(
    outweigh: Outweigh, history: Path, tmp_path: Path
) -> None:
    before = files_of(history)
    suite = tmp_path / "mined"
    answer = outweigh("init", str(suite), "--from-git", str(history))
    assert answer.code == 0
    assert "5 commits looked at, 4 candidates, 4 tried: 4 proven, 4 kept." in answer.out
    assert f"outweigh try CLAUDE.md -s {suite}  #" in answer.out
    assert sorted(path.name[11:] for path in (suite / "tasks").iterdir()) == sorted(
        f"add-{feature.name.replace('_', '-')}" for feature in FEATURES[:4]
    )
    assert files_of(history) == before
    assert [(result.fit, result.findings) for result in preflight_tasks(read_suite(str(suite)))] == [(True, ())] * 4


def test_the_same_command_goes_on_where_it_stopped(outweigh: Outweigh, history: Path, tmp_path: Path) -> None:
    suite = tmp_path / "mined"
    assert "2 tried: 2 proven, 2 kept" in outweigh("init", str(suite), "--from-git", str(history), "--tasks", "2").out
    lines = (suite / "mining.jsonl").read_bytes()
    answer = outweigh("init", str(suite), "--from-git", str(history), "--tasks", "3")
    assert "3 tried: 3 proven, 3 kept" in answer.out
    assert (suite / "mining.jsonl").read_bytes().startswith(lines)
    assert len((suite / "mining.jsonl").read_bytes().splitlines()) == 3


def test_ctrl_c_says_at_once_that_what_is_under_way_may_finish(history: Path, tmp_path: Path) -> None:
    suite = tmp_path / "mined"
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    engine = Engine(str(suite), "--from-git", str(history), "-j", "1", temporary=temporary, verb="init")
    try:
        until(lambda: (suite / "mining.jsonl").exists() and bool((suite / "mining.jsonl").read_bytes()))
        engine.press_ctrl_c()
        ended = engine.wait()
    finally:
        engine.close()

    assert ended.code == 130
    assert "stopping: the candidates under way may finish; press Ctrl-C again to end now" in ended.err
    assert "Interrupted: the same command goes on where it stopped." in ended.out
    assert len((suite / "mining.jsonl").read_bytes().splitlines()) < 4


def test_a_history_that_has_too_few_tasks_is_said_to_be_exhausted(
    outweigh: Outweigh, history: Path, tmp_path: Path
) -> None:
    answer = outweigh("init", str(tmp_path / "mined"), "--from-git", str(history), "--to-see", "10")
    assert "The history is exhausted" in answer.out
    assert "4 tasks with 5 repeats would show even a large difference in fewer than 80 of 100" in answer.out


def test_one_commit_is_explained_without_anything_being_written(
    outweigh: Outweigh, history: Path, tmp_path: Path
) -> None:
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=history, capture_output=True, check=True, text=True)
    commit = head.stdout.strip()
    answer = outweigh("init", str(tmp_path / "mined"), "--from-git", str(history), "--explain", commit)
    assert (answer.code, f"{commit[:10]} is a candidate" in answer.out) == (0, True)
    assert not (tmp_path / "mined").exists()


def test_what_became_of_a_commit_that_was_tried_is_explained(outweigh: Outweigh, history: Path, tmp_path: Path) -> None:
    commits = subprocess.run(["git", "rev-list", "HEAD"], cwd=history, capture_output=True, check=True, text=True)
    newest, *_ = commits.stdout.split()
    kept, failed = tmp_path / "kept", tmp_path / "failed"
    mining = ("--from-git", str(history), "--tasks", "1")
    outweigh("init", str(kept), *mining)
    outweigh("init", str(failed), *mining, "--test", "false")

    of_kept = outweigh("init", str(kept), *mining, "--explain", newest)
    of_failed = outweigh("init", str(failed), *mining, "--test", "false", "--explain", newest[:10])

    assert f"It was tried and kept, as the task {newest[:10]}-" in of_kept.out
    assert "It was tried and not proven: its tests do not pass after the change" in of_failed.out


def test_a_folder_that_is_no_repository_is_refused_and_nothing_is_left(outweigh: Outweigh, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    answer = outweigh("init", str(tmp_path / "mined"), "--from-git", str(tmp_path / "plain"))
    assert (answer.code, "Traceback" in answer.err) == (2, False)
    assert "git repository" in answer.err
    assert not (tmp_path / "mined").exists()


def test_a_folder_that_does_not_exist_is_named(outweigh: Outweigh, tmp_path: Path) -> None:
    answer = outweigh("init", str(tmp_path / "mined"), "--from-git", str(tmp_path / "nowhere"))
    assert (answer.code, f"there is no folder {tmp_path / 'nowhere'}" in answer.err) == (2, True)


def test_a_shallow_clone_is_refused_with_the_way_out(outweigh: Outweigh, history: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    subprocess.run(
        ["git", "clone", "--quiet", "--depth=1", f"file://{history}", str(shallow)], check=True, capture_output=True
    )
    answer = outweigh("init", str(tmp_path / "mined"), "--from-git", str(shallow))
    assert (answer.code, "git fetch --unshallow" in answer.err) == (2, True)
    assert not (tmp_path / "mined").exists()


def test_a_history_without_tests_is_refused_with_what_was_found(outweigh: Outweigh, tmp_path: Path) -> None:
    history = make_tally_history(tmp_path / "tally", features=0)
    answer = outweigh("init", str(tmp_path / "mined"), "--from-git", str(history))
    assert (answer.code, "changes source and tests together" in answer.err) == (2, True)
    assert not (tmp_path / "mined").exists()


def test_a_test_command_that_fails_everywhere_leaves_no_task_and_says_why(
    outweigh: Outweigh, history: Path, tmp_path: Path
) -> None:
    answer = outweigh("init", str(tmp_path / "mined"), "--from-git", str(history), "--test", "false", "--tasks", "2")
    assert answer.code == 3
    assert "its tests do not pass after the change" in answer.out
    assert "No candidate is proven, mostly because its tests do not pass after the change." in answer.out
    assert "by another command with --test, install what they need with --setup" in answer.out


def test_a_folder_of_something_else_is_refused(outweigh: Outweigh, history: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    answer = outweigh("init", str(tmp_path), "--from-git", str(history))
    assert (answer.code, "is not a mined suite" in answer.err) == (2, True)


@pytest.mark.parametrize("option", [("--tasks", "3"), ("--setup", "true"), ("--from-sessions",), ("--explain", "HEAD")])
def test_options_about_a_history_need_a_repository(outweigh: Outweigh, tmp_path: Path, option: tuple[str, ...]) -> None:
    answer = outweigh("init", str(tmp_path / "suite"), *option)
    assert (answer.code, "--from-git" in answer.err) == (2, True)


@pytest.mark.parametrize(
    "option", [("--tasks", "0"), ("--to-see", "0"), ("--to-see", "x"), ("--since", "yesterday"), ("-j", "0")]
)
def test_an_option_that_makes_no_sense_is_refused(
    outweigh: Outweigh, history: Path, tmp_path: Path, option: tuple[str, str]
) -> None:
    answer = outweigh("init", str(tmp_path / "suite"), "--from-git", str(history), *option)
    assert answer.code == 2
    assert not (tmp_path / "suite").exists()
