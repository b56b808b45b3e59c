"""Reads JSON reports: CTRF, jest and vitest, mocha, RSpec. Their own summaries are not used."""

from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from outweigh.engine.checks.test_reports.reported_test import (
    ReportedTest,
    TestOutcome,
    UnreadableReportError,
    case_name,
    relative_path,
)

_T = TypeVar("_T")

_OUTCOMES = {
    "passed": TestOutcome.PASSED,
    "skipped": TestOutcome.SKIPPED,
    "pending": TestOutcome.SKIPPED,
    "todo": TestOutcome.SKIPPED,
    "disabled": TestOutcome.SKIPPED,
}
_CTRF_NOT_RUN = frozenset({"skipped", "pending"})


def _decode(content: bytes, kind: type[_T], name: str) -> _T:
    try:
        return msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise UnreadableReportError(f"the report is not {name}: {fault}") from None


class _CtrfTest(msgspec.Struct):
    status: str
    name: Any = None
    suite: Any = None


class _CtrfResults(msgspec.Struct):
    tests: list[_CtrfTest]


class _Ctrf(msgspec.Struct):
    results: _CtrfResults


def read_ctrf(content: bytes, _workspace: str) -> list[ReportedTest]:
    """The tests of a CTRF report, with their suites before their names."""
    report = _decode(content, _Ctrf, "CTRF")
    return [
        ReportedTest(case_name(_ctrf_text(test.suite), _ctrf_text(test.name)), _ctrf_outcome(test.status))
        for test in report.results.tests
    ]


def _ctrf_outcome(status: str) -> TestOutcome:
    if status in _CTRF_NOT_RUN:
        return TestOutcome.SKIPPED
    return TestOutcome.PASSED if status == "passed" else TestOutcome.FAILED


def _ctrf_text(value: Any) -> str | None:
    """A name; a suite may be a list of them, from the outermost to the innermost."""
    return None if value is None else "::".join(map(str, value)) if isinstance(value, list) else str(value)


class _JestTest(msgspec.Struct):
    title: str
    status: str | None = None
    ancestorTitles: list[str] = []  # noqa: N815 - jest's own name


class _JestFile(msgspec.Struct):
    name: str
    status: str | None = None
    assertionResults: list[_JestTest] = []  # noqa: N815 - jest's own name


class _Jest(msgspec.Struct):
    testResults: list[_JestFile]  # noqa: N815 - jest's own name


def read_jest(content: bytes, workspace: str) -> list[ReportedTest]:
    """The tests of a jest or vitest report: file, blocks and title. A file that cannot be run is an error."""
    report = _decode(content, _Jest, "a JSON report of jest or vitest")
    return [test for file in report.testResults for test in _jest_tests(file, workspace)]


def _jest_tests(file: _JestFile, workspace: str) -> Iterator[ReportedTest]:
    path = relative_path(file.name, workspace)
    for test in file.assertionResults:
        # vitest puts an empty title before those of the blocks.
        name = case_name(path, *test.ancestorTitles, test.title)
        yield ReportedTest(name, _OUTCOMES.get(test.status or "", TestOutcome.FAILED))
    if file.status == "failed" and not any(test.status == "failed" for test in file.assertionResults):
        yield ReportedTest(case_name(path), TestOutcome.ERROR)


class _MochaTest(msgspec.Struct):
    fullTitle: str  # noqa: N815 - mocha's own name
    file: str | None = None


class _Mocha(msgspec.Struct):
    passes: list[_MochaTest]
    failures: list[_MochaTest]
    pending: list[_MochaTest] = []


_MOCHA_START = b'{\n  "stats": {'


def read_mocha(content: bytes, workspace: str) -> list[ReportedTest]:
    """The tests of mocha's JSON report: file and full title. What tests printed before the report is ignored."""
    start = content.rfind(_MOCHA_START)
    report = _decode(content[max(start, 0) :], _Mocha, "a JSON report of mocha")
    groups = (
        (TestOutcome.PASSED, report.passes),
        (TestOutcome.FAILED, report.failures),
        (TestOutcome.SKIPPED, report.pending),
    )
    return [
        ReportedTest(case_name(relative_path(test.file, workspace), test.fullTitle), outcome)
        for outcome, tests in groups
        for test in tests
    ]


class _RspecExample(msgspec.Struct):
    full_description: str
    status: str
    file_path: str | None = None


class _RspecSummary(msgspec.Struct, frozen=True):
    errors_outside_of_examples_count: int = 0


class _Rspec(msgspec.Struct):
    examples: list[_RspecExample]
    summary: _RspecSummary = _RspecSummary()


def read_rspec(content: bytes, workspace: str) -> list[ReportedTest]:
    """The examples of an RSpec report: file and full description. Errors outside of examples are one more entry."""
    report = _decode(content, _Rspec, "a JSON report of RSpec")
    tests = [
        ReportedTest(
            case_name(relative_path(example.file_path, workspace), example.full_description),
            _OUTCOMES.get(example.status, TestOutcome.FAILED),
        )
        for example in report.examples
    ]
    outside = report.summary.errors_outside_of_examples_count
    return [*tests, ReportedTest("errors outside of examples", TestOutcome.ERROR)] if outside else tests
