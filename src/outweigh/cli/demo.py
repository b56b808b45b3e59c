"""`outweigh demo`: the whole flow, offline, on one screen: run the bundled suite, decide, and write a report."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from outweigh.app.decide import DecideRequest, DecisionResult
from outweigh.app.evidence import EvidenceRequest
from outweigh.app.observer import RunSummary
from outweigh.app.report import ReportRequest, report
from outweigh.app.run import run
from outweigh.app.run_request import RunRequest
from outweigh.app.suite_selection import SuiteRequest
from outweigh.cli.arguments import Parser, print_report, screen_width
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.progress import ConsoleObserver, print_run_summary
from outweigh.cli.run import RUN_EXIT_CODES
from outweigh.engine.batch import EndReason
from outweigh.report.formatting import escape_controls
from outweigh.store.store_set import StoreSet

START_COMMAND = "outweigh init my-suite"
DEMO_SUITE = Path(__file__).resolve().parents[1] / "demo_suite"


class _DemoObserver(ConsoleObserver):
    """Shows progress, and sums up only a run that did not get to its end: the verdict follows at once."""

    def runs_ended(self, summary: RunSummary) -> None:
        if summary.stop is not EndReason.DONE:
            print_run_summary(summary)


def main(arguments: Sequence[str]) -> int:
    """Show every command and the verdict on one screen. The exit code says that it worked, whatever the verdict is."""
    store = Path(build_parser().parse_args(arguments).output)
    _show("run", "-c", str(DEMO_SUITE), "-o", str(store))
    ended = run(RunRequest(suite=SuiteRequest(path=str(DEMO_SUITE)), output=store), _DemoObserver(None))
    if ended is not EndReason.DONE:
        return RUN_EXIT_CODES[ended] if isinstance(ended, EndReason) else ExitCode.NOT_SATISFIED
    page = store / "report.html"
    decided = _write_report(store, page)
    command = _show("verdict", str(store))
    print_report(decided.summary(command=command, width=screen_width(), written=page), "text")
    print(f"The agent is simulated; the tasks and their checks are real. Your own suite: {START_COMMAND}")
    return ExitCode.SATISFIED


def _write_report(store: Path, page: Path) -> DecisionResult:
    """The page that the next command of the verdict would write."""
    command = shlex.join(["outweigh", "report", str(store), "-o", str(page)])
    request = DecideRequest(evidence=EvidenceRequest(stores=StoreSet.open([str(store)])))
    return report(ReportRequest(decide=request, command=command, output=page)).decided


def _show(*words: str) -> str:
    """Print the command that a user would type; flushed, because what follows may write to the other stream."""
    command = shlex.join(["outweigh", *words])
    print(f"$ {escape_controls(command)}", flush=True)
    return command


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh demo",
        description="Try the whole flow offline: run the suite that ships with outweigh, decide, and write a report.",
        examples=("outweigh demo", "outweigh demo -o outweigh-runs/second-try"),
    )
    parser.add_argument(
        "-o",
        "--output",
        default=str(Path("outweigh-runs") / "demo"),
        metavar="DIR",
        help="the store; resumed if it exists (default: %(default)s)",
    )
    return parser
