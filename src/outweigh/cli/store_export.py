"""`outweigh store export`: the records in another format."""

import sys
from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING

from outweigh.app.export import (
    FILE_WRITERS,
    ExportRequest,
    export_file,
    export_trajectories,
    is_file_of_records,
    refuse_gaps,
)
from outweigh.cli.arguments import Parser, parse_output
from outweigh.cli.console import print_escaped
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.reading_options import ReadingOptions, reading_parser
from outweigh.errors import UsageError
from outweigh.report.formatting import count_of

if TYPE_CHECKING:
    from outweigh.app.export_dataset import WrittenDataset


class _Options(ReadingOptions):
    output: str
    trajectories: bool
    inspect: bool
    plugin_eval: bool
    baseline: str | None
    candidate: str | None
    suite: str | None
    without_records: bool


def main(arguments: Sequence[str]) -> int:
    """Write one file or a dataset, whole or not at all, or a folder of trajectories or logs."""
    options = build_parser().parse_command(arguments, _Options())
    options.reads_datasets = not _others(options) and is_file_of_records(options.output)
    request = ExportRequest(evidence=options.evidence_request(), target=parse_output(options.output))
    if options.suite is not None and not (options.inspect or options.plugin_eval):
        raise UsageError("-c goes with --inspect and --plugin-eval, which have the instructions of tasks.")
    if (options.baseline or options.candidate) and not options.plugin_eval:
        raise UsageError("--baseline and --candidate go with --plugin-eval; the others have all arms.")
    is_dataset = options.output.endswith("/") and not _others(options)
    if options.without_records and not is_dataset:
        raise UsageError("--without-records goes with a dataset: -o DIR/, with a slash at the end.")
    if is_dataset:
        from outweigh.app.export_dataset import DatasetRequest, export_dataset  # noqa: PLC0415 - rarely used

        refuse_gaps(request)
        dataset = DatasetRequest(
            stores=request.evidence.stores, target=request.target, with_records=not options.without_records
        )
        written = export_dataset(dataset)
        for words in written.unread_arms:
            _warn(words)
        print_escaped(_describe_dataset(written))
    elif options.trajectories:
        export_trajectories(request, _warn)
    elif options.inspect:
        from outweigh.app.export_inspect import export_inspect  # noqa: PLC0415 - rarely used

        export_inspect(request, options.suite, _warn)
    elif options.plugin_eval:
        from outweigh.app.choose_arms import ArmChoice  # noqa: PLC0415 - rarely used
        from outweigh.app.export_plugin_eval import export_plugin_eval  # noqa: PLC0415

        candidates = () if options.candidate is None else (options.candidate,)
        command = f"outweigh store export --plugin-eval -o {options.output}"
        choice = ArmChoice(baseline=options.baseline, candidates=candidates, command=command)
        export_plugin_eval(request, choice, options.suite, _warn)
    else:
        export_file(request, _warn)
    return ExitCode.SATISFIED


def _others(options: _Options) -> bool:
    return options.trajectories or options.inspect or options.plugin_eval


def _describe_dataset(written: "WrittenDataset") -> str:
    manifest, folder = written.manifest, quote(str(written.folder))
    arms, parts = count_of(len(manifest.arms), "arm"), count_of(len(manifest.parts), "part")
    size = sum(file.bytes for file in manifest.all_files())
    return (
        f"{manifest.rows:,} runs of {arms} on {manifest.tasks:,} tasks in {parts}, {size / 1e6:,.1f} MB\n"
        f"written to {written.folder}; `outweigh verdict {folder}` reads it"
    )


def _warn(warning: str) -> None:
    print_escaped(f"outweigh: {warning}", to=sys.stderr)


def build_parser() -> Parser:
    """The options of this verb."""
    parser = reading_parser(
        "store export",
        "Write the records, the scores of every run, or the trajectories to files, or a dataset of columns.",
        "outweigh store export outweigh-runs/demo -o runs.csv",
        "outweigh store export outweigh-runs/demo -o demo-dataset/",
        "outweigh store export outweigh-runs/demo --inspect -o inspect-logs",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help=f"ends in one of {', '.join(FILE_WRITERS)}; or DIR/ for a dataset",
    )
    parser.add_argument(
        "--without-records",
        action="store_true",
        help="with DIR/: leave out the records themselves, which verdict and compare do not read",
    )
    group = parser.group("Other formats")
    folders = group.add_mutually_exclusive_group()
    folders.add_argument("--trajectories", action="store_true", help="write trajectories (ATIF) to a folder instead")
    folders.add_argument(
        "--inspect", action="store_true", help="write an Inspect log for every arm to a folder instead"
    )
    folders.add_argument(
        "--plugin-eval", action="store_true", help="write two arms as a result of `claude plugin eval` instead"
    )
    group.add_argument(
        "-c",
        "--suite",
        metavar="SUITE",
        help="with --inspect and --plugin-eval: the suite with the instructions of tasks",
    )
    group.add_argument("--baseline", metavar="ARM", help="with --plugin-eval: the arm without the plugin")
    group.add_argument("--candidate", metavar="ARM", help="with --plugin-eval: the arm with the plugin")
    return parser
