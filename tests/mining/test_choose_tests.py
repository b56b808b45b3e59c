"""Of the tests that ran before and after a change, those count that tell whether it was made."""

from collections.abc import Mapping

import pytest
from tests.mining.small_history import PytestRunner

from outweigh.mining.choose_tests import ChangedTestFile, ChosenTests, TestEvidence, choose_tests, needs_own_tests
from outweigh.mining.fix_text import FixText
from outweigh.mining.proof_fault import ProofFault, UnprovenError
from outweigh.mining.red_reason import missing_names
from outweigh.mining.test_results import TestOutcome, TestResults

PASSED, FAILED, ERROR, SKIPPED = TestOutcome.PASSED, TestOutcome.FAILED, TestOutcome.ERROR, TestOutcome.SKIPPED
OLD = "tests.test_a::test_old"
NEW = "tests.test_a::test_new"
OTHER = "tests.test_b::test_other"
FILES = {
    "tests/test_a.py": ChangedTestFile(
        before=b"def test_old():\n    pass\n", after=b"def test_old():\n    pass\n\ndef test_new():\n    pass\n"
    )
}
Outcomes = Mapping[str, TestOutcome] | None


def results(outcomes: Outcomes, exit_code: int | None = 1, output: str = "") -> TestResults:
    return TestResults(outcomes=outcomes, exit_code=exit_code, seconds=1.0, output=output)


def fix_text(*names: str, words: str = "", added_paths: tuple[str, ...] = ()) -> FixText:
    return FixText(runs=((words,),), test_runs=(), names=frozenset(names), defined=frozenset(), added_paths=added_paths)


def chosen(
    green: Outcomes,
    red: Outcomes,
    own: Outcomes,
    output: str = "",
    fix: FixText | None = None,
    files: Mapping[str, ChangedTestFile] = FILES,
) -> ChosenTests:
    evidence = TestEvidence(
        green=results(green), red=results(red, output=output), own=results(own), files=files, fix=fix or fix_text()
    )
    return choose_tests(evidence, PytestRunner())


def fault_of(green: Outcomes, red: Outcomes, own: Outcomes, output: str = "", fix: FixText | None = None) -> ProofFault:
    with pytest.raises(UnprovenError) as raised:
        chosen(green, red, own, output, fix)
    return raised.value.fault


def test_changed_tests_that_fail_at_the_base_must_pass_and_others_must_stay_green() -> None:
    tests = chosen({OLD: PASSED, NEW: PASSED, OTHER: PASSED}, {OLD: PASSED, NEW: FAILED}, {OLD: PASSED, OTHER: PASSED})

    assert (tests.fail_to_pass, tests.pass_to_pass) == ((NEW,), (OLD, OTHER))
    assert tests.passed_at_base == 1


def test_what_passes_only_after_the_change_need_not_have_passed_before_to_count_as_green_but_is_no_pass_to_pass() -> (
    None
):
    tests = chosen({OLD: PASSED, NEW: PASSED}, {OLD: FAILED, NEW: FAILED}, {OLD: FAILED})

    assert (tests.fail_to_pass, tests.pass_to_pass) == ((NEW,), ())


def test_an_unchanged_test_counts_where_a_changed_fixture_makes_it_fail_at_the_base() -> None:
    tests = chosen({OLD: PASSED, OTHER: PASSED}, {OLD: PASSED, OTHER: FAILED}, {OLD: PASSED, OTHER: PASSED})

    assert tests.fail_to_pass == (OTHER,)


def test_an_unchanged_test_does_not_count_where_its_file_could_not_be_collected() -> None:
    tests = chosen(
        {OLD: PASSED, NEW: PASSED},
        {"tests.test_a": ERROR},
        {OLD: PASSED},
        "ImportError: cannot import name 'new_thing' from 'work'",
        fix_text("new_thing"),
    )

    assert (tests.fail_to_pass, tests.pass_to_pass, tests.missing_names) == ((NEW,), (OLD,), ("new_thing",))
    assert tests.passed_at_base == 0


def test_a_file_that_cannot_be_collected_for_another_reason_is_red_for_the_wrong_reason() -> None:
    output = "ImportError: cannot import name 'other_thing' from 'elsewhere'"

    fault = fault_of({OLD: PASSED, NEW: PASSED}, {"tests.test_a": ERROR}, {OLD: PASSED}, output, fix_text("new_thing"))

    assert fault is ProofFault.WRONG_RED


@pytest.mark.parametrize(
    ("red", "expected"),
    [
        pytest.param({OLD: PASSED, NEW: FAILED, OTHER: PASSED}, False, id="only changed tests fail, and all of them"),
        pytest.param({OLD: PASSED, NEW: FAILED, OTHER: FAILED}, True, id="an unchanged test fails"),
        pytest.param({OLD: PASSED, NEW: PASSED, OTHER: PASSED}, True, id="a changed test passes"),
        pytest.param({OLD: PASSED, NEW: FAILED}, True, id="a test is not run"),
        pytest.param({OLD: PASSED, NEW: FAILED, OTHER: SKIPPED}, True, id="a test is skipped"),
        pytest.param(None, True, id="no report"),
    ],
)
def test_the_tests_of_the_base_are_run_where_the_hidden_ones_leave_a_question(red: Outcomes, expected: bool) -> None:
    green = results({OLD: PASSED, NEW: PASSED, OTHER: PASSED})
    evidence = TestEvidence(green=green, red=results(red), own=results(red), files=FILES, fix=fix_text())

    assert needs_own_tests(evidence, PytestRunner()) is expected


@pytest.mark.parametrize(("red", "is_right"), [({}, True), ({"tests.test_a": ERROR}, False)])
def test_code_that_ends_the_runner_is_red_for_the_right_reason(red: Outcomes, is_right: bool) -> None:
    output = "process.exit called with 1\n    at Command.error (lib/command.js:19:10)"
    evidence = TestEvidence(
        green=results({NEW: PASSED}),
        red=results(red, output=output),
        own=results({}),
        files=FILES,
        fix=fix_text(),
        sources=("lib/command.js",),
    )

    if is_right:
        assert choose_tests(evidence, PytestRunner()).fail_to_pass == (NEW,)
        return
    with pytest.raises(UnprovenError):
        choose_tests(evidence, PytestRunner())


def test_tests_of_an_uncollected_file_are_left_out_where_others_fail_for_the_right_reason() -> None:
    failing = "tests.test_b::test_broken"
    files = {**FILES, "tests/test_b.py": ChangedTestFile(before=None, after=b"def test_broken():\n    pass\n")}

    tests = chosen({NEW: PASSED, failing: PASSED}, {"tests.test_a": ERROR, failing: FAILED}, {}, files=files)

    assert tests.fail_to_pass == (failing,)


def test_an_error_around_a_test_is_a_failure_of_that_test() -> None:
    assert chosen({NEW: PASSED}, {NEW: ERROR}, {}).fail_to_pass == (NEW,)


def test_a_case_that_only_the_change_makes_counts_where_the_rest_of_its_file_ran() -> None:
    assert chosen({OLD: PASSED, NEW: PASSED}, {OLD: PASSED}, {OLD: PASSED}).fail_to_pass == (NEW,)


def test_tests_that_pass_without_the_change_do_not_tell() -> None:
    assert fault_of({OLD: PASSED, NEW: PASSED}, {OLD: PASSED, NEW: PASSED}, {OLD: PASSED}) is ProofFault.BASE_NOT_RED


@pytest.mark.parametrize("outcome", [FAILED, SKIPPED, ERROR])
def test_changed_tests_must_pass_after_the_change(outcome: TestOutcome) -> None:
    assert fault_of({OLD: PASSED, NEW: outcome}, {OLD: PASSED, NEW: FAILED}, {}) is ProofFault.FIX_NOT_GREEN


def test_changed_tests_that_no_report_names_are_not_called_failing() -> None:
    assert fault_of({OLD: PASSED}, {OLD: PASSED}, {OLD: PASSED}) is ProofFault.TESTS_NOT_RUN


def test_a_run_that_reports_no_test_at_all_does_not_pass() -> None:
    assert fault_of({}, {OLD: PASSED}, {OLD: PASSED}) is ProofFault.FIX_NOT_GREEN


@pytest.mark.parametrize(
    ("output", "fault"),
    [
        ("urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>", "NEEDS_NETWORK"),
        ("Error: getaddrinfo EAI_AGAIN registry.npmjs.org", "NEEDS_NETWORK"),
        ("dial tcp: lookup proxy.golang.org: dial udp 10.0.0.1:53: connect: network is unreachable", "NEEDS_NETWORK"),
        ("ConnectionRefusedError: [Errno 111] Connection refused", "FIX_NOT_GREEN"),
        ("AssertionError: the host is unreachable", "FIX_NOT_GREEN"),
    ],
)
@pytest.mark.parametrize("reported", [{OLD: PASSED, NEW: FAILED}, {}, None])
def test_tests_that_fail_after_the_change_without_a_network_are_said_to_need_one(
    reported: Outcomes | None, output: str, fault: str
) -> None:
    green = TestResults(outcomes=reported, exit_code=1, seconds=1.0, output=output)
    evidence = TestEvidence(green=green, red=green, own=green, files=FILES, fix=fix_text())

    with pytest.raises(UnprovenError) as raised:
        choose_tests(evidence, PytestRunner())

    assert raised.value.fault is ProofFault[fault]


def test_the_sample_of_what_must_stay_green_is_bounded_and_always_the_same() -> None:
    many = {f"tests.test_b::test_{number}": PASSED for number in range(400)}

    first = chosen({NEW: PASSED, **many}, {NEW: FAILED, **many}, many).pass_to_pass
    again = chosen({NEW: PASSED, **dict(reversed(many.items()))}, {NEW: FAILED, **many}, many).pass_to_pass

    assert len(first) == 50
    assert first == again


@pytest.mark.parametrize(
    ("green", "red", "own", "fault"),
    [
        (0, 1, 0, None),
        (1, 1, 0, ProofFault.FIX_NOT_GREEN),
        (0, 0, 0, ProofFault.BASE_NOT_RED),
        (0, 1, 1, ProofFault.WRONG_RED),
        (0, 1, None, ProofFault.WRONG_RED),
    ],
)
def test_without_a_report_the_exit_codes_tell(green: int, red: int, own: int | None, fault: ProofFault | None) -> None:
    evidence = TestEvidence(
        green=results(None, green), red=results(None, red), own=results(None, own), files=FILES, fix=fix_text()
    )
    if fault is None:
        assert choose_tests(evidence, PytestRunner()).fail_to_pass == ()
        return
    with pytest.raises(UnprovenError) as raised:
        choose_tests(evidence, PytestRunner())
    assert raised.value.fault is fault


@pytest.mark.parametrize(
    "output",
    [
        "E   ImportError: cannot import name 'retry' from 'work' (/ws/work.py)",
        "E   AttributeError: module 'work' has no attribute 'retry'",
        "SyntaxError: The requested module './work.js' does not provide an export named 'retry'",
        "TypeError: retry is not a function",
        "./work_test.go:7:9: undefined: work.retry",
        "./work_test.go:7:9: c.retry undefined (type Client has no field or method retry)",
        "error[E0425]: cannot find function `retry` in this scope",
        "error[E0599]: no method named `retry` found for struct `Client` in the current scope",
        "error: cannot find symbol\n  symbol:   method retry(int)\n  location: class Client",
        "error CS1061: 'Client' does not contain a definition for 'retry' and no accessible method",
        "NoMethodError: undefined method `retry' for #<Client>",
        "Error: Call to undefined method Client::retry()",
        "error: 'retry' was not declared in this scope",
    ],
)
def test_the_output_says_which_names_are_missing(output: str) -> None:
    assert missing_names(output, fix_text(words="def retry(n):")) == ("retry",)
    assert missing_names(output, fix_text(words="def other(n):")) == ()


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("ModuleNotFoundError: No module named 'work.clients'", "work.clients"),
        ("Error: Cannot find module '../lib/clients.js'", "../lib/clients.js"),
        ("fatal error: clients.h: No such file or directory", "clients.h"),
    ],
)
def test_a_module_that_the_change_adds_is_a_missing_name(output: str, expected: str) -> None:
    added = ("src/work/clients.py", "lib/clients.js", "include/clients.h")

    assert missing_names(output, fix_text(added_paths=added)) == (expected,)
    assert missing_names(output, fix_text(added_paths=("src/elsewhere.py",))) == ()


def test_a_new_name_counts_in_a_line_about_an_error_and_not_in_other_output() -> None:
    fix = fix_text("new_option")

    assert missing_names("TypeError: got an unknown argument new_option", fix) == ("new_option",)
    assert missing_names("    run(new_option=1)\nOSError: disk full", fix) == ()


def test_a_new_case_among_the_test_data_must_pass() -> None:
    new_case = "tests.test_b::test_other[new.conf]"
    tests = chosen({OTHER: PASSED, new_case: PASSED}, {OTHER: PASSED, new_case: FAILED}, {OTHER: PASSED})

    assert tests.fail_to_pass == (new_case,)


def test_a_go_package_that_the_change_adds_is_missing_at_the_base() -> None:
    output = "# example.com/kit/set_test\nset/set_test.go:7:2: no non-test Go files in /ws/set\nFAIL"

    assert missing_names(output, fix_text(added_paths=("set/set.go",))) == ("set",)
    assert missing_names(output, fix_text(added_paths=("bag/bag.go",))) == ()
