"""Suites that were written for another program."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from outweigh.task.suite_draft import SuiteDraft

DEFAULT_AGENT = "claude-code"
"""Who works on a suite where neither its user nor its format names anybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteWishes:
    """What the user says about a suite that is read, which goes before what its format says; None where nothing."""

    agent: str | None
    model: str | None


class SuiteReader(Protocol):
    """Reads a suite that was written for another program. Bad input is a UsageError, nothing else.

    What cannot be carried over is a note of the draft, never dropped in silence. Nothing is fetched and nothing run.
    """

    @property
    def name(self) -> str:
        """The format."""

    @property
    def looks_for(self) -> str:
        """What a path must be for this format, in a few words, e.g. "a folder with a test.yaml"."""

    def recognises(self, path: Path) -> bool:
        """Whether this looks like its format, by a short look that never raises and is never wrong about others'."""

    def read(self, path: Path, wishes: SuiteWishes) -> SuiteDraft:
        """The whole suite. The same source gives the same draft."""
