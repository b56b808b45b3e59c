"""`outweigh ci`: base against head as one step of a CI job: run, decide, write the reports, set the job's outputs."""

import sys
from collections.abc import Sequence
from pathlib import Path

from outweigh.app.ci import CiRequest, run_ci
from outweigh.app.ci_host import CiHost, current_host
from outweigh.app.decide import REQUIREMENTS
from outweigh.app.run_request import RunPreview
from outweigh.cli.arguments import Parser
from outweigh.cli.console import write_notice
from outweigh.cli.exit_codes import REQUIREMENT_CODES, ExitCode
from outweigh.cli.progress import ConsoleObserver
from outweigh.cli.run import RUN_EXIT_CODES, RunOptions, print_preview, run_parser
from outweigh.engine.batch import EndReason
from outweigh.report.formatting import escape_controls


class _Options(RunOptions):
    """The options of `run`, what the candidate is required to be, and where the repository's verdicts are."""

    require: str
    ledger: str | None
    history: str | None


def main(arguments: Sequence[str]) -> int:
    """Exit with the worse of `run` and `verdict`; 0 where there is nothing to judge, or nothing to judge it with."""
    options, host = build_parser().parse_command(arguments, _Options()), current_host()
    file, history = (None if name is None else Path(name) for name in (options.ledger, options.history))
    request = CiRequest(run=options.run_request(), require=options.require, ledger=file, history=history)
    result = run_ci(request, host, ConsoleObserver(options.events), lambda text: _warn(host, text))
    if isinstance(result, RunPreview):
        print_preview(result)
        return ExitCode.SATISFIED
    if isinstance(result, EndReason):
        return RUN_EXIT_CODES[result]
    outcome, ledger = result.outcome, result.outcome.ledger
    told = (outcome.headline, outcome.sentence, outcome.reason, "" if ledger is None else ledger.words)
    for words in filter(None, told):
        write_notice(f"{escape_controls(words)}\n", sys.stdout)
    ran = ExitCode.SATISFIED if result.ended is None else RUN_EXIT_CODES[result.ended]
    return max(ran, REQUIREMENT_CODES[result.meets])


def _warn(host: CiHost, text: str) -> None:
    """Where nobody overlooks it."""
    if (line := host.annotation(text)) is not None:
        write_notice(line, sys.stdout)
    else:
        write_notice(f"outweigh: {text}\n", sys.stderr)


def build_parser() -> Parser:
    """The options of this verb."""
    parser = run_parser(
        "ci",
        "Compare base and head as one step of a CI job: run, decide, write reports, and set the outputs of the job.",
        "outweigh ci -c my-suite --base origin/main --head HEAD --budget 20",
        "outweigh ci -c my-suite --base origin/main --head HEAD --require not-regressed",
    )
    parser.epilog = "`outweigh ci comment` posts the result on a pull request, with a token that agents never see."
    group = parser.group("Decision")
    group.add_argument(
        "--require",
        choices=tuple(REQUIREMENTS),
        default="improved",
        help="what must hold for exit code 0 (default: %(default)s)",
    )
    group.add_argument(
        "--ledger",
        metavar="FILE",
        help="the verdicts of this repository (default: ledger.log beside the pins of --reuse, or beside the store)",
    )
    group.add_argument(
        "--history", metavar="DIR", help="copy the records into a folder below this one, for `outweigh history`"
    )
    return parser
