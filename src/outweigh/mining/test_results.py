"""What a run of tests showed, test by test where the runner says so."""

from collections.abc import Mapping
from dataclasses import dataclass

from outweigh.engine.checks.test_reports.reported_test import TestOutcome

__all__ = ["TestOutcome", "TestResults"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResults:
    """One run of a test command. `outcomes` is None where the runner reports no single tests.

    `exit_code` is None where the command was stopped, and `stopped` says at which limit. `silent_seconds` is the
    longest time in which it printed nothing.
    """

    __test__ = False

    outcomes: Mapping[str, TestOutcome] | None
    exit_code: int | None
    seconds: float
    output: str
    stopped: str = ""
    silent_seconds: float = 0.0

    def passed(self) -> frozenset[str]:
        """The tests that passed."""
        outcomes = self.outcomes or {}
        return frozenset(name for name, outcome in outcomes.items() if outcome is TestOutcome.PASSED)

    def shows_success(self) -> bool:
        """Whether any test passed, or the whole run where single tests are not reported."""
        return self.exit_code == 0 if self.outcomes is None else bool(self.passed())

    def shows_all_of(self, other: "TestResults") -> bool:
        """Whether everything that passed in another run passed in this one, too."""
        return self.exit_code == 0 if self.outcomes is None else other.passed() <= self.passed()
