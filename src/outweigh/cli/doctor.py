"""`outweigh doctor`: what works on this machine, and whether a suite's tasks can tell arms apart."""

import sys
from collections.abc import Sequence
from pathlib import Path

from outweigh.app.doctor import TASK_RESULTS_FILE, DoctorRequest, examine
from outweigh.app.this_folder import has_suite
from outweigh.cli.arguments import CommandOptions, Parser, add_format_option, print_report
from outweigh.cli.console import error_stream
from outweigh.cli.defaults import choose_suite_file
from outweigh.cli.exit_codes import ExitCode
from outweigh.errors import UsageError
from outweigh.report.doctor_page import LiveEstimate, doctor_report


class _Options(CommandOptions):
    """The options, as the parser fills them in."""

    suite: str | None
    output: str | None
    try_agents: bool
    attack: bool
    live: bool
    yes: bool
    format: str


def main(arguments: Sequence[str]) -> int:
    """Look at everything, try every task, and say what is in the way."""
    options = build_parser().parse_command(arguments, _Options())
    if options.suite is None and has_suite():
        options.suite = choose_suite_file(None, options.command)
    request = DoctorRequest(
        suite=options.suite,
        output=None if options.output is None else Path(options.output),
        try_agents=options.try_agents,
        attack=options.attack,
        live=options.live,
    )
    result = examine(request, _announce, (lambda _: True) if options.yes else _confirm)
    print_report(doctor_report(result), options.format)
    return ExitCode.NOT_SATISFIED if result.blocked else ExitCode.SATISFIED


def _confirm(estimate: LiveEstimate) -> bool:
    """Ask before anything is paid for."""
    asked = ", ".join(estimate.asked)
    if not sys.stdin.isatty():
        raise UsageError(
            f"--live asks {asked} once each, for {estimate}, and there is no terminal to confirm it; add --yes."
        )
    print(f"--live asks {asked} once each, for {estimate}. Go on? [y/N] ", end="", file=error_stream(), flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _announce(text: str) -> None:
    """Only for a person who waits; a log needs no line about what comes next."""
    if sys.stderr.isatty():
        print(text, file=sys.stderr)


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh doctor",
        description="Check what works on this machine; with a suite, also whether its tasks fail untouched and pass "
        "when solved. Nothing is paid, except with --live.",
        examples=(
            "outweigh doctor",
            "outweigh doctor -c my-suite",
            "outweigh doctor -c my-suite --attack",
            "outweigh doctor -c my-suite --live",
        ),
    )
    parser.add_argument(
        "-c",
        "--suite",
        metavar="SUITE",
        help="a suite.toml, or the folder it is in (default: this folder's, where there is one)",
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", help=f"write the results of the tasks to DIR/{TASK_RESULTS_FILE}"
    )
    parser.add_argument(
        "--try-agents",
        action="store_true",
        help="start every agent (with a suite: every arm) once, in the sandbox, against a scripted model that is free",
    )
    parser.add_argument(
        "--attack",
        action="store_true",
        help="try known cheats on every unsolved task of the suite, and fail where one passes",
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="ask every agent and judge of the suite once, with the login, network and model of a run; costs a few "
        "cents, and asks you first",
    )
    parser.add_argument("-y", "--yes", action="store_true", help="with --live, do not ask first")
    add_format_option(parser)
    return parser
