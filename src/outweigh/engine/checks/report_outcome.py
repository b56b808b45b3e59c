"""How a test report decides a check: by all of its cases, or by the tests that are named to pass.

The agent's code runs in the process that writes a report, so what cannot be read, or is not in it, is a failure.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from outweigh.engine.checks.check_outcome import CheckOutcome, bound_output, command_output
from outweigh.engine.checks.test_reports.read_report import find_report, read_report
from outweigh.engine.checks.test_reports.reported_test import (
    CaseCounts,
    ReportedTest,
    TestOutcome,
    UnreadableReportError,
    case_name,
    count_cases,
    outcomes_by_name,
)
from outweigh.errors import quote_names
from outweigh.model.task import ReportFormat
from outweigh.ports.sandboxes import CompletedCommand


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportReading:
    """What a report says, or why it says nothing. `content` is None where there is none."""

    path: str
    content: bytes | None = None
    tests: tuple[ReportedTest, ...] | None = None
    fault: str | None = None

    @property
    def cases(self) -> CaseCounts | None:
        """The counts of its cases; None where it cannot be read."""
        return None if self.tests is None else count_cases(self.tests)


def read_place(root: Path, path: str, report_format: ReportFormat | None = None, workspace: str = "/") -> ReportReading:
    """Read the report at a path, which may be a folder of reports."""
    content = None
    try:
        contents = find_report(root, path, report_format)
        if contents is None:
            return ReportReading(path=path)
        content = b"\n".join(contents)
        tests = tuple(test for each in contents for test in read_report(each, report_format, workspace))
    except UnreadableReportError as fault:
        return ReportReading(path=path, content=content, fault=f"{path!r}: {fault}")
    return ReportReading(path=path, content=content, tests=tests)


def outcome_by_report(reading: ReportReading, done: CompletedCommand, expected: Sequence[str]) -> CheckOutcome:
    """Passed when the exit code is 0 and all cases that ran passed, the expected ones among them."""
    cases = reading.cases
    if cases is None:
        return _without_report(reading, done)
    outcome = CheckOutcome(
        passed=done.exit_code == 0 and cases.total > 0 and cases.passed == cases.total,
        detail=_explain(cases, done.exit_code),
        exit_code=done.exit_code,
        cases=cases,
        case_names=cases.names,
        output=_output(reading, done),
    )
    return require_cases(outcome, expected)


def outcome_by_names(reading: ReportReading, done: CompletedCommand, names: Sequence[str]) -> CheckOutcome:
    """Passed when each of these tests is reported as passed, whatever the exit code and all other tests."""
    wanted = dict.fromkeys(map(case_name, names))
    if reading.tests is None:
        none_passed = CaseCounts(passed=0, total=len(wanted), skipped=0)
        return replace(_without_report(reading, done), cases=none_passed, unmet_names=tuple(wanted))
    reported = outcomes_by_name(reading.tests)
    others = {name: reported.get(name) for name in wanted if reported.get(name) is not TestOutcome.PASSED}
    counts = CaseCounts(passed=len(wanted) - len(others), total=len(wanted), skipped=0)
    return CheckOutcome(
        passed=not others,
        detail=_explain_names(counts, others),
        exit_code=done.exit_code,
        cases=counts,
        unmet_names=tuple(others),
        output=_output(reading, done),
    )


def require_cases(outcome: CheckOutcome, expected: Sequence[str]) -> CheckOutcome:
    """Fail an outcome whose report lacks cases that ran when the task was solved."""
    missing = Counter(expected) - Counter(outcome.case_names or ())
    if not outcome.passed or not missing:
        return outcome
    detail = (
        f"{missing.total()} of {len(expected)} tests that ran when the task was solved are not in the report: "
        f"{quote_names(sorted(missing))}"
    )
    return replace(outcome, passed=False, detail=detail)


def _without_report(reading: ReportReading, done: CompletedCommand) -> CheckOutcome:
    # Code under test that calls `os._exit(0)` leaves exit code 0 and no report.
    detail = reading.fault or f"exit code {done.exit_code}, but no report at {reading.path!r}"
    return CheckOutcome(passed=False, detail=detail, exit_code=done.exit_code, output=_output(reading, done))


def _output(reading: ReportReading, done: CompletedCommand) -> dict[str, bytes]:
    output = command_output(done)
    return output if reading.content is None else {**output, "report": bound_output(reading.content)}


def _explain(cases: CaseCounts, exit_code: int | None) -> str:
    skipped = f", {cases.skipped} skipped" if cases.skipped else ""
    if not cases.total:
        return f"the report holds no case that ran{skipped}"
    counted = f"{cases.passed} of {cases.total} cases passed{skipped}"
    if exit_code != 0 and cases.passed == cases.total:
        return f"{counted}, yet the runner ended with exit code {exit_code}"
    return counted


def _explain_names(counts: CaseCounts, others: dict[str, TestOutcome | None]) -> str:
    counted = f"{counts.passed} of {counts.total} tests that must pass passed"
    kinds = {"not reported": None, "failed": TestOutcome.FAILED, "error": TestOutcome.ERROR}
    groups = {**kinds, "skipped": TestOutcome.SKIPPED}
    said = (
        f"{title}: {quote_names(names)}"
        for title, kind in groups.items()
        if (names := [name for name, outcome in others.items() if outcome is kind])
    )
    return "; ".join((counted, *said))
