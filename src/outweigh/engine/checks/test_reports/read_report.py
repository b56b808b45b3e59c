"""Reads test reports of every known format, from one file or from all files of a folder, within limits."""

from collections.abc import Callable
from pathlib import Path

from outweigh.engine.checks import untrusted_files
from outweigh.engine.checks.test_reports.json_reports import read_ctrf, read_jest, read_mocha, read_rspec
from outweigh.engine.checks.test_reports.line_reports import read_cargo, read_go, read_tap
from outweigh.engine.checks.test_reports.reported_test import ReportedTest, UnreadableReportError
from outweigh.engine.checks.test_reports.xml_reports import read_junit, read_trx
from outweigh.model.task import ReportFormat

REPORT_LIMIT = 16 * 1024 * 1024
_MOST_FILES = 5000
_MOST_ENTRIES = 20_000
_ENDINGS: dict[ReportFormat | None, tuple[str, ...]] = {
    None: (".xml", ".json"),
    ReportFormat.JUNIT: (".xml",),
    ReportFormat.TRX: (".trx",),
    ReportFormat.TAP: (".tap",),
    ReportFormat.CARGO: (".txt",),
}
"""Files that count as reports in a folder, by format, for others `.json`; runners leave more files beside them."""

_READERS: dict[ReportFormat, Callable[[bytes, str], list[ReportedTest]]] = {
    ReportFormat.JUNIT: read_junit,
    ReportFormat.CTRF: read_ctrf,
    ReportFormat.JEST: read_jest,
    ReportFormat.MOCHA: read_mocha,
    ReportFormat.RSPEC: read_rspec,
    ReportFormat.TAP: read_tap,
    ReportFormat.GO: read_go,
    ReportFormat.CARGO: read_cargo,
    ReportFormat.TRX: read_trx,
}


def read_report(content: bytes, report_format: ReportFormat | None = None, workspace: str = "/") -> list[ReportedTest]:
    """The tests of a report. Without a format, it is JUnit or CTRF, by its first character.

    Paths in names are those below `workspace`, which is where the runner had its files.
    """
    if len(content) > REPORT_LIMIT:
        raise UnreadableReportError(f"the report is larger than {REPORT_LIMIT} bytes")
    if report_format is None:
        bare = content.removeprefix(b"\xef\xbb\xbf").lstrip()
        report_format = ReportFormat.CTRF if bare.startswith(b"{") else ReportFormat.JUNIT
    return _READERS[report_format](content, workspace)


def find_report(root: Path, path: str, report_format: ReportFormat | None = None) -> list[bytes] | None:
    """The content of a report, or of every report in a folder and those below; None where there is nothing."""
    if not untrusted_files.list_folder(root, path):
        content = untrusted_files.read_file(root, path, REPORT_LIMIT + 1)
        return None if content is None else [content]
    return _read_files(root, _report_files(root, path, _ENDINGS.get(report_format, (".json",)))) or None


def _read_files(root: Path, files: list[str]) -> list[bytes]:
    contents: list[bytes] = []
    size = 0
    for file in files:
        content = untrusted_files.read_file(root, file, REPORT_LIMIT + 1 - size) or b""
        size += len(content)
        if size > REPORT_LIMIT or len(contents) == _MOST_FILES:
            raise UnreadableReportError(f"the reports are more than {_MOST_FILES} or larger than {REPORT_LIMIT} bytes")
        contents.append(content)
    return contents


def _report_files(root: Path, path: str, endings: tuple[str, ...]) -> list[str]:
    """The files in a folder and its sub-folders that are reports by their names."""
    files: list[str] = []
    entries = [path]
    for seen, entry in enumerate(entries):
        if seen == _MOST_ENTRIES:
            raise UnreadableReportError(f"the folder of reports has more than {_MOST_ENTRIES} entries")
        # What is not a folder has no names in it.
        found = [f"{entry}/{name}" for name in untrusted_files.list_folder(root, entry)]
        files += [place for place in found if place.endswith(endings)]
        entries += [place for place in found if not place.endswith(endings)]
    return files
