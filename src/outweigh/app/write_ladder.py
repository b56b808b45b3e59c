"""A ladder as files: one in the format that its name ends in, or a folder with every format and every figure."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from outweigh.errors import UsageError
from outweigh.ports.reporters import Reporter
from outweigh.report.document import Figure, Report, unfolded
from outweigh.report.json_output import JsonReporter
from outweigh.report.ladder_csv import LadderCsvReporter
from outweigh.report.render_csv import csv_table
from outweigh.report.render_html import HtmlReporter
from outweigh.report.render_markdown import MarkdownReporter
from outweigh.report.render_tex import TexReporter
from outweigh.report.svg.elements import standalone_svg
from outweigh.store.durable_files import make_folder, write_atomic

LADDER_REPORTERS: Mapping[str, Reporter] = {
    ".html": HtmlReporter(),
    ".md": MarkdownReporter(),
    ".json": JsonReporter(),
    ".csv": LadderCsvReporter(),
    ".tex": TexReporter(),
}
FILE_NAME, FIGURES_FOLDER = "ladder", "figures"


def check_targets(targets: Sequence[str]) -> None:
    """Refuse a name that no format has, and one that is given twice, before anything is computed."""
    for target in targets:
        if not _is_folder(target) and Path(target).suffix not in LADDER_REPORTERS:
            raise UsageError(
                f"-o {target}: the name must end in one of {', '.join(LADDER_REPORTERS)}, or in / for a folder with "
                "all of these and every figure as .svg and .csv."
            )
        if targets.count(target) > 1:
            raise UsageError(f"-o {target} is given twice; name each file once.")


def write_ladder(report: Report, target: str) -> list[Path]:
    """Write each file whole or not at all, and say which they are."""
    if not _is_folder(target):
        file = Path(target)
        write_atomic(file, [LADDER_REPORTERS[file.suffix].render(report).encode()])
        return [file]
    folder = Path(target)
    try:
        make_folder(folder / FIGURES_FOLDER)
    except OSError as fault:
        raise UsageError(f"-o {target}: the folder cannot be made: {fault.strerror}.") from fault
    files = ladder_files(report)
    for name, content in files.items():
        write_atomic(folder / name, [content.encode()])
    return [folder / name for name in files]


def ladder_files(report: Report) -> dict[str, str]:
    """The files of a folder: every format and every figure."""
    files = {f"{FILE_NAME}{suffix}": reporter.render(report) for suffix, reporter in LADDER_REPORTERS.items()}
    return files | {f"{FIGURES_FOLDER}/{name}": content for name, content in figure_files(report)}


def figure_files(report: Report) -> Iterator[tuple[str, str]]:
    """Every figure that has a name, as a drawing and as a table of what is drawn."""
    for block in unfolded(report.blocks):
        if isinstance(block, Figure) and block.values is not None:
            yield f"{block.name}.svg", standalone_svg(block.draw())
            yield f"{block.name}.csv", csv_table(block.values.columns, block.values.rows)


def _is_folder(target: str) -> bool:
    return target.endswith("/") or Path(target).is_dir()
