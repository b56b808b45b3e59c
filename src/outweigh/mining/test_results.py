"""What a run of tests showed, test by test where the runner says so."""

from collections.abc import Mapping
from dataclasses import dataclass

from outweigh.engine.checks.test_reports.reported_test import TestOutcome

__all__ = ["TestOutcome", "TestResults"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResults:
    """One run of a test command. `outcomes` is None where the runner reports no single tests.

    `exit_code` is None where the command was stopped, for instance at its time limit.
    """

    __test__ = False

    outcomes: Mapping[str, TestOutcome] | None
    exit_code: int | None
    seconds: float
    output: str

    def passed(self) -> frozenset[str]:
        """The tests that passed."""
        outcomes = self.outcomes or {}
        return frozenset(name for name, outcome in outcomes.items() if outcome is TestOutcome.PASSED)
