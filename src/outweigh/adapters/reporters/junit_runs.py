"""Runs as JUnit's XML: a suite for each arm, a case for each run. What failed and what broke are kept apart."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement

from outweigh.adapters.reporters.junit import junit_document, xml_text
from outweigh.record.status import Status
from outweigh.score.score import Score


class _Fault(NamedTuple):
    """Why a case is not well: `kind` is failure, error or skipped."""

    kind: str
    why: str


def junit_of_runs(arms: Mapping[str, Sequence[Score]]) -> str:
    """The whole document.

    A failure is a run that was a fair attempt and did not pass. An error is one of which nobody can tell: its checks
    were not evaluated, or something broke that was not the agent's doing. What did not take place was skipped.
    """
    root = Element("testsuites", name="outweigh runs")
    for arm, scores in arms.items():
        suite = SubElement(root, "testsuite", name=xml_text(arm))
        kinds = [_add_case(suite, score) for score in scores]
        suite.set("tests", str(len(scores)))
        for name, kind in {"failures": "failure", "errors": "error", "skipped": "skipped"}.items():
            suite.set(name, str(kinds.count(kind)))
    return junit_document(root)


def _add_case(suite: Element, score: Score) -> str | None:
    """One run; the kind of its fault, if it has one."""
    case = SubElement(
        suite,
        "testcase",
        classname=xml_text(score.arm),
        name=xml_text(f"{score.task_id} #{score.repeat}"),
    )
    if score.duration_seconds is not None:
        # Readers know digits and a point, but no exponent.
        case.set("time", f"{score.duration_seconds:.3f}")
    fault = _fault(score)
    if fault is None:
        return None
    SubElement(case, fault.kind, message=xml_text(fault.why), type=score.status.value)
    return fault.kind


def _fault(score: Score) -> _Fault | None:
    if score.status is Status.NOT_RUN:
        return _Fault("skipped", "the run did not take place")
    if not score.counted or score.passed is None:
        return _Fault("error", score.reasons.get("passed") or f"the run ended as {score.status.value}")
    if score.passed:
        return None
    completed = score.status is Status.COMPLETED
    return _Fault("failure", "a required check failed" if completed else f"the run ended as {score.status.value}")
