"""Check a suite by records of any arms: which of its tasks tell the arms apart, and what that costs."""

from dataclasses import dataclass

from outweigh.app.evidence import EvidenceRequest, read_evidence
from outweigh.compare.evidence import Evidence
from outweigh.compare.task_outcomes import check_tasks, tabulate_outcomes
from outweigh.errors import EvidenceError, UsageError
from outweigh.report.document import Report
from outweigh.report.suite_check_page import suite_check_report


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCheckRequest:
    """Which records, and which of their arms; all where none is named."""

    evidence: EvidenceRequest
    arms: tuple[str, ...] = ()


def check_suite(request: SuiteCheckRequest) -> Report:
    """What every task tells."""
    evidence = read_evidence(request.evidence)
    arms = choose_arms_of_suite(evidence, request.arms)
    outcomes = tabulate_outcomes(evidence, arms)
    return suite_check_report(check_tasks(outcomes), outcomes, evidence.warnings)


def choose_arms_of_suite(evidence: Evidence, named: tuple[str, ...]) -> tuple[str, ...]:
    """The named arms, or all of them; what tasks tell needs two."""
    if len(set(named)) < len(named):
        raise UsageError("--arm names an arm twice.")
    for name in named:
        evidence.arm(name)
    arms = named or tuple(evidence.arms)
    if len(arms) < 2:
        reason = "--arm names only" if named else "the records hold only"
        raise EvidenceError(
            f"{reason} {arms[0]!r}, and which tasks tell arms apart takes two arms or more. Run or import another one "
            "and name its records too."
        )
    return arms
