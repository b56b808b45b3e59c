"""The JSON contract, for scripts."""

import msgspec

from outweigh.report.document import Report


class JsonReporter:
    """Writes the payload; its keys are promised in docs/cli.md."""

    def render(self, report: Report) -> str:
        """Indented, one document."""
        return msgspec.json.format(msgspec.json.encode(report.payload), indent=2).decode() + "\n"
