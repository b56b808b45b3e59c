"""`outweigh bisect`: the commit or the hunk that made a set-up worse, found by real runs of a scripted agent."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.cli.engines import records
from tests.cli.two_sides import Project

from outweigh.cli.main import main

KNOWS = "grep -q 'answer is 42' CLAUDE.md && echo 42 >answer.txt; true"
SCRIPTED: Mapping[str, Any] = {
    "agent": "scripted",
    "options": {"default": {"solve_probability": 0.9, "on_success": [{"do": "run", "command": KNOWS}]}},
}
"""It solves nine of ten tasks if its instructions have the answer, and none without."""
GOOD_WORDS = "# Rules\n\nThink first.\n\nThe answer is 42.\n\nBe brief.\n\nUse British spelling.\n"


def history(
    folder: Path, *, culprit: int = 4, arm: Mapping[str, Any] = SCRIPTED, **settings: Any
) -> tuple[Project, list[str]]:
    """Seven commits that change CLAUDE.md, one of which loses the answer, with others between; returns all of them."""
    project = Project(folder, arm, **{"tasks": 4, "repeats": 4, **settings})
    commits = [_commit(project, {"CLAUDE.md": GOOD_WORDS}, 0)]
    words = GOOD_WORDS
    for number in range(1, 8):
        words = words.replace("The answer is 42.", "Find the answer.") if number == culprit else words
        words += f"\nRule {number}.\n"
        commits.append(_commit(project, {"CLAUDE.md": words}, 2 * number))
        if number % 2:
            _commit(project, {"README.md": f"Version {number}.\n"}, 2 * number + 1)
    return project, commits


def _commit(project: Project, files: Mapping[str, str], moment: int) -> str:
    project.repository.write(files)
    project.repository.git("add", "--all", "--force")
    project.repository.git("commit", "--quiet", f"--message=step {moment}", time=1_700_000_000 + moment)
    return project.repository.git("rev-parse", "HEAD")


def bisect(project: Project, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = main(["bisect", "-c", str(project.suite), "-o", str(project.store), "--format", "json", *more])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_the_commit_that_lost_the_answer_is_found_with_fewer_than_half_the_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project, commits = history(tmp_path)
    before = project.repository.git("status", "--porcelain", "--branch")

    code, found = bisect(project, capsys, "--good", commits[0], "--bad", "main")

    assert (code, found["end"], found["culprit"]) == (0, "found", commits[4][:10])
    assert found["runs"] <= found["every_step_runs"] / 2
    assert [step["arm"] for step in found["steps"]] == [commit[:10] for commit in commits]
    assert found["steps"][1]["followed_by"], "commits that leave the set-up alone are no steps"
    assert project.repository.git("status", "--porcelain", "--branch") == before
    made = len(records(project.store))

    again, same = bisect(project, capsys, "--good", commits[0], "--bad", "main")

    assert (again, same["culprit"], len(records(project.store))) == (0, found["culprit"], made)


@pytest.mark.slow
def test_the_hunk_of_a_file_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project, _ = history(tmp_path)
    old, new = tmp_path / "old.md", tmp_path / "new.md"
    old.write_text(GOOD_WORDS)
    bad = GOOD_WORDS.replace("Think first.", "Think hard.").replace("answer is 42", "answer is yours")
    new.write_text(bad.replace("brief.", "long.").replace("British", "American"))

    code, found = bisect(project, capsys, "--good", str(old), "--bad", str(new), "--as", "CLAUDE.md")

    assert (code, found["culprit"]) == (0, "hunk-2")
    assert found["steps"][2]["lines"] == ["-The answer is 42.", "+The answer is yours."]


@pytest.mark.slow
def test_no_loss_between_the_ends_is_inconclusive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project, commits = history(tmp_path, culprit=0, tasks=2, repeats=2)

    code, found = bisect(project, capsys, "--good", commits[0], "--bad", commits[3])

    assert (code, found["end"], found["culprit"]) == (3, "no_difference", None)
    assert {step["arm"]: step["runs"] for step in found["steps"] if step["runs"]}.keys() == {
        commits[0][:10],
        commits[3][:10],
    }


def test_commits_that_leave_the_set_up_alone_are_refused_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project, commits = history(tmp_path)

    code = main(["bisect", "-c", str(project.suite), "--good", commits[7], "--bad", "main"])

    assert code == 3
    assert "no commit between good and bad changes the set-up of scripted" in capsys.readouterr().err
    assert not project.store.exists()


def test_a_dry_run_shows_the_steps_and_runs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project, commits = history(tmp_path)

    code, plan = bisect(project, capsys, "--good", commits[0], "--bad", "main", "--dry-run")

    assert code == 0
    assert (plan["between"], plan["steps"], plan["most_runs"], plan["every_step_runs"]) == (11, 7, 96, 128)
    assert not project.store.exists()


def test_a_good_commit_that_is_no_ancestor_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project, commits = history(tmp_path)
    project.branch("aside", {"CLAUDE.md": "Another way.\n"})

    code = main(["bisect", "-c", str(project.suite), "--good", "aside", "--bad", commits[7]])

    assert code == 2
    assert "is not an ancestor of" in capsys.readouterr().err


def test_a_budget_that_is_used_up_ends_the_search_without_a_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    priced = {"options": {"default": {**SCRIPTED["options"]["default"], "cost_usd": 1.0}}}
    project, commits = history(tmp_path, arm={**SCRIPTED, **priced}, limits={"budget_usd": 1.0})

    code, found = bisect(project, capsys, "--good", commits[0], "--bad", commits[7], "--budget", "3")

    assert (code, found["end"], found["culprit"]) == (4, "budget", None)
