"""The checked-out commit is read from git's files as git itself would report it."""

from pathlib import Path

import pytest
from tests.repositories import Repository

from outweigh.errors import UsageError
from outweigh.interop.agent_ab.suite_reader import find_repository, read_head_commit


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "repository")
    repository.commit({"a/b.txt": "1"})
    return repository


def test_a_branch_is_followed(repository: Repository) -> None:
    commit = repository.commit({"a/b.txt": "2"})

    assert read_head_commit(repository.folder) == commit


def test_a_packed_branch_is_found(repository: Repository) -> None:
    commit = repository.commit()
    repository.git("pack-refs", "--all")

    assert read_head_commit(repository.folder) == commit


def test_a_commit_without_a_branch_is_itself(repository: Repository) -> None:
    commit = repository.commit()
    repository.commit({"a/b.txt": "2"})
    repository.git("checkout", "--quiet", "--detach", commit)

    assert read_head_commit(repository.folder) == commit


def test_a_second_work_tree_has_its_own(repository: Repository, tmp_path: Path) -> None:
    before = repository.git("rev-parse", "HEAD")
    repository.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    repository.commit({"a/b.txt": "2"})

    assert read_head_commit(tmp_path / "side") == before


def test_the_repository_is_the_nearest_above(repository: Repository, tmp_path: Path) -> None:
    assert find_repository(repository.folder / "a" / "b.txt") == repository.folder
    assert find_repository(tmp_path / "elsewhere.txt") is None


@pytest.mark.parametrize("head", ["", "ref: refs/heads/none", "ref: refs/../../secret", "ref: ../secret", "0123"])
def test_what_names_no_commit_is_a_sentence(repository: Repository, head: str) -> None:
    (repository.folder / ".git" / "HEAD").write_text(head)

    with pytest.raises(UsageError, match="does not say which commit is checked out"):
        read_head_commit(repository.folder)
