"""`outweigh` alone: where the current folder stands, and what to do next."""

from outweigh.app.folder_status import folder_status
from outweigh.cli.arguments import print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.report.status_page import status_report


def main() -> int:
    """Print the status; `outweigh --help` lists the verbs."""
    print_report(status_report(folder_status()), "text")
    print("\n`outweigh --help` lists all commands.")
    return ExitCode.SATISFIED
