"""`outweigh doctor`: what works on this machine, and whether a suite's tasks can tell arms apart."""

import sys
from collections.abc import Sequence
from pathlib import Path

from outweigh.app.doctor import TASK_RESULTS_FILE, DoctorRequest, examine
from outweigh.cli.arguments import Parser, add_format_option, print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.report.doctor_page import doctor_report


class _Options:
    """The options, as the parser fills them in."""

    suite: str | None
    output: str | None
    try_agents: bool
    attack: bool
    format: str


def main(arguments: Sequence[str]) -> int:
    """Look at everything, try every task, and say what is in the way."""
    options = build_parser().parse_args(arguments, namespace=_Options())
    request = DoctorRequest(
        suite=options.suite,
        output=None if options.output is None else Path(options.output),
        try_agents=options.try_agents,
        attack=options.attack,
    )
    result = examine(request, _announce)
    print_report(doctor_report(result), options.format)
    return ExitCode.NOT_SATISFIED if result.blocked else ExitCode.SATISFIED


def _announce(text: str) -> None:
    """Only for a person who waits; a log needs no line about what comes next."""
    if sys.stderr.isatty():
        print(text, file=sys.stderr)


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh doctor",
        description="What works here; with a suite, whether its tasks fail untouched and pass when solved. Nothing is "
        "paid.",
        allow_abbrev=False,
    )
    parser.add_argument("-c", "--suite", metavar="SUITE", help="a suite.toml, or the folder it is in")
    parser.add_argument("-o", "--output", metavar="DIR", help=f"keep what the tasks showed in DIR/{TASK_RESULTS_FILE}")
    parser.add_argument(
        "--try-agents",
        action="store_true",
        help="start every agent once, with a suite every arm, in the sandbox and against a scripted model that is free",
    )
    parser.add_argument(
        "--attack",
        action="store_true",
        help="try the known cheats on every task of the suite, unsolved, and fail where one passes",
    )
    add_format_option(parser)
    return parser
