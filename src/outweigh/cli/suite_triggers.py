"""`outweigh suite triggers`: does a skill fire when it should, and stay quiet when it should not?"""

from collections.abc import Sequence

from outweigh.app.suite_triggers import TriggersRequest, examine_triggers
from outweigh.cli.arguments import Parser, add_format_option, add_output_option, print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.reading_options import ReadingOptions, reading_parser


class _Options(ReadingOptions):
    cases: str | None
    format: str
    output: list[str]


def main(arguments: Sequence[str]) -> int:
    """Print recall and false triggers of every skill."""
    options = build_parser().parse_command(arguments, _Options())
    if options.output:
        from outweigh.cli.output_files import TRIGGER_FILES  # noqa: PLC0415 - formats are only needed for files

        TRIGGER_FILES.check(options.output)
    report = examine_triggers(TriggersRequest(evidence=options.evidence_request(), cases=options.cases))
    if options.output:
        from outweigh.cli.output_files import write_files  # noqa: PLC0415

        write_files(TRIGGER_FILES, report, options.output)
    else:
        print_report(report, options.format)
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = reading_parser(
        "suite triggers",
        "Show how often each skill fires in trigger cases that should make it fire and in those that should not, with "
        "intervals over cases, which skill was asked for instead, and whether the model was told about it at all.",
        "outweigh suite triggers outweigh-runs/triggers",
        "outweigh suite triggers outweigh-runs/imported --cases cases.toml -o triggers.html",
    )
    parser.add_argument(
        "--cases",
        metavar="FILE",
        help="a file of [[case]] tables with task, skill and should_fire, for records that do not say what their "
        "tasks expect",
    )
    add_output_option(parser, ".html, .md or .json", "the answer")
    add_format_option(parser)
    return parser
