"""`outweigh suite prune`: which tasks are enough, chosen by other runs than those that judge?"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from shlex import join, quote

from outweigh.app.chosen_suite import WrittenSelection
from outweigh.app.prune_suite import PruneRequest, prune_suite
from outweigh.cli.arguments import Parser, add_format_option, print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.reading_options import ReadingOptions, reading_parser
from outweigh.errors import UsageError
from outweigh.report.formatting import option_words
from outweigh.report.prune_page import PrunedSuite, prune_report

DEFAULT_POWER = 0.9


class _Options(ReadingOptions):
    reads_datasets: bool = True
    keep_power: float | None
    tasks: int | None
    judge: list[str] | None
    suite: str | None
    output: str
    seed: int
    format: str


def main(arguments: Sequence[str]) -> int:
    """Choose tasks, write them down, and say how they were chosen."""
    options = build_parser().parse_command(arguments, _Options())
    if options.keep_power is not None and options.tasks is not None:
        raise UsageError("--keep-power and --tasks both say how much to keep; use one of them.")
    request = PruneRequest(
        evidence=options.evidence_request(),
        output=Path(options.output),
        keep_power=options.keep_power or DEFAULT_POWER,
        tasks=options.tasks,
        judged=tuple(options.judge or ()),
        suite=options.suite,
        seed=options.seed,
    )
    pruned, written = prune_suite(request)
    print_report(prune_report(pruned, str(written.folder), _next_commands(pruned, written, options)), options.format)
    return ExitCode.SATISFIED


def _next_commands(pruned: PrunedSuite, written: WrittenSelection, options: _Options) -> tuple[str, ...]:
    commands = []
    if written.is_suite:
        commands.append(f"run these tasks: outweigh run -c {quote(str(written.folder))}")
    if len(pruned.judged) > 1:
        baseline, *candidates = pruned.judged
        arms = [word for name in candidates for word in option_words("--candidate", name)]
        reading = [*options.runs, "--task-list", str(written.folder), *option_words("--baseline", baseline), *arms]
        commands.append(f"judge by the runs that are left: outweigh verdict {join(reading)}")
    return tuple(commands) or ("a list of tasks; -c SUITE makes a suite of them that can be run.",)


def build_parser() -> Parser:
    """The options of this verb."""
    parser = reading_parser(
        "suite prune",
        "Choose the cheapest tasks that keep most of what the suite tells about arms that the choice did not see, and "
        "write them as a smaller suite, or as a list of tasks.",
        "outweigh suite prune outweigh-runs/demo --keep-power 0.9 -o smaller",
        "outweigh suite prune outweigh-runs/demo --tasks 8 --judge plain --judge better -o half",
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", required=True, help="the folder to write; nothing in it is overwritten"
    )
    parser.add_argument(
        "--keep-power",
        type=_parse_share,
        metavar="X",
        help=f"the share of the t statistic to keep, at least (default: {DEFAULT_POWER})",
    )
    parser.add_argument(
        "--tasks", type=_parse_number, metavar="N", help="keep the N tasks that tell most, whatever they cost"
    )
    parser.add_argument(
        "--judge",
        metavar="ARM",
        action="append",
        help="an arm that these records are to judge: tasks are chosen by the others; may be repeated",
    )
    parser.add_argument(
        "-c",
        "--suite",
        metavar="SUITE",
        help="the suite that was run (default: the one of this folder, or just below it, that the store names)",
    )
    parser.add_argument(
        "--seed", type=_parse_seed, default=0, metavar="N", help="seed for ties between tasks (default: %(default)s)"
    )
    add_format_option(parser)
    return parser


def _parse_share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share above 0 and up to 1, such as 0.9")
    return share


def _parse_number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of tasks (1 or more)")
    return int(text)


def _parse_seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)
