"""`outweigh baseline`: pin runs of a baseline, list pins, check them for drift, print the cache key."""

from collections.abc import Callable, Sequence
from pathlib import Path

from outweigh.app.baseline import (
    CHECKED_TASKS,
    PINS_FOLDER,
    CheckRequest,
    PinRequest,
    baseline_key,
    check_pin,
    pin_rows,
    pin_runs,
)
from outweigh.cli.arguments import Parser, add_format_option, parse_repeats, print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.progress import ConsoleObserver
from outweigh.cli.run import RUN_EXIT_CODES, RunOptions, SuiteOptions, add_suite_options, run_parser
from outweigh.compare.arm_drift import ALARM_AT, COMBINED
from outweigh.engine.batch import EndReason
from outweigh.errors import UsageError
from outweigh.report.formatting import escape_controls
from outweigh.report.pins_page import pins_report

USAGE = """usage: outweigh baseline pin|list|check|key …

  pin    keep the runs of an arm for later experiments
  list   what is pinned, how old it is, by which agents, and what its last check found
  check  run a few tasks again and compare them with a pin before it is trusted
  key    a hash of the baseline, the tasks and the settings, for caches of CI systems"""


def main(arguments: Sequence[str]) -> int:
    """Find the action and do it."""
    first = arguments[0] if arguments else "--help"
    if first in ("--help", "-h"):
        print(USAGE)
        return ExitCode.SATISFIED
    if first not in _ACTIONS:
        raise UsageError(f"there is no action {first!r}; `outweigh baseline` has {', '.join(_ACTIONS)}.")
    return _ACTIONS[first](arguments[1:])


class _PinOptions:
    """The options of `pin`, as the parser fills them in."""

    runs: str
    arm: str | None
    name: str | None
    output: str


def _pin(arguments: Sequence[str]) -> int:
    parser = Parser(prog="outweigh baseline pin", description="Keep the runs of an arm.", allow_abbrev=False)
    parser.add_argument("runs", metavar="STORE", help="a store that `outweigh run` wrote")
    parser.add_argument("--arm", metavar="ARM", help="whose runs (default: the baseline's)")
    parser.add_argument("--name", metavar="NAME", help="what to call the pin (default: made of suite, arm and runs)")
    parser.add_argument(
        "-o", "--output", default=PINS_FOLDER, metavar="DIR", help="where pins are (default: %(default)s)"
    )
    options = parser.parse_args(arguments, namespace=_PinOptions())
    pinned = pin_runs(
        PinRequest(store=Path(options.runs), arm=options.arm, name=options.name, folder=Path(options.output))
    )
    pin, place = pinned.pin, escape_controls(str(pinned.folder))
    if pinned.is_new:
        print(f"pinned {pin.runs} runs of {escape_controls(pin.arm)} on {len(pin.tasks)} tasks: {place}")
    else:
        print(f"these runs are pinned already: {place}")
    return ExitCode.SATISFIED


class _ListOptions:
    """The options of `list`, as the parser fills them in."""

    folder: str
    format: str


def _list(arguments: Sequence[str]) -> int:
    parser = Parser(prog="outweigh baseline list", description="What is pinned.", allow_abbrev=False)
    parser.add_argument("folder", nargs="?", default=PINS_FOLDER, metavar="DIR", help="the pins (default: %(default)s)")
    add_format_option(parser)
    options = parser.parse_args(arguments, namespace=_ListOptions())
    print_report(pins_report(pin_rows(Path(options.folder)), options.folder), options.format)
    return ExitCode.SATISFIED


class _CheckOptions(RunOptions):
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
                raise UsageError(f"{option} has no place in a check: it runs the pinned arm, and anew.")


def _check(arguments: Sequence[str]) -> int:
    """Exit 0 where no drift is shown, 1 where it is. At most 5 % of pins that never drift are ever called drifted."""
    parser = run_parser("baseline check", "Run a few tasks again and compare them with a pin.")
    parser.add_argument("pin", metavar="PIN", help="the folder of a pin")
    parser.add_argument(
        "--tasks",
        type=parse_repeats,
        default=CHECKED_TASKS,
        metavar="N",
        help="how many tasks to run again (default: %(default)s)",
    )
    parser.set_defaults(repeats=1)
    options = parser.parse_args(arguments, namespace=_CheckOptions())
    options.refuse_other_runs()
    request = CheckRequest(pin=Path(options.pin), tasks=options.tasks, run=options.run_request())
    checked = check_pin(request, ConsoleObserver(options.events))
    if isinstance(checked, EndReason):
        return RUN_EXIT_CODES[checked]
    name, result = escape_controls(checked.name), checked.result
    if result.drifted:
        print(f"{name} has drifted; run the baseline anew and pin it again:")
        print("\n".join(f"  - {escape_controls(finding)}" for finding in result.findings))
        return ExitCode.NOT_SATISFIED
    checks = f"{checked.checks} check{'s' * (checked.checks > 1)}, {checked.runs} runs of {checked.tasks} tasks"
    print(f"{name}: no drift shown ({checks}): evidence {result.evidence[COMBINED]:.2g}, alarm at {ALARM_AT:g}")
    return ExitCode.SATISFIED


def _key(arguments: Sequence[str]) -> int:
    parser = Parser(prog="outweigh baseline key", description="A key for caches of baselines.", allow_abbrev=False)
    add_suite_options(parser)
    options = parser.parse_args(arguments, namespace=SuiteOptions())
    print(baseline_key(options.suite_request()))
    return ExitCode.SATISFIED


_ACTIONS: dict[str, Callable[[Sequence[str]], int]] = {"pin": _pin, "list": _list, "check": _check, "key": _key}
