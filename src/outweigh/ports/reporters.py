"""The port of reporters: a report rendered as text."""

from typing import Protocol

from outweigh.report.document import Report


class Reporter(Protocol):
    """Renders a report in one format."""

    def render(self, report: Report) -> str:
        """The whole output, ending in a newline."""
