"""The outcome of a check, and the cases of test reports (JUnit XML, CTRF JSON).

A report was written by a process that ran the agent's code, so it is read as untrusted input: bounded, without
document types or entities, without building a tree.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

import msgspec

from outweigh.model.run_record import CheckResult
from outweigh.model.task import Check

REPORT_LIMIT = 16 * 1024 * 1024
CASE_NAME_LIMIT = 300
_FAULTS = frozenset({"failure", "error"})
_NOT_RUN = frozenset({"skipped", "disabled"})
_CTRF_NOT_RUN = frozenset({"skipped", "pending"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseCounts:
    """The counts of a report. Skipped cases are in neither of the other counts: they asserted nothing.

    `names` are those of the cases that ran, whatever came of them.
    """

    passed: int
    total: int
    skipped: int
    names: tuple[str, ...] = field(default=(), compare=False)


class UnreadableReportError(ValueError):
    """The content is not a readable report."""


def read_test_report(content: bytes) -> CaseCounts:
    """Count the cases; the first character tells the format."""
    if len(content) > REPORT_LIMIT:
        raise UnreadableReportError(f"the report is larger than {REPORT_LIMIT} bytes")
    bare = content.removeprefix(b"\xef\xbb\xbf").lstrip()
    return _ctrf(bare) if bare.startswith(b"{") else _junit(content)


class _JUnitCounter:
    """Counts cases while parsing: a case has failed or was skipped by its direct child elements."""

    def __init__(self) -> None:
        self.path: list[str] = []
        self.passed = self.total = self.skipped = 0
        self.faulty = self.left_out = False
        self.name = ""
        self.names: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        tag = name.rpartition(":")[2]
        if not self.path and tag not in ("testsuites", "testsuite"):
            raise UnreadableReportError(f"the report starts with <{tag[:40]}>, not with <testsuites> or <testsuite>")
        if tag == "testcase":
            if "testcase" in self.path:
                raise UnreadableReportError("the report has a <testcase> within a <testcase>")
            self.faulty = self.left_out = False
            self.name = _case_name(attributes.get("classname"), attributes.get("name"))
        elif self.path and self.path[-1] == "testcase":
            self.faulty |= tag in _FAULTS
            self.left_out |= tag in _NOT_RUN
        self.path.append(tag)

    def end(self, _name: str) -> None:
        if self.path.pop() != "testcase":
            return
        # A case that is both skipped and failed broke in its set-up or tear-down.
        if self.left_out and not self.faulty:
            self.skipped += 1
            return
        self.total += 1
        self.passed += not self.faulty
        self.names.append(self.name)


def _junit(content: bytes) -> CaseCounts:
    counter = _JUnitCounter()
    parser = expat.ParserCreate()
    parser.StartElementHandler = counter.start
    parser.EndElementHandler = counter.end
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(content, True)
    except expat.ExpatError as fault:
        raise UnreadableReportError(f"the report is not XML: {fault}") from None
    return CaseCounts(passed=counter.passed, total=counter.total, skipped=counter.skipped, names=tuple(counter.names))


def _case_name(group: str | None, name: str | None) -> str:
    """The name by which a case is found again in a later report; control characters are replaced."""
    whole = "::".join(part for part in (group, name) if part)
    return "".join(letter if letter.isprintable() else "?" for letter in whole[:CASE_NAME_LIMIT])


def _refuse_doctype(*_declaration: object) -> None:
    raise UnreadableReportError("the report declares a document type, which could pull in entities")


class _CtrfTest(msgspec.Struct):
    status: str
    name: Any = None
    suite: Any = None


class _CtrfResults(msgspec.Struct):
    tests: list[_CtrfTest]


class _Ctrf(msgspec.Struct):
    results: _CtrfResults


def _ctrf(content: bytes) -> CaseCounts:
    """Count the cases one by one; the report's own summary is not used."""
    try:
        report = msgspec.json.decode(content, type=_Ctrf)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise UnreadableReportError(f"the report is not CTRF: {fault}") from None
    statuses = [test.status for test in report.results.tests]
    skipped = sum(status in _CTRF_NOT_RUN for status in statuses)
    ran = (test for test in report.results.tests if test.status not in _CTRF_NOT_RUN)
    return CaseCounts(
        passed=statuses.count("passed"),
        total=len(statuses) - skipped,
        skipped=skipped,
        names=tuple(_case_name(_ctrf_text(test.suite), _ctrf_text(test.name)) for test in ran),
    )


def _ctrf_text(value: Any) -> str | None:
    """A name; a suite may be a list of them, from the outermost to the innermost."""
    return None if value is None else "::".join(map(str, value)) if isinstance(value, list) else str(value)


CHECK_DETAIL_LIMIT = 500
CHECK_OUTPUT_LIMIT = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome:
    """`passed` is None where it is unknown; `output` is stored beside the record, by suffix.

    `case_names` are the test cases that a report says ran; None where nothing was reported.
    """

    passed: bool | None
    detail: str | None = None
    exit_code: int | None = None
    cases: CaseCounts | None = None
    case_names: tuple[str, ...] | None = None
    output: Mapping[str, bytes] = field(default_factory=dict)


def to_check_result(check: Check, outcome: CheckOutcome) -> CheckResult:
    """The stored form. Counts that contradict the outcome are left out, because a record must not hold them."""
    cases = outcome.cases
    if cases is not None and not _counts_agree(cases, outcome.passed):
        cases = None
    return CheckResult(
        name=check.name,
        required=check.required,
        passed=outcome.passed,
        cases_passed=None if cases is None else cases.passed,
        cases_total=None if cases is None else cases.total,
        exit_code=outcome.exit_code,
        detail=None if outcome.detail is None else outcome.detail[:CHECK_DETAIL_LIMIT],
    )


def bound_output(content: bytes) -> bytes:
    """The end of an output, where failures are explained."""
    left_out = len(content) - CHECK_OUTPUT_LIMIT
    return content if left_out <= 0 else b"[%d bytes left out]\n" % left_out + content[-CHECK_OUTPUT_LIMIT:]


def _counts_agree(cases: CaseCounts, passed: bool | None) -> bool:
    return cases.total > 0 and passed is (cases.passed == cases.total)
