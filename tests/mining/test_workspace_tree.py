"""The workspace of a mined task has the files of the base, and nothing of what came later."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.mining.small_history import Files, SmallHistory, make_history
from tests.repositories import Repository

from outweigh.mining.candidate import Candidate
from outweigh.mining.fix_text import is_changelog, read_fix_text
from outweigh.mining.repository import open_history
from outweigh.mining.workspace_tree import UnsupportedFilesError, create_repository, keep_workspace, write_workspace

BASE: Files = {"work.py": "def double(n):\n    return n\n", "tests/test_work.py": "def test_it():\n    pass\n"}
FIX: Files = {"work.py": "def double(n):\n    return n + n\n", "tests/test_work.py": "def test_it():\n    assert 1\n"}


def written(history: SmallHistory, target: Path, candidate: Candidate | None = None, *, borrow: bool = False) -> str:
    """The commit that is written for the last change."""
    wanted = candidate or history.candidate()
    with open_history(history.repository.folder) as opened:
        create_repository(target, opened, borrow=borrow)
        commit = write_workspace(opened, wanted, read_fix_text(opened, wanted), target)
        keep_workspace(target, commit, "task")
        return commit


def git(repository: Path, *arguments: str) -> str:
    environment = {"PATH": os.environ["PATH"], "GIT_DIR": str(repository), "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(["git", *arguments], env=environment, capture_output=True, check=True, text=True).stdout


def content(repository: Path, commit: str, path: str) -> str:
    return git(repository, "cat-file", "blob", f"{commit}:{path}")


def paths(repository: Path, commit: str) -> list[str]:
    return git(repository, "ls-tree", "-r", "--name-only", commit).split()


def test_it_is_one_commit_without_parents_that_has_the_files_of_the_base(tmp_path: Path) -> None:
    history = make_history(tmp_path / "repository", BASE, FIX)

    commit = written(history, tmp_path / "w.git")

    assert git(tmp_path / "w.git", "rev-list", "--all").split() == [commit]
    assert git(tmp_path / "w.git", "log", "-1", "--format=%P|%an|%at", commit).strip() == "|base|946684800"
    assert content(tmp_path / "w.git", commit, "work.py") == BASE["work.py"]
    assert content(tmp_path / "w.git", commit, "tests/test_work.py") == BASE["tests/test_work.py"]


def test_no_other_object_of_the_history_is_copied(tmp_path: Path) -> None:
    history = make_history(tmp_path / "repository", BASE, {**FIX, "new.py": "later = 1\n"})

    commit = written(history, tmp_path / "w.git")

    there = git(tmp_path / "w.git", "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    known = git(tmp_path / "w.git", "rev-list", "--objects", "--no-object-names", commit).split()
    assert sorted(there) == sorted(known)
    assert not (tmp_path / "w.git/objects/info/alternates").exists()


def test_a_repository_that_borrows_from_the_history_has_only_new_objects_of_its_own(tmp_path: Path) -> None:
    history = make_history(tmp_path / "repository", BASE, FIX)

    commit = written(history, tmp_path / "borrowing.git", borrow=True)

    assert commit == written(history, tmp_path / "w.git")
    assert len(list((tmp_path / "borrowing.git/objects").glob("??/*"))) == 1


def test_the_user_s_repository_stays_as_it_is(tmp_path: Path) -> None:
    history = make_history(tmp_path / "repository", BASE, FIX)
    before = sorted(
        (str(path), path.stat().st_mtime_ns) for path in history.repository.folder.rglob("*") if path.is_file()
    )

    written(history, tmp_path / "w.git")

    assert before == sorted(
        (str(path), path.stat().st_mtime_ns) for path in history.repository.folder.rglob("*") if path.is_file()
    )


def test_modes_are_kept(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    repository.write({**BASE, "run.sh": "#!/bin/sh\n"})
    (repository.folder / "run.sh").chmod(0o755)
    base = repository.commit()
    history = SmallHistory(repository, base, repository.commit(FIX))

    commit = written(history, tmp_path / "w.git")

    assert git(tmp_path / "w.git", "ls-tree", commit, "run.sh", "work.py").split()[::4] == ["100755", "100644"]


@pytest.mark.parametrize(
    "path",
    [
        "__pycache__/work.cpython-311.pyc",
        "deep/__pycache__/x.txt",
        "work.pyc",
        ".pytest_cache/v",
        ".coverage",
        "a.class",
    ],
)
def test_caches_and_compiled_files_are_left_out(tmp_path: Path, path: str) -> None:
    history = make_history(tmp_path / "repository", {**BASE, path: "made by a tool"}, FIX)

    assert paths(tmp_path / "w.git", written(history, tmp_path / "w.git")) == ["tests/test_work.py", "work.py"]


@pytest.mark.parametrize(("target", "stays"), [("work.py", True), ("../outside", False), ("/etc/passwd", False)])
def test_links_stay_where_they_lead_to_files_of_the_workspace(tmp_path: Path, target: str, stays: bool) -> None:
    repository = Repository(tmp_path / "repository")
    repository.write(BASE)
    (repository.folder / "link").symlink_to(target)
    base = repository.commit()
    history = SmallHistory(repository, base, repository.commit(FIX))

    commit = written(history, tmp_path / "w.git")

    assert ("link" in paths(tmp_path / "w.git", commit)) is stays


def test_a_link_into_the_repository_s_own_folder_is_left_out(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    repository.write(BASE)
    (repository.folder / "link").symlink_to("tests/../.git/config")
    history = SmallHistory(repository, repository.commit(), repository.commit(FIX))

    assert "link" not in paths(tmp_path / "w.git", written(history, tmp_path / "w.git"))


def test_a_base_with_a_submodule_is_refused(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    first = repository.commit(BASE)
    base = repository.commit_tree(f"160000 commit {first}\tpart\n".encode())
    history = SmallHistory(repository, base, first)

    with pytest.raises(UnsupportedFilesError, match="submodules are not part of the history: part"):
        written(history, tmp_path / "w.git", history.candidate(source_files=(), test_files=(), deleted_tests=()))


def test_a_base_with_a_name_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    repository.commit(BASE)
    blob = repository.git("rev-parse", "HEAD:work.py")
    base = repository.commit_tree(f"100644 blob {blob}\tn".encode() + b"\xff\xfe.py\n")
    history = SmallHistory(repository, base, repository.git("rev-parse", "HEAD"))

    with pytest.raises(UnsupportedFilesError, match="not UTF-8"):
        written(history, tmp_path / "w.git", history.candidate(source_files=(), test_files=(), deleted_tests=()))


CHANGELOG = """\
# Changes

## Unreleased

- Add `double_it`, which
  doubles numbers.
- Faster start ([#12](https://example.org/pull/12)).
- Unrelated (#120).
"""


def test_a_changelog_that_announces_the_change_already_does_so_no_longer(tmp_path: Path) -> None:
    after = {"work.py": "def double_it(n):\n    return n + n\n", "tests/test_work.py": "def test_it(): ..."}
    history = make_history(tmp_path / "repository", {**BASE, "CHANGELOG.md": CHANGELOG}, after)

    commit = written(history, tmp_path / "w.git", history.candidate("Make it start faster (#12)"))

    kept = content(tmp_path / "w.git", commit, "CHANGELOG.md")
    assert kept == "# Changes\n\n## Unreleased\n\n- Unrelated (#120).\n"


def test_a_fragment_about_the_change_is_left_out(tmp_path: Path) -> None:
    fragments = {"newsfragments/7.feature.md": "Now with `double_it`.\n", "newsfragments/8.bugfix.md": "Other.\n"}
    after = {"work.py": "def double_it(n):\n    return n + n\n", "tests/test_work.py": "def test_it(): ..."}
    history = make_history(tmp_path / "repository", {**BASE, **fragments}, after)

    commit = written(history, tmp_path / "w.git")

    assert paths(tmp_path / "w.git", commit) == ["newsfragments/8.bugfix.md", "tests/test_work.py", "work.py"]


def test_names_that_the_base_has_elsewhere_do_not_change_its_changelog(tmp_path: Path) -> None:
    before = {**BASE, "other.py": "double_it = None\n", "CHANGELOG.md": CHANGELOG}
    after = {"work.py": "def double_it(n):\n    return n + n\n", "tests/test_work.py": "def test_it(): ..."}
    history = make_history(tmp_path / "repository", before, after)

    assert content(tmp_path / "w.git", written(history, tmp_path / "w.git"), "CHANGELOG.md") == CHANGELOG


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("CHANGELOG.md", True),
        ("docs/changelog.rst", True),
        ("NEWS", True),
        ("changelog.d/12.fix.md", True),
        (".changeset/brave-cats.md", True),
        ("src/changes.py", False),
        ("src/history/store.py", False),
        ("README.md", False),
        ("changes/engine.py", False),
    ],
)
def test_changelogs_are_known_by_their_names(path: str, expected: bool) -> None:
    assert is_changelog(path) is expected


def test_what_a_change_adds_is_its_lines_in_a_row_and_its_new_names(tmp_path: Path) -> None:
    before = {"work.py": "def old_name():\n    pass\n\n\ndef last():\n    pass\n", "tests/test_a.py": ""}
    after = {
        "work.py": "def old_name():\n    return new_name()\n\n\ndef last():\n    a = 1\n\n    old_name()\n",
        "extra/new.py": "def new_name(): ...\n",
        "tests/test_a.py": "hidden_name = 1\n",
    }
    history = make_history(tmp_path / "repository", before, after)
    candidate = history.candidate()

    with open_history(history.repository.folder) as opened:
        text = read_fix_text(opened, candidate)

    assert set(text.runs) == {("return new_name()",), ("a = 1", "old_name()"), ("def new_name(): ...",)}
    assert text.test_runs == (("hidden_name = 1",),)
    assert text.names == text.defined == {"new_name"}
    assert text.added_paths == ("extra/new.py",)
