"""The table of attacks counts what the tests found."""

from benchmarks.attacks import ATTACKS, ROOT, count_outcomes


def test_a_failure_and_a_test_that_breaks_off_are_attacks_that_worked() -> None:
    report = """<testsuites><testsuite>
        <testcase name="a"/><testcase name="b"><failure/></testcase><testcase name="c"><error/></testcase>
        <testcase name="d"><skipped/></testcase><testcase name="e"><properties/></testcase>
    </testsuite></testsuites>"""

    assert count_outcomes(report) == {"held": 2, "worked": 2, "not tried": 1}


def test_every_file_of_attacks_exists_and_is_named_once() -> None:
    files = [name for names in ATTACKS.values() for name in names]

    assert [name for name in files if not (ROOT / name).is_file()] == []
    assert len(files) == len(set(files))
