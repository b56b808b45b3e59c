"""What the verbs share: the argument parser, common options, number types, and printing a report."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from outweigh.app.decide import choose_baseline, choose_candidates
from outweigh.compare.evidence import Evidence, gather
from outweigh.errors import UsageError
from outweigh.model.codec import InvalidLine, LocatedRecord, refuse_invalid
from outweigh.ports.reporters import Reporter
from outweigh.prices import price_tables
from outweigh.report.document import Report
from outweigh.score.objective import Change
from outweigh.store.records import STANDARD_INPUT, RecordReader, unread_rows
from outweigh.store.store import TamperCheck, ignored_rules_warnings, judge_rules_of_stores, single_experiment

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


def reading_parser(verb: str, description: str) -> Parser:
    """A parser with what every reading verb takes."""
    parser = Parser(prog=f"outweigh {verb}", description=description, allow_abbrev=False)
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUNS",
        help="a .jsonl file of run records (outweigh's own or a collected.jsonl), a folder of them, or -",
    )
    parser.add_argument("--skip-invalid", action="store_true", help="go on without lines that cannot be read")
    parser.add_argument("--prices", metavar="FILE", help="your own prices (TOML); they win over the bundled ones")
    return parser


def add_arm_options(parser: Parser, *, several: bool = False) -> None:
    """Which arms, weighed how."""
    parser.add_argument("--baseline", metavar="ARM", help="the arm to compare with (default: the suite's)")
    parser.add_argument(
        "--candidate",
        metavar="ARM",
        action="append",
        help="the arm that may replace it"
        + (" (default: every other); repeat it to judge several together" if several else " (default: the only other)"),
    )
    add_profile_option(parser)


def add_profile_option(parser: Parser) -> None:
    """How a composite weighs its parts."""
    parser.add_argument(
        "--profile",
        choices=("objective_first", "even"),
        help="weights of the composite (default: the suite's, else objective_first)",
    )


def add_changes_option(parser: Parser) -> None:
    """What the user knows about merged changes."""
    parser.add_argument("--changes", metavar="FILE", help="what became of each arm's changes (JSON Lines)")


def add_inference_options(parser: Parser) -> None:
    """What the numbers speak of."""
    parser.add_argument(
        "--infer",
        choices=("tasks", "runs"),
        default="tasks",
        help="tasks: tasks like these (default); runs: this very suite",
    )
    parser.add_argument(
        "--seed", type=_parse_seed, default=0, metavar="N", help="for everything drawn (default: %(default)s)"
    )


def add_format_option(parser: Parser) -> None:
    """How the answer looks."""
    parser.add_argument("--format", choices=OUTPUT_FORMATS, default="text", help="default: %(default)s")


def read_records(options: argparse.Namespace, skipped: list[InvalidLine]) -> Iterator[LocatedRecord]:
    """Every record RUNS names; unreadable lines end the reading or go to `skipped`, as the user asked."""
    on_invalid = skipped.append if options.skip_invalid else refuse_invalid
    for path in options.runs:
        yield from RecordReader(path).records(on_invalid)
        if path != STANDARD_INPUT:
            # The user agreed to go on without these when they were imported; they are remembered all the same.
            skipped += unread_rows(Path(path))


def gather_evidence(options: argparse.Namespace) -> Evidence:
    """Read, check and score everything RUNS names."""
    skipped: list[InvalidLine] = []
    rules = TamperCheck()
    evidence = gather(
        rules.watch(read_records(options, skipped)),
        prices=price_tables(options.prices),
        changes=_read_changes(getattr(options, "changes", None)),
        skipped=skipped,
        jury=judge_rules_of_stores(options.runs),
    )
    rules.refuse_edits(options.runs)
    return replace(evidence, warnings=(*evidence.warnings, *ignored_rules_warnings(options.runs)))


def arms_to_compare(
    options: argparse.Namespace, evidence: Evidence, *, several: bool = False
) -> tuple[str, Sequence[str]]:
    """Baseline and candidates. Which is which is never guessed: who is not named comes from the suite that was run.

    With `several`, all other arms are candidates where none is named.
    """
    experiment = single_experiment(options.runs)
    baseline = choose_baseline(experiment, evidence) if options.baseline is None else options.baseline
    if not options.candidate:
        return baseline, choose_candidates(experiment, evidence, baseline, several=several)
    if len(set(options.candidate)) < len(options.candidate):
        raise UsageError("--candidate names an arm twice.")
    return baseline, options.candidate


def print_report(report: Report, style: str) -> None:
    """Print the answer."""
    text = _choose_reporter(style).render(report)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as fault:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise UsageError(f"the answer cannot be written: {fault.strerror}.") from fault


def _parse_seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def _read_changes(path: str | None) -> Sequence[Change]:
    if path is None:
        return ()
    from outweigh.app.decide import read_changes  # noqa: PLC0415 - rarely used

    return read_changes(path)


def _choose_reporter(style: str) -> Reporter:
    if style == "json":
        from outweigh.report.json_output import JsonReporter  # noqa: PLC0415 - one of three is needed

        return JsonReporter()
    if style == "markdown":
        from outweigh.report.render_markdown import MarkdownReporter  # noqa: PLC0415

        return MarkdownReporter()
    from outweigh.report.render_text import TextReporter  # noqa: PLC0415

    return TextReporter(colour=sys.stdout.isatty() and not os.environ.get("NO_COLOR"))
