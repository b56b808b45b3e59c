"""Tests that must stay green are about the code that was changed, not those that happen to come first."""

from datetime import UTC, datetime

from outweigh.mining.candidate import Candidate, CandidateKind
from outweigh.mining.related_tests import related_tests


def candidate(*sources: str, tests: tuple[str, ...] = ("tests/engine/test_new.py",)) -> Candidate:
    return Candidate(
        base="1" * 40,
        fix="2" * 40,
        commits=("2" * 40,),
        kind=CandidateKind.COMMIT,
        date=datetime(2026, 1, 2, tzinfo=UTC),
        message="Fix it",
        source_files=sources,
        test_files=tests,
        source_lines=1,
    )


def test_the_nearest_come_first_and_others_not_at_all() -> None:
    contents = {
        "tests/agents/test_first.py": b"import agents\n",
        "tests/cli/test_run.py": b"from outweigh.engine.batch import Batch\n",
        "tests/engine/test_batch_limits.py": b"",
        "tests/engine/test_disk.py": b"",
    }

    assert related_tests(contents, candidate("src/outweigh/engine/batch.py")) == [
        "tests/engine/test_batch_limits.py",
        "tests/cli/test_run.py",
        "tests/engine/test_disk.py",
    ]


def test_tests_beside_the_source_are_related_as_in_go() -> None:
    contents = {"store/rows_test.go": b"package store\n", "web/page_test.go": b"package web\n"}

    assert related_tests(contents, candidate("store/keys.go", tests=("store/keys_test.go",))) == ["store/rows_test.go"]


def test_a_name_that_says_nothing_is_not_looked_for_in_texts() -> None:
    contents = {"spec/page.js": b"the main index of io\n"}

    assert related_tests(contents, candidate("lib/index.js", "lib/io.js", "lib/main.js", tests=("t/a.js",))) == []
