"""The protocol of a test runner."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from outweigh.mining.test_results import TestOutcome

ReadFile = Callable[[str], bytes | None]
"""Reads a file of a commit by its path; None where there is none."""


class Runner(Protocol):
    """One way to run the tests of a repository. Commands run in the workspace by `sh -c`.

    Names of tests are as the report has them, and the same at `base` and at `fix`.
    """

    @property
    def name(self) -> str:
        """How people call it."""

    @property
    def report_format(self) -> str | None:
        """The format of its report, as a `tests` check names it; None where only the exit code tells."""

    @property
    def compiled_beside(self) -> str | None:
        """The pattern of names of test files that are compiled together with those beside them; None where each stands
        alone.
        """

    @property
    def shows_progress(self) -> bool:
        """Whether it prints something after every test, so that long silence means that a test does not end."""

    def detect(self, files: Sequence[str], read: ReadFile) -> bool:
        """Whether the files of a commit use this runner."""

    def is_test_file(self, path: str) -> bool:
        """Whether a path is a file with tests, or one that tests need."""

    def command(self, files: Sequence[str], report: str) -> str:
        """The command that runs the tests of these files, or all tests without files, and writes the report.

        Of the files, those without tests (`conftest.py`, fixtures, snapshots) are left out; where that leaves none, all
        tests are run. `report` starts with `$OUTWEIGH_REPORTS/`, which the shell replaces: put it in double quotes.
        """

    def read_report(self, report: bytes) -> Mapping[str, TestOutcome]:
        """The tests of a report by name; raise ValueError where it cannot be read."""

    def changed_tests(self, path: str, before: bytes | None, after: bytes) -> frozenset[str] | None:
        """The names of the test functions that differ between two versions of a test file.

        A name is a part of the names in reports that `covers` accepts. None where the file cannot be taken apart, so
        that all of its tests count as changed.
        """

    def covers(self, path: str, function: str | None, reported: str) -> bool:
        """Whether a reported test belongs to a file, or to a test function of it."""
