"""Verdicts and runs as JUnit XML, for CI systems that show test results.

What is known to be worse is a failure; what cannot be known is an error.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from outweigh.model.failure import Status
from outweigh.report.document import Report
from outweigh.score.run_score import Score

# What XML cannot carry, in any spelling: most control characters, lone surrogates, two non-characters.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


# What is not shown is not known. A gate is no fault where the candidate improved all the same.
_GATE_FAULTS = {"fails": "failure", "worse": "failure", "not_shown": "error", "unknown": "error"}


class _VerdictCase(NamedTuple):
    """A line of the result: `fault` is failure, error, or None where all is well."""

    name: str
    fault: str | None
    message: str


class JunitReporter:
    """One test suite per candidate: its verdict, each gate, each task with a hard regression.

    A failure is something known to be worse than allowed; an error is something unknown.
    """

    def render(self, report: Report) -> str:
        """The whole document."""
        root = Element("testsuites", name="outweigh")
        for verdict in _verdicts(report.payload):
            cases = list(_verdict_cases(verdict))
            suite = SubElement(root, "testsuite", _count_faults(cases), name=escape_xml(_title(verdict)))
            _add_properties(suite, verdict)
            for case in cases:
                _add_verdict_case(suite, case, _title(verdict))
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


def _verdict_cases(verdict: Mapping[str, Any]) -> Iterator[_VerdictCase]:
    decision = verdict["decision"]
    reasons = " ".join([decision.upper() + ".", *verdict["reasons"]])
    fault = {"regressed": "failure", "trade_off": "failure", "inconclusive": "error"}.get(decision)
    yield _VerdictCase("verdict", "failure" if verdict["regressions"] else fault, reasons)
    for gate in verdict["gates"]:
        fault = None if decision == "improved" else _GATE_FAULTS.get(gate["state"])
        yield _VerdictCase(f"gate {gate['name']}", fault, gate["detail"])
    for regression in verdict["regressions"]:
        yield _VerdictCase(f"task {regression['task_id']}: {regression['kind']}", "failure", regression["detail"])


def _count_faults(cases: Sequence[_VerdictCase]) -> dict[str, str]:
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
        SubElement(properties, "property", name=name, value=escape_xml(verdict[name]))


def _add_verdict_case(suite: Element, case: _VerdictCase, title: str) -> None:
    element = SubElement(
        suite, "testcase", classname=escape_xml(f"outweigh.{title}"), name=escape_xml(case.name), time="0"
    )
    if case.fault is None:
        SubElement(element, "system-out").text = escape_xml(case.message)
    else:
        SubElement(element, case.fault, message=escape_xml(case.message), type=case.fault)


def escape_xml(text: str) -> str:
    """A text that XML can carry; what it cannot is spelled out."""
    return _NOT_XML.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


class _RunFault(NamedTuple):
    """Why a case is not well: `kind` is failure, error or skipped."""

    kind: str
    why: str


def render_runs_junit(arms: Mapping[str, Sequence[Score]]) -> str:
    """The whole document.

    A failure is a run that was a fair attempt and did not pass. An error is one of which nobody can tell: its checks
    were not evaluated, or something broke that was not the agent's doing. What did not take place was skipped.
    """
    root = Element("testsuites", name="outweigh runs")
    for arm, scores in arms.items():
        suite = SubElement(root, "testsuite", name=escape_xml(arm))
        kinds = [_add_run_case(suite, score) for score in scores]
        suite.set("tests", str(len(scores)))
        for name, kind in {"failures": "failure", "errors": "error", "skipped": "skipped"}.items():
            suite.set(name, str(kinds.count(kind)))
    return junit_document(root)


def _add_run_case(suite: Element, score: Score) -> str | None:
    """One run; the kind of its fault, if it has one."""
    case = SubElement(
        suite,
        "testcase",
        classname=escape_xml(score.arm),
        name=escape_xml(f"{score.task_id} #{score.repeat}"),
    )
    if score.duration_seconds is not None:
        # Readers know digits and a point, but no exponent.
        case.set("time", f"{score.duration_seconds:.3f}")
    fault = _run_fault(score)
    if fault is None:
        return None
    SubElement(case, fault.kind, message=escape_xml(fault.why), type=score.status.value)
    return fault.kind


def _run_fault(score: Score) -> _RunFault | None:
    if score.status is Status.NOT_RUN:
        return _RunFault("skipped", "the run did not take place")
    if not score.counted or score.passed is None:
        return _RunFault("error", score.reasons.get("passed") or f"the run ended as {score.status.value}")
    if score.passed:
        return None
    completed = score.status is Status.COMPLETED
    return _RunFault("failure", "a required check failed" if completed else f"the run ended as {score.status.value}")
