"""What the verbs share: the argument parser, common options, number types, and printing a report."""

import argparse
import os
import sys
from typing import NoReturn

from outweigh.errors import UsageError
from outweigh.ports.reporters import Reporter
from outweigh.report.document import Report

MAX_REPEATS_OPTION = 10_000
MAX_JOBS = 1_000
PORT_COUNT = 65_536


def parse_repeats(text: str) -> int:
    """How often each trial is made."""
    return _parse_whole(text, MAX_REPEATS_OPTION)


def parse_jobs(text: str) -> int:
    """How many things at once."""
    return _parse_whole(text, MAX_JOBS)


def parse_port(text: str) -> int:
    """Where to listen."""
    if not text.isdecimal() or int(text) >= PORT_COUNT:
        raise UsageError(f"--port {text}: a port is a number below {PORT_COUNT}, 0 takes any that is free.")
    return int(text)


def parse_dollars(text: str) -> float:
    """An amount that can be spent."""
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 < amount < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount in dollars")
    return amount


def _parse_whole(text: str, most: int) -> int:
    number = int(text) if text.isdecimal() and len(text) < 10 else 0
    if not 1 <= number <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number between 1 and {most:,}")
    return number


OUTPUT_FORMATS = ("text", "json", "markdown")


class Parser(argparse.ArgumentParser):
    """Raises instead of printing its own usage text, so that every error looks the same."""

    def error(self, message: str) -> NoReturn:
        """Turn the parser's complaint into ours."""
        dash = (
            " Write --option=VALUE for a value that starts with a dash." if "expected one argument" in message else ""
        )
        raise UsageError(f"{message}.{dash} `{self.prog} --help` shows the options.")


def add_damage_option(parser: Parser) -> None:
    """What to do about damaged lines, for verbs that write to a store."""
    parser.add_argument(
        "--go-on-without",
        action="store_true",
        help="go on although lines of the store are damaged, and make anew what they recorded",
    )


def add_format_option(parser: Parser) -> None:
    """How the answer looks."""
    parser.add_argument("--format", choices=OUTPUT_FORMATS, default="text", help="default: %(default)s")


def print_report(report: Report, style: str) -> None:
    """Print the answer."""
    text = _choose_reporter(style).render(report)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as fault:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise UsageError(f"the answer cannot be written: {fault.strerror}.") from fault


def _choose_reporter(style: str) -> Reporter:
    if style == "json":
        from outweigh.report.json_output import JsonReporter  # noqa: PLC0415 - one of three is needed

        return JsonReporter()
    if style == "markdown":
        from outweigh.report.render_markdown import MarkdownReporter  # noqa: PLC0415

        return MarkdownReporter()
    from outweigh.report.render_text import TextReporter  # noqa: PLC0415

    return TextReporter(colour=sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
