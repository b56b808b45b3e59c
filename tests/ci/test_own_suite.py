"""The suite that our own workflow judges pull requests by."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.repositories import Repository

ROOT = Path(__file__).resolve().parents[2]
SUITE = "examples/pull-request"
INSTRUCTIONS = f"{SUITE}/setup/CLAUDE.md"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    found = Repository(tmp_path / "project")
    shutil.copytree(ROOT / SUITE, found.folder / SUITE)
    found.commit({"README.md": "A project.\n"})
    return found


def judged(outweigh: Any, repository: Repository, store: Path) -> Any:
    suite = str(repository.folder / SUITE)
    return outweigh(
        "ci", "-c", suite, "--base", "HEAD^", "--head", "HEAD", "--require", "not-regressed", "-o", str(store)
    )


def test_a_pull_request_that_leaves_the_set_up_alone_is_green_and_runs_nothing(
    outweigh: Any, repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"README.md": "Other words.\n"})

    answer = judged(outweigh, repository, tmp_path / "store")

    assert answer.code == 0, answer.err
    assert "nothing to compare" in answer.out


def test_instructions_that_lose_what_the_agent_goes_by_are_found_to_regress(
    outweigh: Any, repository: Repository, tmp_path: Path
) -> None:
    repository.commit({INSTRUCTIONS: "Do as you like.\n"})

    answer = judged(outweigh, repository, tmp_path / "store")

    assert answer.code == 1, answer.err
    assert answer.out.startswith("REGRESSED")
