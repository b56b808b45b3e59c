"""The files that `-o` of `ladder`, `parts verdict`, `suite triggers` and `history` writes.

Loaded only where there are any: formats take time.
"""

from collections.abc import Sequence

from outweigh.app.report_files import HISTORY_FILES, LADDER_FILES, PARTS_FILES, TRIGGER_FILES, ReportFiles
from outweigh.report.document import Report
from outweigh.report.formatting import escape_controls

__all__ = ["HISTORY_FILES", "LADDER_FILES", "PARTS_FILES", "TRIGGER_FILES", "write_files"]


def write_files(files: ReportFiles, report: Report, targets: Sequence[str]) -> None:
    """Write to every target, and print the headline and where it went."""
    print(escape_controls(report.headline))
    for target in targets:
        written = files.write(report, target)
        others = f" ({len(written)} files)" if len(written) > 1 else ""
        print(f"written to {escape_controls(target)}{others}")
