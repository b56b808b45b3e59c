"""Checks that name the tests that must pass, in reports of one file or of a folder."""

from pathlib import Path

import pytest
from tests.engine.checks.test_checks import Scene, write

from outweigh.engine.checks.test_reports import read_report
from outweigh.model.run_record import CheckResult
from outweigh.model.task import CommandCheck, ReportFormat, TestSuiteCheck

REPORT = "$OUTWEIGH_REPORTS/report.tap"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def tap_check(names: list[str], *lines: str, exit_code: int = 0) -> TestSuiteCheck:
    printed = " ".join(f"'{line}'" for line in lines)
    return TestSuiteCheck(
        name="tests",
        run=f'printf "%s\\n" {printed} > "{REPORT}"; exit {exit_code}',
        report=REPORT,
        report_format=ReportFormat.TAP,
        must_pass=names,
    )


def share(result: CheckResult) -> tuple[bool | None, int | None, int | None]:
    return result.passed, result.cases_passed, result.cases_total


def test_a_check_passes_by_its_named_tests_whatever_others_and_the_exit_code_say(scene: Scene) -> None:
    check = tap_check(["a", "b"], "ok 1 - a", "ok 2 - b", "not ok 3 - c", exit_code=1)

    assert share(scene.check(check)) == (True, 2, 2)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("not ok 2 - b", "failed: 'b'"),
        ("ok 2 - b # SKIP", "skipped: 'b'"),
        ("ok 2 - c", "not reported: 'b'"),
    ],
)
def test_a_named_test_that_is_not_reported_as_passed_fails_the_check(scene: Scene, line: str, said: str) -> None:
    result = scene.check(tap_check(["a", "b"], "ok 1 - a", line))

    assert share(result) == (False, 1, 2)
    assert result.detail == f"1 of 2 tests that must pass passed; {said}"


def test_a_named_test_that_passes_once_and_fails_once_has_failed(scene: Scene) -> None:
    assert share(scene.check(tap_check(["a"], "ok 1 - a", "not ok 2 - a"))) == (False, 0, 1)


def test_a_name_that_is_listed_twice_counts_once(scene: Scene) -> None:
    assert share(scene.check(tap_check(["a", "a", "b"], "ok 1 - a", "not ok 2 - b"))) == (False, 1, 2)


def test_without_a_report_no_named_test_has_passed(scene: Scene) -> None:
    silent = TestSuiteCheck(name="t", run="true", report=REPORT, report_format=ReportFormat.TAP, must_pass=["a", "b"])
    unreadable = tap_check(["a"], "nothing")

    assert share(scene.check(silent)) == (False, 0, 2)
    assert scene.check(silent).detail == "exit code 0, but no report at 'report.tap'"
    assert share(scene.check(unreadable)) == (False, 0, 1)


def test_names_of_a_solved_run_are_not_expected_besides_those_that_must_pass(scene: Scene) -> None:
    check = tap_check(["a"], "ok 1 - a")

    evaluation = scene.evaluate(check, expected=["other"])

    assert evaluation.results[0].passed is True
    assert evaluation.case_names == {}


def test_a_named_test_is_found_by_the_part_of_its_name_that_reports_keep(scene: Scene) -> None:
    assert scene.check(tap_check(["x" * 400], f"ok 1 - {'x' * 400}")).passed is True


def test_the_list_is_not_in_the_sandbox(scene: Scene) -> None:
    write(scene.tests / "lists/must_pass.json", '["a"]')
    write(scene.tests / "lists/kept.txt", "")
    check = TestSuiteCheck(
        name="t",
        run=f'ls "$OUTWEIGH_TESTS/lists" > seen; echo "ok 1 - a" > "{REPORT}"',
        report=REPORT,
        report_format=ReportFormat.TAP,
        must_pass=["a"],
        must_pass_file="lists/must_pass.json",
    )
    other = CommandCheck(name="c", run='! test -e "$OUTWEIGH_TESTS/lists/must_pass.json"')

    results = scene.evaluate(check, other).results

    assert [result.passed for result in results] == [True, True]
    assert (scene.workspace / "seen").read_text() == "kept.txt\n"


# Reports in a folder


def folder_check(script: str, names: list[str] | None = None) -> TestSuiteCheck:
    run = f"mkdir -p out/deep.er; {script}"
    return TestSuiteCheck(name="t", run=run, report="out", must_pass=names or [])


def put(path: str, case: str) -> str:
    return f"echo '<testsuite>{case}</testsuite>' > {path};"


def test_a_report_may_be_a_folder_of_reports(scene: Scene) -> None:
    one, two = put("out/a.xml", '<testcase name="a"/>'), put("out/deep.er/b.xml", '<testcase name="b"/>')

    assert share(scene.check(folder_check(f"{one} {two} echo log > out/log.txt"))) == (True, 2, 2)
    assert share(scene.check(folder_check(one, ["a", "b"]))) == (False, 1, 2)


def test_every_report_of_a_folder_must_be_readable(scene: Scene) -> None:
    result = scene.check(folder_check(f"""{put("out/a.xml", '<testcase name="a"/>')} echo no > out/b.xml"""))

    assert result.passed is False
    assert "not XML" in (result.detail or "")


def test_a_folder_without_reports_is_no_report(scene: Scene) -> None:
    assert scene.check(folder_check("true", ["a"])).passed is False
    assert scene.check(folder_check("echo log > out/log.txt", ["a"])).detail == "exit code 0, but no report at 'out'"


def test_links_in_a_folder_of_reports_are_not_followed(scene: Scene, tmp_path: Path) -> None:
    write(tmp_path / "outside/a.xml", '<testsuite><testcase name="a"/></testsuite>')
    linked_folder = f"ln -s {tmp_path}/outside out/more; {put('out/b.xml', '')}"
    linked_file = f"ln -s {tmp_path}/outside/a.xml out/a.xml"

    assert scene.check(folder_check(linked_folder, ["a"])).passed is False
    assert scene.check(folder_check(linked_file, ["a"])).passed is False


def test_reports_of_a_folder_are_bounded_together(scene: Scene) -> None:
    half = read_report.REPORT_LIMIT // 2 + 100
    fill = f"head -c {half} /dev/zero | tr '\\0' ' ' > out/$name.xml; echo '<testsuite/>' >> out/$name.xml"

    result = scene.check(folder_check(f"for name in a b; do {fill}; done", ["a"]))

    assert result.passed is False
    assert "larger than" in (result.detail or "")
