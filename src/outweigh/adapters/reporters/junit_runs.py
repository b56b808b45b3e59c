"""Runs as JUnit's XML: a suite for each arm, a case for each run. What failed and what broke are kept apart."""

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from outweigh.adapters.reporters.junit import xml_text
from outweigh.score.score import Score


def junit_of_runs(arms: Mapping[str, Sequence[Score]]) -> str:
    """The whole document.

    A failure is a run that was a fair attempt and did not pass. An error is one of which nobody can tell: its checks
    were not evaluated, or something broke that was not the agent's doing.
    """
    root = Element("testsuites", name="outweigh runs")
    for arm, scores in arms.items():
        suite = SubElement(root, "testsuite", name=xml_text(arm))
        faults = [_add_case(suite, score) for score in scores]
        _count(suite, len(scores), faults.count("failure"), faults.count("error"))
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _add_case(suite: Element, score: Score) -> str | None:
    """One run; its fault, if it has one."""
    case = SubElement(
        suite,
        "testcase",
        classname=xml_text(score.arm),
        name=xml_text(f"{score.task_id} #{score.repeat}"),
    )
    if score.duration_seconds is not None:
        case.set("time", f"{score.duration_seconds:g}")
    if score.counted and score.passed:
        return None
    fault = "failure" if score.counted and score.passed is not None else "error"
    why = score.reasons.get("passed") or f"the run ended as {score.status.value}"
    SubElement(case, fault, message=xml_text(why), type=score.status.value)
    return fault


def _count(suite: Element, tests: int, failures: int, errors: int) -> None:
    for name, number in {"tests": tests, "failures": failures, "errors": errors, "skipped": 0}.items():
        suite.set(name, str(number))
