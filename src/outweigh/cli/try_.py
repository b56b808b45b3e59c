"""`outweigh try`: from a change of an agent's set-up to a first answer, in one command."""

import shlex
import sys
from collections.abc import Sequence

from outweigh.app.try_budget import DEFAULT_BUDGET_USD
from outweigh.app.try_change import PreparedTry, TryChangeRequest, prepare_try
from outweigh.cli.arguments import (
    CommandOptions,
    Parser,
    parse_dollars,
    parse_jobs,
    print_report,
    screen_width,
)
from outweigh.cli.console import is_confirmed, print_escaped
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.plan import number_between
from outweigh.cli.progress import ConsoleObserver
from outweigh.cli.run import RUN_EXIT_CODES
from outweigh.engine.batch import EndReason
from outweigh.report.formatting import format_dollars
from outweigh.report.try_page import try_report
from outweigh.verdict.evidence_settings import MINIMUM_TASKS

DEFAULT_GAIN_POINTS = 10.0


class _Options(CommandOptions):
    subject: str
    suite: str | None
    agent: str | None
    model: str | None
    base: str | None
    budget: float | None
    run_cost: float | None
    gain: float
    jobs: int
    yes: bool

    def try_request(self) -> TryChangeRequest:
        """What the options ask for."""
        return TryChangeRequest(
            named=self.subject,
            suite=self.suite,
            agent=self.agent,
            model=self.model,
            base=self.base,
            # Whoever is not asked spends no more than the smallest default.
            budget_usd=DEFAULT_BUDGET_USD if self.budget is None and self.yes else self.budget,
            run_usd=self.run_cost,
            gain=self.gain / 100,
            jobs=self.jobs,
        )


def main(arguments: Sequence[str]) -> int:
    """Show the plan, ask, run until decided, and print the verdict."""
    options = build_parser().parse_command(arguments, _Options())
    observer = ConsoleObserver(None, shlex.join(options.command), verdict_follows=True)
    prepared = prepare_try(options.try_request(), observer)
    print_report(try_report(prepared.forecast), "text")
    sys.stdout.flush()
    if not (options.yes or prepared.pretends is not None or _is_agreed(prepared)):
        print_escaped(f"Nothing was run. The suite is ready: outweigh run -c {prepared.forecast.folder}")
        return ExitCode.NOT_SATISFIED
    ended = prepared.run(observer)
    if observer.comparable_store is not None and ended is not EndReason.INTERRUPTED:
        _print_verdict(prepared)
    return RUN_EXIT_CODES[ended]


def _is_agreed(prepared: PreparedTry) -> bool:
    budget = format_dollars(prepared.forecast.budget_usd)
    return is_confirmed(f"Spend up to {budget} on {prepared.forecast.runs} runs? [y/N] ")


def _print_verdict(prepared: PreparedTry) -> None:
    decided, page = prepared.decide()
    command = shlex.join(["outweigh", "verdict", str(prepared.store)])
    print_report(decided.summary(command=command, width=screen_width(), written=page), "text")
    if prepared.pretends is not None:
        print_escaped(f"The agent only pretended, so this says nothing about {prepared.subject.name}.")


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh try",
        description="Try a change of your agent's set-up on tasks of your repository, within a small budget.",
        examples=(
            "outweigh try CLAUDE.md",
            "outweigh try .claude/skills/release-notes --budget 20",
            "outweigh try AGENTS.md --base main -a codex",
            "outweigh try claude-haiku-4-5 -s my-suite -y",
        ),
    )
    parser.add_argument(
        "subject",
        metavar="WHAT",
        help="a file such as CLAUDE.md, a folder with a skill or a plugin, an .mcp.json, or the name of a model",
    )
    _add_setting_options(parser)
    _add_spending_options(parser)
    return parser


def _add_setting_options(parser: Parser) -> None:
    group = parser.group("What is compared")
    group.add_argument(
        "--base", metavar="REF", help="compare with WHAT as it is in this commit (default: with nothing of it)"
    )
    group.add_argument(
        "-s", "--suite", metavar="SUITE", help="the suite with the tasks (default: the repository's, else a mined one)"
    )
    group.add_argument("-a", "--agent", metavar="AGENT", help="the agent (default: the first that is installed)")
    group.add_argument(
        "-m", "--model", metavar="MODEL", help="its model, in the baseline where WHAT is one (default: its own)"
    )


def _add_spending_options(parser: Parser) -> None:
    group = parser.group("Runs")
    group.add_argument(
        "--budget",
        type=parse_dollars,
        metavar="USD",
        help=f"spend no more than this (default: {DEFAULT_BUDGET_USD:g}, or what {MINIMUM_TASKS} tasks cost)",
    )
    group.add_argument(
        "--run-cost", type=parse_dollars, metavar="USD", help="what a run costs (default: a typical run at list prices)"
    )
    group.add_argument(
        "--gain",
        type=number_between(1, 90),
        default=DEFAULT_GAIN_POINTS,
        metavar="POINTS",
        help="the rise of the pass rate that the chance of a decision is told for (default: %(default)g)",
    )
    group.add_argument(
        "-j", "--jobs", type=parse_jobs, default=2, metavar="N", help="runs at a time (default: %(default)s)"
    )
    group.add_argument("-y", "--yes", action="store_true", help="spend the budget without asking")
