"""Reads XML reports: JUnit, which most runners can write, and TRX, which `dotnet test` writes.

They are parsed without document types or entities, and without building a tree.
"""

from collections.abc import Mapping
from typing import Protocol
from xml.parsers import expat

from outweigh.engine.checks.test_reports.reported_test import (
    ReportedTest,
    TestOutcome,
    UnreadableReportError,
    case_name,
)

_NOT_RUN = frozenset({"skipped", "disabled"})


def read_junit(content: bytes, _workspace: str) -> list[ReportedTest]:
    """The cases of a JUnit report, with the name of the class before that of the test."""
    handler = _JUnitHandler()
    _parse(content, handler)
    return handler.tests


def read_trx(content: bytes, _workspace: str) -> list[ReportedTest]:
    """The results of a TRX report, with the name of the class where the test's own name lacks it."""
    handler = _TrxHandler()
    _parse(content, handler)
    return [
        ReportedTest(_trx_name(handler.classes.get(test_id, ""), name), outcome)
        for test_id, name, outcome in handler.results
    ]


class _Handler(Protocol):
    def start(self, name: str, attributes: Mapping[str, str], /) -> None: ...
    def end(self, name: str, /) -> None: ...


def _parse(content: bytes, handler: _Handler) -> None:
    parser = expat.ParserCreate()
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(content, True)
    except expat.ExpatError as fault:
        raise UnreadableReportError(f"the report is not XML: {fault}") from None


def _refuse_doctype(*_declaration: object) -> None:
    raise UnreadableReportError("the report declares a document type, which could pull in entities")


def _tag(name: str) -> str:
    return name.rpartition(":")[2]


class _JUnitHandler:
    """Collects cases while parsing: a case has failed or was skipped by its direct child elements."""

    def __init__(self) -> None:
        self.path: list[str] = []
        self.children: set[str] = set()
        self.name = ""
        self.tests: list[ReportedTest] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        tag = _tag(name)
        if not self.path and tag not in ("testsuites", "testsuite"):
            raise UnreadableReportError(f"the report starts with <{tag[:40]}>, not with <testsuites> or <testsuite>")
        if tag == "testcase":
            if "testcase" in self.path:
                raise UnreadableReportError("the report has a <testcase> within a <testcase>")
            self.children = set()
            self.name = case_name(attributes.get("classname"), attributes.get("name"))
        elif self.path and self.path[-1] == "testcase":
            self.children.add(tag)
        self.path.append(tag)

    def end(self, _name: str) -> None:
        if self.path.pop() == "testcase":
            self.tests.append(ReportedTest(self.name, self._outcome()))

    def _outcome(self) -> TestOutcome:
        # A case that is both skipped and failed broke in its set-up or tear-down.
        if "failure" in self.children:
            return TestOutcome.FAILED
        if "error" in self.children:
            return TestOutcome.ERROR
        return TestOutcome.SKIPPED if self.children & _NOT_RUN else TestOutcome.PASSED


_TRX_OUTCOMES = {
    "Passed": TestOutcome.PASSED,
    "NotExecuted": TestOutcome.SKIPPED,
    "Inconclusive": TestOutcome.SKIPPED,
    "Error": TestOutcome.ERROR,
}


class _TrxHandler:
    """Collects results, and the classes of tests, which a report lists after them."""

    def __init__(self) -> None:
        self.started = False
        self.test_id = ""
        self.results: list[tuple[str, str, TestOutcome]] = []
        self.classes: dict[str, str] = {}

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        tag = _tag(name)
        if not self.started and tag != "TestRun":
            raise UnreadableReportError(f"the report starts with <{tag[:40]}>, not with <TestRun>")
        self.started = True
        if tag == "UnitTestResult":
            outcome = _TRX_OUTCOMES.get(attributes.get("outcome", ""), TestOutcome.FAILED)
            self.results.append((attributes.get("testId", ""), attributes.get("testName", ""), outcome))
        elif tag == "UnitTest":
            self.test_id = attributes.get("id", "")
        elif tag == "TestMethod":
            self.classes[self.test_id] = attributes.get("className", "")

    def end(self, _name: str) -> None:
        """Nothing depends on where an element ends."""


def _trx_name(class_name: str, name: str) -> str:
    return case_name(name) if name.startswith(class_name) else case_name(class_name, name)
