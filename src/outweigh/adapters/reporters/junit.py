"""JUnit's XML, for CI systems that show test results. A gate that fails is a failure, one that is unknown an error."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from outweigh.report.document import Report

# What XML cannot carry, in any spelling: most control characters, lone surrogates, two non-characters.
_IMPOSSIBLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _Case(NamedTuple):
    """A line of the result: `fault` is failure, error, or None where all is well."""

    name: str
    fault: str | None
    message: str


class JunitReporter:
    """One test suite per candidate: its verdict, each gate, each task with a hard regression.

    A failure is something known to be worse than allowed; an error is something that nobody can tell.
    """

    def render(self, report: Report) -> str:
        """The whole document."""
        root = Element("testsuites", name="outweigh")
        for verdict in _verdicts(report.payload):
            cases = list(_cases(verdict))
            suite = SubElement(root, "testsuite", _counted(cases), name=xml_text(_title(verdict)))
            _add_properties(suite, verdict)
            for case in cases:
                _add_case(suite, case, _title(verdict))
        return junit_document(root)


def junit_document(root: Element) -> str:
    """The text of a document, with the sums that its root may state: readers with a schema know of none skipped."""
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _verdicts(payload: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = payload.get("verdicts", [payload])
    return found


def _title(verdict: Mapping[str, Any]) -> str:
    return f"{verdict['candidate']} against {verdict['baseline']}"


def _cases(verdict: Mapping[str, Any]) -> Iterator[_Case]:
    decision = verdict["decision"]
    reasons = " ".join([decision.upper() + ".", *verdict["reasons"]])
    fault = {"regressed": "failure", "inconclusive": "error"}.get(decision)
    yield _Case("verdict", "failure" if verdict["regressions"] else fault, reasons)
    for gate in verdict["gates"]:
        fault = {"fails": "failure", "unknown": "error"}.get(gate["state"])
        yield _Case(f"gate {gate['name']}", fault, gate["detail"])
    for regression in verdict["regressions"]:
        yield _Case(f"task {regression['task_id']}: {regression['kind']}", "failure", regression["detail"])


def _counted(cases: Sequence[_Case]) -> dict[str, str]:
    faults = [case.fault for case in cases]
    return {
        "tests": str(len(cases)),
        "failures": str(faults.count("failure")),
        "errors": str(faults.count("error")),
        "skipped": "0",
    }


def _add_properties(suite: Element, verdict: Mapping[str, Any]) -> None:
    properties = SubElement(suite, "properties")
    SubElement(properties, "property", name="may_promote", value="yes" if verdict["may_promote"] else "no")
    for name in ("decision", "policy", "evidence_sha256"):
        SubElement(properties, "property", name=name, value=xml_text(verdict[name]))


def _add_case(suite: Element, case: _Case, title: str) -> None:
    element = SubElement(suite, "testcase", classname=xml_text(f"outweigh.{title}"), name=xml_text(case.name), time="0")
    if case.fault is None:
        SubElement(element, "system-out").text = xml_text(case.message)
    else:
        SubElement(element, case.fault, message=xml_text(case.message), type=case.fault)


def xml_text(text: str) -> str:
    """A text that XML can carry; what it cannot is spelled out."""
    return _IMPOSSIBLE.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
