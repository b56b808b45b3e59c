"""A report as files: one in the format that its name ends in, or a folder with every format and every figure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from outweigh.errors import UsageError
from outweigh.ports.reporters import Reporter
from outweigh.report.document import Figure, Report, unfolded
from outweigh.report.history_page import HistoryCsvReporter
from outweigh.report.json_output import JsonReporter
from outweigh.report.ladder_csv import LadderCsvReporter
from outweigh.report.render_csv import csv_table
from outweigh.report.render_html import HtmlReporter
from outweigh.report.render_markdown import MarkdownReporter
from outweigh.report.render_tex import TexReporter
from outweigh.report.svg.elements import standalone_svg
from outweigh.store.durable_files import make_folder, write_atomic
from outweigh.store.store_address import refuse_address, scheme_of

FIGURES_FOLDER = "figures"


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """How the files of one kind of report are called in a folder, and its formats by the ending of a name."""

    name: str
    formats: Mapping[str, Reporter]

    def check(self, targets: Sequence[str]) -> None:
        """Refuse a name that no format has, and one that is given twice, before anything is computed."""
        for target in targets:
            refuse_address(target, f"-o {scheme_of(target)}://…")
            if not _is_folder(target) and Path(target).suffix not in self.formats:
                raise UsageError(
                    f"-o {target}: the name must end in one of {', '.join(self.formats)}, or in / for a folder with "
                    "all of these and every figure as .svg and .csv."
                )
            if targets.count(target) > 1:
                raise UsageError(f"-o {target} is given twice; name each file once.")

    def write(self, report: Report, target: str) -> list[Path]:
        """Write each file whole or not at all, and say which they are."""
        if not _is_folder(target):
            file = Path(target)
            write_atomic(file, [self.formats[file.suffix].render(report).encode()])
            return [file]
        folder = Path(target)
        try:
            make_folder(folder / FIGURES_FOLDER)
        except OSError as fault:
            raise UsageError(f"-o {target}: the folder cannot be made: {fault.strerror}.") from fault
        files = self.contents(report)
        for name, content in files.items():
            write_atomic(folder / name, [content.encode()])
        return [folder / name for name in files]

    def contents(self, report: Report) -> dict[str, str]:
        """The files of a folder: every format and every figure."""
        files = {f"{self.name}{suffix}": reporter.render(report) for suffix, reporter in self.formats.items()}
        return files | {f"{FIGURES_FOLDER}/{name}": content for name, content in _figure_files(report)}


_FORMATS: Mapping[str, Reporter] = {
    ".html": HtmlReporter(),
    ".md": MarkdownReporter(),
    ".json": JsonReporter(),
}

LADDER_FILES = ReportFiles("ladder", {**_FORMATS, ".csv": LadderCsvReporter(), ".tex": TexReporter()})
HISTORY_FILES = ReportFiles("history", {**_FORMATS, ".csv": HistoryCsvReporter()})
PARTS_FILES = ReportFiles("parts", {**_FORMATS, ".tex": TexReporter()})
TRIGGER_FILES = ReportFiles("triggers", _FORMATS)


def _figure_files(report: Report) -> Iterator[tuple[str, str]]:
    """Every figure that has a name, as a drawing and as a table of what is drawn."""
    for block in unfolded(report.blocks):
        if isinstance(block, Figure) and block.values is not None:
            yield f"{block.name}.svg", standalone_svg(block.draw())
            yield f"{block.name}.csv", csv_table(block.values.columns, block.values.rows)


def _is_folder(target: str) -> bool:
    return target.endswith("/") or Path(target).is_dir()
