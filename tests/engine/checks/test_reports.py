from xml.etree import ElementTree

import msgspec
import pytest

from outweigh.engine.checks.test_reports.read_report import REPORT_LIMIT, read_report
from outweigh.engine.checks.test_reports.reported_test import (
    CASE_NAME_LIMIT,
    CaseCounts,
    UnreadableReportError,
    count_cases,
)


def read_test_report(content: bytes) -> CaseCounts:
    return count_cases(read_report(content))


def junit(cases: str) -> bytes:
    return f'<?xml version="1.0"?><testsuites><testsuite name="s">{cases}</testsuite></testsuites>'.encode()


def ctrf(*statuses: str, **summary: int) -> bytes:
    tests = [{"name": f"case {number}", "status": status, "duration": 1} for number, status in enumerate(statuses)]
    return msgspec.json.encode({"reportFormat": "CTRF", "results": {"summary": summary, "tests": tests}})


def test_junit_cases_pass_unless_a_failure_or_error_stands_in_them() -> None:
    report = junit(
        '<testcase name="a"/><testcase name="b"><failure>no</failure></testcase>'
        '<testcase name="c"><error/></testcase><testcase name="d"><system-out>failure</system-out></testcase>'
    )

    assert read_test_report(report) == CaseCounts(passed=2, total=4, skipped=0)


def test_skipped_cases_are_in_neither_count() -> None:
    assert read_test_report(junit("<testcase/><testcase><skipped/></testcase>")) == CaseCounts(
        passed=1, total=1, skipped=1
    )
    assert read_test_report(ctrf("passed", "skipped", "pending")) == CaseCounts(passed=1, total=1, skipped=2)


def test_a_single_suite_may_be_the_root_and_suites_may_be_nested() -> None:
    report = b"<testsuite><testsuite><testcase/></testsuite><testcase/></testsuite>"

    assert read_test_report(report) == CaseCounts(passed=2, total=2, skipped=0)


def test_a_case_that_is_skipped_and_broken_has_failed() -> None:
    assert read_test_report(junit("<testcase><skipped/><error/></testcase>")) == CaseCounts(
        passed=0, total=1, skipped=0
    )


def test_ctrf_cases_are_counted_whatever_the_summary_says() -> None:
    report = ctrf("passed", "failed", "other", tests=3, passed=3, failed=0)

    assert read_test_report(report) == CaseCounts(passed=1, total=3, skipped=0)


def test_a_byte_order_mark_is_no_obstacle() -> None:
    assert read_test_report(b"\xef\xbb\xbf" + junit("<testcase/>")).total == 1
    assert read_test_report(b"\xef\xbb\xbf" + ctrf("passed")).total == 1


def test_the_names_are_those_of_the_cases_that_ran() -> None:
    failed, skipped = '<testcase name="b"><failure/></testcase>', '<testcase name="c"><skipped/></testcase>'
    cases = f'<testcase classname="m.C" name="a"/>{failed}{skipped}'
    tests = [
        {"name": "a", "suite": ["m", "C"], "status": "passed"},
        {"name": "b", "suite": "m", "status": "failed"},
        {"name": 3, "status": "pending"},
        {"status": "other"},
    ]
    report = msgspec.json.encode({"results": {"tests": tests}})

    assert read_test_report(junit(cases)).names == ("m.C::a", "b")
    assert read_test_report(report).names == ("m::C::a", "m::b", "")


def test_names_are_bounded_and_printable() -> None:
    (name,) = read_test_report(junit(f'<testcase name="a&#10;&#x202e;{"x" * 1000}"/>')).names

    assert name == f"a??{'x' * (CASE_NAME_LIMIT - 3)}"


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>'
FOREIGN = '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><testsuite>&f;</testsuite>'


@pytest.mark.parametrize("text", [BOMB, FOREIGN])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_document_types_are_refused_in_every_encoding(text: str, encoding: str) -> None:
    with pytest.raises(UnreadableReportError, match="document type"):
        read_test_report(text.encode(encoding))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"ok",
        b"<html/>",
        b"<testsuite><testcase>",
        b"<testsuite><testcase><testcase/></testcase></testsuite>",
        b"{}",
        b'{"results": {"tests": 3}}',
        b'{"results": {"tests": [{"status": 1}]}}',
        b'{"a": ' + b"[" * 100_000,
        b"\x00\xff\xfe garbage",
    ],
)
def test_garbage_is_an_unreadable_report_and_no_other_exception(content: bytes) -> None:
    with pytest.raises(UnreadableReportError):
        read_test_report(content)


def test_a_report_without_end_is_not_read() -> None:
    with pytest.raises(UnreadableReportError, match="larger"):
        read_test_report(b" " * (REPORT_LIMIT + 1))


def test_a_deeply_nested_report_is_read_in_constant_depth() -> None:
    depth = 50_000

    assert read_test_report(b"<testsuite>" * depth + b"<testcase/>" + b"</testsuite>" * depth).total == 1


def test_counts_agree_with_an_independent_reading() -> None:
    report = junit("<testcase/>" * 7 + "<testcase><failure/></testcase>" * 3 + "<testcase><skipped/></testcase>" * 2)
    cases = ElementTree.fromstring(report).findall(".//testcase")
    failed = sum(case.find("failure") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)

    assert read_test_report(report) == CaseCounts(
        passed=len(cases) - failed - skipped, total=len(cases) - skipped, skipped=skipped
    )
