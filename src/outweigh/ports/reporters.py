"""The port of reporters: a report rendered as text."""

from typing import Protocol

from outweigh.report.document import Report


class Reporter(Protocol):
    """Turns an answer into text."""

    def render(self, report: Report) -> str:
        """The whole output, ending in a line feed."""
