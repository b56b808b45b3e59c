"""What all readers of test reports share: a reported test, its outcome, and names that are the same in every run."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

CASE_NAME_LIMIT = 300


class UnreadableReportError(ValueError):
    """The content is not a readable report."""


class TestOutcome(StrEnum):
    """How one test ended. An error is a failure outside the test itself, such as one of collection."""

    __test__ = False  # pytest would take the name for a test class

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"


_WORST_LAST = (TestOutcome.PASSED, TestOutcome.SKIPPED, TestOutcome.ERROR, TestOutcome.FAILED)


@dataclass(frozen=True, slots=True)
class ReportedTest:
    """One entry of a report. Several entries may have the same name."""

    name: str
    outcome: TestOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseCounts:
    """The counts of a report. Skipped cases are in neither of the other counts: they asserted nothing.

    `names` are those of the cases that ran, whatever came of them.
    """

    passed: int
    total: int
    skipped: int
    names: tuple[str, ...] = field(default=(), compare=False)


def count_cases(tests: Iterable[ReportedTest]) -> CaseCounts:
    """Count every entry of a report."""
    tests = tuple(tests)
    ran = [test for test in tests if test.outcome is not TestOutcome.SKIPPED]
    return CaseCounts(
        passed=sum(test.outcome is TestOutcome.PASSED for test in ran),
        total=len(ran),
        skipped=len(tests) - len(ran),
        names=tuple(test.name for test in ran),
    )


def outcomes_by_name(tests: Iterable[ReportedTest]) -> dict[str, TestOutcome]:
    """The outcome of every name. A name that is reported more than once has the worst of its outcomes."""
    worst: dict[str, TestOutcome] = {}
    for test in tests:
        known = worst.get(test.name, test.outcome)
        worst[test.name] = max(known, test.outcome, key=_WORST_LAST.index)
    return worst


def case_name(*parts: str | None) -> str:
    """The name by which a test is found again in a later report, from its groups and its own name.

    Control characters are replaced, and long names are cut.
    """
    whole = "::".join(part for part in parts if part)
    return "".join(letter if letter.isprintable() else "?" for letter in whole[:CASE_NAME_LIMIT])


def relative_path(path: str | None, workspace: str) -> str | None:
    """A path of a report as it is in the workspace, so that it is the same in every sandbox."""
    if path is None:
        return None
    return path.removeprefix("file://").removeprefix(f"{workspace.rstrip('/')}/").removeprefix("./")
