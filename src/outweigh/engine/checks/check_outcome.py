"""The outcome of a check, and its stored form."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from outweigh.engine.checks.test_reports.reported_test import CaseCounts
from outweigh.model.run_record import CheckResult
from outweigh.model.task import Check
from outweigh.ports.sandboxes import CompletedCommand

CHECK_DETAIL_LIMIT = 500
CHECK_OUTPUT_LIMIT = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome:
    """`passed` is None where it is unknown; `output` is stored beside the record, by suffix.

    `case_names` are the test cases that a report says ran; None where nothing was reported. `unmet_names` are the
    tests that had to pass by name and did not.
    """

    passed: bool | None
    detail: str | None = None
    exit_code: int | None = None
    cases: CaseCounts | None = None
    case_names: tuple[str, ...] | None = None
    unmet_names: tuple[str, ...] = ()
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
        weight=check.weight,
    )


def bound_output(content: bytes) -> bytes:
    """The end of an output, where failures are explained."""
    left_out = len(content) - CHECK_OUTPUT_LIMIT
    return content if left_out <= 0 else b"[%d bytes left out]\n" % left_out + content[-CHECK_OUTPUT_LIMIT:]


def command_output(done: CompletedCommand) -> dict[str, bytes]:
    """The output of a command as it is stored beside the record, by stream."""
    streams = {"stdout": done.stdout, "stderr": done.stderr}
    return {name: bound_output(content) for name, content in streams.items() if content}


def _counts_agree(cases: CaseCounts, passed: bool | None) -> bool:
    return cases.total > 0 and passed is (cases.passed == cases.total)
