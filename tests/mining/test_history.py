"""Changes of source and tests are candidates; of every other commit the scan says why it is none."""

from pathlib import Path

import pytest
from tests.mining.mined_repository import DAY, MinedRepository, candidates, reasons

from outweigh.mining.candidate import CandidateKind, RejectionReason

FIX = {"src/code.py": "one = 1\ntwo = 2\n", "tests/test_code.py": "def test_one(): ...\ndef test_two(): ...\n"}


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
    source = repository.change("Add two", {"src/code.py": FIX["src/code.py"]})
    fix = repository.change("Test two", {"tests/test_code.py": FIX["tests/test_code.py"]}, seconds=DAY // 24)

    scan = repository.scan()

    assert [(each.base, each.fix, each.commits, each.kind) for each in scan.candidates] == [
        (base, fix, (source, fix), CandidateKind.RANGE)
    ]
    assert reasons(scan)[source] is RejectionReason.INSIDE_RANGE


def test_tests_of_another_author_or_another_week_are_not_joined(repository: MinedRepository) -> None:
    repository.change("Add two", {"src/code.py": FIX["src/code.py"]})
    repository.change("Test two", {"tests/test_code.py": FIX["tests/test_code.py"]}, author="b", seconds=60)
    repository.change("Add three", {"src/code.py": "three = 3\n"}, author="b", seconds=2 * DAY)

    assert candidates(repository.scan()) == set()
