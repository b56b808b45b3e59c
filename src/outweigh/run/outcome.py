"""What one check came to, before it is written down; contradictions between counts and outcome are settled here."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from outweigh.record.check_result import CheckResult
from outweigh.run.reports import Cases
from outweigh.task.check import Check

DETAIL_LIMIT = 500
OUTPUT_LIMIT = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`passed` is None when nobody can tell; `output` is what is worth keeping beside the record, by suffix."""

    passed: bool | None
    detail: str | None = None
    exit_code: int | None = None
    cases: Cases | None = None
    output: Mapping[str, bytes] = field(default_factory=dict)


def result_of(check: Check, outcome: Outcome) -> CheckResult:
    """The stored form. Counts that do not decide the outcome are left out, as the record demands."""
    cases = outcome.cases
    if cases is not None and not _decide(cases, outcome.passed):
        cases = None
    return CheckResult(
        name=check.name,
        required=check.required,
        passed=outcome.passed,
        cases_passed=None if cases is None else cases.passed,
        cases_total=None if cases is None else cases.total,
        exit_code=outcome.exit_code,
        detail=None if outcome.detail is None else outcome.detail[:DETAIL_LIMIT],
    )


def bounded(content: bytes) -> bytes:
    """The end of an output: that is where failures are explained."""
    left_out = len(content) - OUTPUT_LIMIT
    return content if left_out <= 0 else b"[%d bytes left out]\n" % left_out + content[-OUTPUT_LIMIT:]


def _decide(cases: Cases, passed: bool | None) -> bool:
    return cases.total > 0 and passed is (cases.passed == cases.total)
