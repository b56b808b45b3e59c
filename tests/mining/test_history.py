"""Changes of source and tests are candidates; of every other commit the scan says why it is none."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.mining.mined_repository import DAY, MinedRepository, candidates, reasons

from outweigh.mining.candidate import CandidateKind, RejectionReason
from outweigh.mining.change_rules import HistorySettings
from outweigh.mining.history import explain
from outweigh.mining.repository import open_history

FIX: dict[str, str | None] = {
    "src/code.py": "one = 1\ntwo = 2\n",
    "tests/test_code.py": "def test_one(): ...\ndef test_two(): ...\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> MinedRepository:
    return MinedRepository(tmp_path / "repository")


def test_a_commit_with_source_and_tests_is_a_candidate(repository: MinedRepository) -> None:
    base = repository.git("rev-parse", "HEAD")
    fix = repository.change("Add two\n\nBecause one is not enough.", {**FIX, "README.md": "words"})

    scan = repository.scan()

    (found,) = scan.candidates
    assert (found.base, found.fix, found.commits, found.kind) == (base, fix, (fix,), CandidateKind.COMMIT)
    assert found.message == "Add two\n\nBecause one is not enough."
    assert (found.source_files, found.test_files) == (("src/code.py",), ("tests/test_code.py",))
    assert (found.other_files, found.deleted_tests, found.source_lines) == (("README.md",), (), 1)
    assert reasons(scan) == {base: RejectionReason.FIRST}
    assert (scan.commits, scan.not_looked_at) == (2, 0)


def test_a_merge_stands_for_its_commits(repository: MinedRepository) -> None:
    repository.branch("two")
    inner = repository.change("Add two", FIX)
    merge = repository.merge("two", "Merge pull request #3 from someone/two\n\nCount to two")

    scan = repository.scan()

    assert [(each.fix, each.commits, each.message) for each in scan.candidates] == [
        (merge, (inner, merge), "Count to two\n\nAdd two")
    ]
    assert reasons(scan)[inner] is RejectionReason.INSIDE_MERGE


def test_source_and_its_tests_in_two_commits_are_one_candidate(repository: MinedRepository) -> None:
    base = repository.git("rev-parse", "HEAD")
    source = repository.change("Count up to two", {"src/code.py": FIX["src/code.py"]})
    fix = repository.change(
        "Test that two is counted", {"tests/test_code.py": FIX["tests/test_code.py"]}, seconds=DAY // 24
    )

    scan = repository.scan()

    assert [(each.base, each.fix, each.commits, each.kind) for each in scan.candidates] == [
        (base, fix, (source, fix), CandidateKind.RANGE)
    ]
    assert reasons(scan)[source] is RejectionReason.INSIDE_RANGE


@pytest.mark.parametrize(
    ("message", "author", "seconds"),
    [("Test that two is counted", "b", 60), ("Test that two is counted", "a", 2 * DAY), ("Test the parser", "a", 60)],
    ids=["another author", "another day", "another matter"],
)
def test_commits_that_do_not_belong_together_are_not_joined(
    repository: MinedRepository, message: str, author: str, seconds: int
) -> None:
    repository.change("Count up to two", {"src/code.py": FIX["src/code.py"]})
    repository.change(message, {"tests/test_code.py": FIX["tests/test_code.py"]}, author=author, seconds=seconds)

    assert candidates(repository.scan()) == set()


def test_tests_that_came_first_are_joined_with_the_source_after_them(repository: MinedRepository) -> None:
    tests = repository.change("Add failing test", {"tests/test_code.py": FIX["tests/test_code.py"]})
    docs = repository.change("Explain", {"README.md": "words"}, seconds=60)
    fix = repository.change("Add two", {"src/code.py": FIX["src/code.py"]}, seconds=60)

    (found,) = repository.scan().candidates

    assert (found.commits, found.message) == ((tests, docs, fix), "Add failing test\n\nExplain\n\nAdd two")


REJECTED: dict[str, tuple[str, Mapping[str, str | None], RejectionReason]] = {
    "no source": ("Explain", {"README.md": "words"}, RejectionReason.NO_SOURCE),
    "only types": ("Declare", {"src/code.pyi": "a: int", **{"tests/test_code.py": "x"}}, RejectionReason.NO_SOURCE),
    "no tests": ("Add two", {"src/code.py": "two = 2\n"}, RejectionReason.NO_TESTS),
    "only a helper": ("Add two", {"src/code.py": "two = 2\n", "tests/helpers.py": "x = 1\n"}, RejectionReason.NO_TESTS),
    "tests deleted": ("Drop", {"src/code.py": "two = 2\n", "tests/test_code.py": None}, RejectionReason.TESTS_DELETED),
    "tests emptied": ("Drop", {"src/code.py": "two = 2\n", "tests/test_code.py": ""}, RejectionReason.TESTS_DELETED),
    "comments": ("Say", {**FIX, "src/code.py": "one = 1  # the first\n"}, RejectionReason.FORMATTING),
    "docstring": ("Say", {**FIX, "src/code.py": '"""It counts = up."""\none = 1\n'}, RejectionReason.FORMATTING),
    "layout": ("Wrap", {**FIX, "src/code.py": "one = (\n    1\n)\n"}, RejectionReason.FORMATTING),
    "formatter": ("Run black", FIX, RejectionReason.FORMATTING),
    "layout of tests": (
        "Add two",
        {"src/code.py": "two = 2\n", "tests/test_code.py": "def test_one():\n    ...\n"},
        RejectionReason.NO_TESTS,
    ),
    "dependencies": ("Bump thing from 1 to 2", FIX, RejectionReason.DEPENDENCIES),
    "lock file": ("Newer", {"package-lock.json": "{}"}, RejectionReason.DEPENDENCIES),
    "release": ("Release 2.0.0", FIX, RejectionReason.RELEASE),
    "vendored": ("Take zlib in", {"vendor/zlib/a.c": "int a;", "vendor/zlib/a_test.c": ""}, RejectionReason.GENERATED),
    "pure rename": (
        "Move",
        {"src/code.py": None, "src/numbers.py": "one = 1\n", "tests/test_code.py": "import numbers\n"},
        RejectionReason.RENAME,
    ),
    "too long": (
        "Grow",
        {**FIX, "src/code.py": "".join(f"a{i} = {i}\n" for i in range(1_501))},
        RejectionReason.TOO_LARGE,
    ),
    "too many files": (
        "Grow",
        {**FIX, **{f"src/c{i}.py": f"a = {i}\n" for i in range(31)}},
        RejectionReason.TOO_LARGE,
    ),
    "LFS": (
        "Add a picture",
        {**FIX, "tests/data/a.png": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"},
        RejectionReason.UNSUPPORTED_FILES,
    ),
    "inline tests": (
        "Count",
        {"src/lib.rs": "fn two() {}\n#[cfg(test)]\nmod tests { #[test] fn two() {} }\n"},
        RejectionReason.INLINE_TESTS,
    ),
}


@pytest.mark.parametrize("case", REJECTED)
def test_what_is_no_task_is_rejected_with_the_reason(repository: MinedRepository, case: str) -> None:
    message, files, reason = REJECTED[case]
    commit = repository.change(message, files)

    scan = repository.scan()

    assert reasons(scan).get(commit) is reason
    assert candidates(scan) == set()


def test_code_that_moves_between_files_is_a_rename_but_code_that_moves_within_one_is_work(
    repository: MinedRepository,
) -> None:
    repository.change("Start", {"src/code.py": "one()\ntwo()\nthree()\n", "src/other.py": "four()\n"})
    inside = repository.change("Fix order", {**FIX, "src/code.py": "two()\nthree()\none()\n"})
    moved = {"src/code.py": "two()\nthree()\n", "src/other.py": "four()\none()\n", "tests/test_code.py": "import x\n"}
    between = repository.change("Move one", moved)

    scan = repository.scan()

    assert candidates(scan) == {inside}
    assert reasons(scan)[between] is RejectionReason.RENAME


def test_python_of_another_version_is_compared_with_its_indentation(repository: MinedRepository) -> None:
    repository.change("Start", {"src/code.py": "for x in y:\n    print x\nprint 'end'\n"})
    fix = repository.change("Close every row", {**FIX, "src/code.py": "for x in y:\n    print x\n    print 'end'\n"})

    assert candidates(repository.scan()) == {fix}


@pytest.mark.parametrize("mode", ["120000", "160000"], ids=["link", "submodule"])
def test_links_and_submodules_are_refused_with_the_reason(repository: MinedRepository, mode: str) -> None:
    target = repository.git("hash-object", "-w", "--stdin", stdin=b"elsewhere")
    repository.write(FIX)
    repository.git("add", "--all")
    name = repository.git("rev-parse", "HEAD") if mode == "160000" else target
    repository.git("update-index", "--add", "--cacheinfo", f"{mode},{name},tests/data/there")
    repository.git("commit", "--quiet", "--message=Add two")
    commit = repository.git("rev-parse", "HEAD")

    assert reasons(repository.scan())[commit] is RejectionReason.UNSUPPORTED_FILES


def test_a_revert_is_none_and_neither_is_what_was_reverted_within_30_days(repository: MinedRepository) -> None:
    early = repository.change("Add two", FIX)
    undo = repository.change(
        'Revert "Add two"', {"src/code.py": "one = 1\n", "tests/test_code.py": "def test_one(): ...\n"}
    )
    late = repository.change("Add two again", FIX, seconds=40 * DAY)
    back = {"src/code.py": "one = 1\n", "tests/test_code.py": "def test_one(): ...\n"}
    undone_late = repository.change(f"Take it back\n\nThis reverts commit {late}.", back, seconds=31 * DAY)

    scan = repository.scan()

    assert candidates(scan) == {late}
    assert reasons(scan)[early] is RejectionReason.REVERTED
    assert reasons(scan)[undo] is reasons(scan)[undone_late] is RejectionReason.REVERT


def test_a_change_that_is_undone_without_a_word_was_reverted(repository: MinedRepository) -> None:
    early = repository.change("Add two", FIX)
    repository.change("Think again", {"src/code.py": "one = 1\n", "tests/test_code.py": "def test_one(): ...\n"})

    assert reasons(repository.scan())[early] is RejectionReason.REVERTED


def test_a_merge_is_explained_with_the_number_of_its_commits(repository: MinedRepository) -> None:
    repository.branch("two")
    inner = repository.change("Add two", FIX)
    merge = repository.merge("two", "Merge branch 'two'")

    with open_history(repository.folder) as history:
        said = {name: explain(history, HistorySettings(), name) for name in (inner, merge)}

    assert said[merge].endswith("It merges 1 commit.")
    assert said[inner] == f"{inner[:10]} is not a candidate: it is part of a merge that is a candidate ({merge[:10]})."


def test_a_commit_is_explained_in_one_paragraph(repository: MinedRepository) -> None:
    fix = repository.change("Add two", FIX)
    docs = repository.change("Explain", {"README.md": "words"})

    with open_history(repository.folder) as history:
        said = [explain(history, HistorySettings(), name) for name in (fix, docs[:8], "f" * 40)]

    assert said[0].startswith(f"{fix[:10]} is a candidate: it changes src/code.py (1 line of source)")
    assert said[1] == f"{docs[:10]} is not a candidate: it changes no source file (README.md)."
    assert said[2] == f"{'f' * 40} is not in the history of {docs[:10]}."


def test_a_merge_that_says_nothing_takes_the_messages_of_its_commits(repository: MinedRepository) -> None:
    repository.branch("two")
    repository.change("Add two\n\nIt was missing.", {"src/code.py": FIX["src/code.py"]})
    repository.change("Update src/code.py", {"src/code.py": "one = 1\ntwo = 1 + 1\n"})
    repository.change("[pre-commit.ci] auto fixes", {"src/code.py": FIX["src/code.py"]})
    repository.change("Test two", {"tests/test_code.py": FIX["tests/test_code.py"]})
    repository.merge("two", "Merge branch 'two'")

    (found,) = repository.scan().candidates

    assert (found.kind, len(found.commits)) == (CandidateKind.MERGE, 5)
    assert found.message == "Add two\n\nIt was missing."


@pytest.mark.parametrize(
    ("title", "message"),
    [
        ("Add two", "Add two\n\nIt was missing."),
        ("Count on", "Count on\n\nAdd two\n\nIt was missing."),
        ("Count on\n\nOne is not enough.", "Count on\n\nOne is not enough."),
    ],
    ids=["the title of its commit", "another title", "a description"],
)
def test_a_merge_with_only_a_title_adds_what_its_commits_say(
    repository: MinedRepository, title: str, message: str
) -> None:
    repository.branch("two")
    repository.change("Add two\n\nIt was missing.", FIX)
    repository.merge("two", f"Merge pull request #3 from someone/two\n\n{title}")

    assert [each.message for each in repository.scan().candidates] == [message]


def test_a_merge_of_a_whole_line_of_work_leaves_its_commits_to_themselves(repository: MinedRepository) -> None:
    repository.branch("develop")
    inner = [
        repository.change(f"Add {i}", {"src/code.py": f"a = {i}\n", "tests/test_code.py": f"b({i})\n"})
        for i in range(16)
    ]
    merge = repository.merge("develop", "Merge everything\n\nfrom the other line")

    scan = repository.scan()

    assert candidates(scan) == set(inner)
    assert reasons(scan)[merge] is RejectionReason.TOO_LARGE


@pytest.mark.parametrize(
    ("branch", "message", "reason"),
    [
        ("release/2.0", "Merge branch 'release/2.0'", RejectionReason.RELEASE),
        ("develop", "Merge branch 'develop'", RejectionReason.BACK_MERGE),
    ],
)
def test_a_release_or_a_merge_of_a_main_line_is_none_but_its_commits_are(
    repository: MinedRepository, branch: str, message: str, reason: RejectionReason
) -> None:
    repository.branch(branch)
    inner = repository.change("Add two", FIX)
    merge = repository.merge(branch, message)

    scan = repository.scan()

    assert candidates(scan) == {inner}
    assert reasons(scan)[merge] is reason


def test_a_merge_from_a_branch_that_reverts_is_none_with_all_its_commits(repository: MinedRepository) -> None:
    fix = repository.change("Add two", FIX)
    repository.branch("revert-1-two")
    inner = repository.change("Think again", {"src/code.py": "one = 1\n", "tests/test_code.py": "def test_x(): ...\n"})
    merge = repository.merge("revert-1-two", "Merge pull request #2 from someone/revert-1-two")

    scan = repository.scan()

    assert candidates(scan) == {fix}
    assert reasons(scan)[inner] is reasons(scan)[merge] is RejectionReason.REVERT


def test_the_main_line_that_was_merged_into_a_branch_is_not_the_branch_s_work(repository: MinedRepository) -> None:
    repository.branch("two")
    work = repository.change("Add two", FIX)
    repository.git("switch", "--quiet", "main")
    main = repository.change("Add other", {"src/other.py": "a = 1\n", "tests/test_other.py": "def test_a(): ...\n"})
    back = repository.merge("main", "Merge branch 'main' into two", into="two")
    merge = repository.merge("two", "Merge pull request #3 from someone/two\n\nCount to two")

    scan = repository.scan()

    assert {each.fix: each.commits for each in scan.candidates} == {main: (main,), merge: (work, back, merge)}
    assert {each.fix: each.source_files for each in scan.candidates}[merge] == ("src/code.py",)


def test_a_renamed_test_is_new_at_one_path_and_deleted_at_the_other(repository: MinedRepository) -> None:
    long = "".join(f"def test_{i}(): ...\n" for i in range(20))
    repository.change("Start", {"tests/test_code.py": long, "src/gone.py": "a = 1\n"})
    moved = {"tests/test_code.py": None, "tests/test_numbers.py": long + "def test_two(): ...\n"}
    repository.change("Add two", {**moved, "src/code.py": FIX["src/code.py"], "src/gone.py": None})

    found = repository.scan().candidates[0]

    assert (found.test_files, found.deleted_tests) == (("tests/test_numbers.py",), ("tests/test_code.py",))
    assert found.source_files == ("src/code.py", "src/gone.py")
