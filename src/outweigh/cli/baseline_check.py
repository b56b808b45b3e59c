"""`outweigh baseline check`: run a few tasks again and compare them with a pin."""

from collections.abc import Sequence
from pathlib import Path

from outweigh.app.baseline import CHECKED_TASKS, CheckRequest, check_pin
from outweigh.cli.arguments import Parser, parse_repeats
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.progress import ConsoleObserver
from outweigh.cli.run import RUN_EXIT_CODES, RunOptions, run_parser
from outweigh.compare.arm_drift import ALARM_AT, COMBINED
from outweigh.engine.batch import EndReason
from outweigh.errors import UsageError
from outweigh.report.formatting import escape_controls


class _Options(RunOptions):
    """The options of `run`, and which pin to check on how many tasks."""

    pin: str
    tasks: int

    def refuse_other_runs(self) -> None:
        """A check runs the pinned arm, all of it, and anew."""
        refused = {
            "--head": self.head,
            "--reuse": self.reuse,
            "--until-decided": self.until_decided,
            "--dry-run": self.dry_run,
        }
        for option, value in refused.items():
            if value:
                raise UsageError(f"{option} cannot be used in a check, which runs the pinned arm again.")


def main(arguments: Sequence[str]) -> int:
    """Exit 0 where no drift is shown, 1 where it is. At most 5 % of pins that never drift are ever called drifted."""
    options = build_parser().parse_command(arguments, _Options())
    options.refuse_other_runs()
    request = CheckRequest(pin=Path(options.pin), tasks=options.tasks, run=options.run_request())
    checked = check_pin(request, ConsoleObserver(options.events))
    if isinstance(checked, EndReason):
        return RUN_EXIT_CODES[checked]
    name, result = escape_controls(checked.name), checked.result
    if result.drifted:
        print(f"{name} has drifted; run the baseline again and pin it:")
        print("\n".join(f"  - {escape_controls(finding)}" for finding in result.findings))
        return ExitCode.NOT_SATISFIED
    checks = f"{checked.checks} check{'s' * (checked.checks > 1)}, {checked.runs} runs of {checked.tasks} tasks"
    print(f"{name}: no drift shown ({checks}): evidence {result.evidence[COMBINED]:.2g}, alarm at {ALARM_AT:g}")
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = run_parser(
        "baseline check",
        "Run a few tasks of a pinned arm again, and report drift.",
        "outweigh baseline check outweigh-baselines/my-baseline -c my-suite --tasks 3",
    )
    parser.add_argument("pin", metavar="PIN", help="the folder of a pin")
    parser.group("Runs").add_argument(
        "--tasks",
        type=parse_repeats,
        default=CHECKED_TASKS,
        metavar="N",
        help="the number of tasks to run again (default: %(default)s)",
    )
    parser.set_defaults(repeats=1)
    return parser
