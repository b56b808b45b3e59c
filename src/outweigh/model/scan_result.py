"""What the scan for cheats found in runs: stored beside the records, and computed again whenever the rules change.

A finding states what the transcript or the diff shows. It accuses nobody and decides nothing.
"""

from collections.abc import Mapping
from enum import StrEnum

from outweigh.model.base import Name, Ordinal, RunId, Sha256, Stored

RunKey = tuple[str, int]
"""A run's id and the number of its attempt."""


class Severity(StrEnum):
    """How hard a finding is to explain otherwise.

    `low` is a fact that honest work often leaves too, `medium` deserves a look, `high` has few innocent explanations.
    """

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class CheatFinding(Stored, frozen=True):
    """What one rule found in a run: how often, and where it was first."""

    rule: Name
    title: Name
    severity: Severity
    times: Ordinal
    place: str
    excerpt: str


class RunScan(Stored, frozen=True):
    """The scan of one run. `looked_at` names what was kept of it: "diff", "transcript" or both.

    `complete` is false where the material was larger than what is scanned.
    """

    run_id: RunId
    attempt: Ordinal
    looked_at: tuple[Name, ...]
    complete: bool
    findings: tuple[CheatFinding, ...]

    @property
    def key(self) -> RunKey:
        """The run that was scanned."""
        return self.run_id, self.attempt

    @property
    def is_suspicious(self) -> bool:
        """Whether anything was found beyond plain facts."""
        return any(finding.severity is not Severity.LOW for finding in self.findings)


class ScanFile(Stored, frozen=True, tag_field="schema", tag="outweigh.scan/1"):
    """The scans of a store's runs by one set of rules; runs without a transcript and a diff are not among them."""

    rules_sha256: Sha256
    runs: tuple[RunScan, ...]

    def by_run(self) -> Mapping[RunKey, RunScan]:
        """The scans by the runs they are of."""
        return {scan.key: scan for scan in self.runs}
