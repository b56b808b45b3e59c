"""Families are the sub-systems that candidates change."""

from collections import Counter
from datetime import UTC, datetime

from outweigh.mining.candidate import Candidate, CandidateKind
from outweigh.mining.family import families


def candidate(name: str, *source: str, test: str = "tests/test_all.py") -> Candidate:
    return Candidate(
        base="0",
        fix=name,
        commits=(name,),
        kind=CandidateKind.COMMIT,
        date=datetime(2026, 1, 1, tzinfo=UTC),
        message="",
        source_files=source,
        test_files=(test,),
        source_lines=1,
    )


def test_each_folder_of_a_package_is_a_family() -> None:
    history = [
        candidate(f"{part}{i}", f"src/tool/{part}/m{i}.py") for part in ("read", "write", "show") for i in range(4)
    ]

    found = families(history)

    assert found["read0"] == "read"
    assert Counter(found.values()) == {"read": 4, "write": 4, "show": 4}


def test_a_large_folder_is_split_and_what_is_left_over_is_one_family() -> None:
    large = [candidate(f"{part}{i}", f"src/tool/core/{part}/m.py") for part in ("parse", "print") for i in range(9)]
    rest = [candidate("one", "src/tool/core/one.py"), candidate("two", "src/tool/core/two.py")]
    other = [candidate(f"o{i}", f"src/tool/other/o{i}.py") for i in range(3)]

    found = families([*large, *rest, *other])

    assert Counter(found.values()) == {"core/parse": 9, "core/print": 9, "core": 2, "other": 3}


def test_of_one_large_file_the_names_of_tests_tell() -> None:
    history = [
        candidate(f"{part}{i}", "lib/command.js", test=f"tests/{part}.kind{i}.test.js")
        for part in ("options", "help", "args")
        for i in range(4)
    ]

    assert Counter(families(history).values()) == {"options": 4, "help": 4, "args": 4}


def test_a_file_that_is_most_of_the_history_is_no_family() -> None:
    history = [candidate(f"a{i}", "table.py", test="test_table.py") for i in range(20)]
    others = [candidate(f"b{i}", "colour.py", test="test_colour.py") for i in range(3)]

    found = families([*history, *others])

    assert {found[each.fix] for each in history} == {None}
    assert {found[each.fix] for each in others} == {"colour"}


def test_no_order_of_candidates_changes_their_families() -> None:
    history = [candidate(f"{i}", f"src/tool/p{i % 3}/m{i % 7}.py", f"src/tool/p{i % 5}/x.py") for i in range(40)]

    assert families(history) == families(history[::-1])
    assert families([]) == {}
