"""`outweigh baseline`: pin runs of a baseline, list pins, check them for drift, print the cache key."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import msgspec

from outweigh.app.baseline import PINS_FOLDER, check_baseline, pin_baseline
from outweigh.app.suite_selection import add_suite_options, choose_suite
from outweigh.cli.arguments import Parser, add_format_option, print_report
from outweigh.cli.exit_codes import ExitCode
from outweigh.engine.load_suite import effective_repeats
from outweigh.errors import UsageError
from outweigh.model.suite import settings_fingerprint
from outweigh.report.pins_page import PinRow, pins_report
from outweigh.store.pins import find_pins, read_check, read_pin

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


def list_pins(arguments: Sequence[str]) -> int:
    """Every pin of a folder; a folder that does not exist has none."""
    parser = Parser(prog="outweigh baseline list", description="What is pinned.", allow_abbrev=False)
    parser.add_argument("folder", nargs="?", default=PINS_FOLDER, metavar="DIR", help="the pins (default: %(default)s)")
    add_format_option(parser)
    options = parser.parse_args(arguments)
    now = datetime.now(UTC)
    print_report(
        pins_report(tuple(_pin_row(path, now) for path in find_pins(Path(options.folder))), options.folder),
        options.format,
    )
    return ExitCode.SATISFIED


def print_key(arguments: Sequence[str]) -> int:
    """The same key means that the same baseline would be run on the same tasks as often, under the same settings."""
    parser = Parser(prog="outweigh baseline key", description="A key for caches of baselines.", allow_abbrev=False)
    add_suite_options(parser)
    with choose_suite(parser.parse_args(arguments)) as suite:
        identity = {
            "arm": suite.arms[suite.spec.baseline].fingerprint,
            "tasks": {task.id: task.checksum for task in suite.tasks},
            "settings": settings_fingerprint(suite.spec),
            "repeats": effective_repeats(suite),
        }
    print(sha256(msgspec.json.encode(identity, order="sorted")).hexdigest())
    return ExitCode.SATISFIED


def _pin_row(folder: Path, now: datetime) -> PinRow:
    pinned, checked = read_pin(folder), read_check(folder)
    day = timedelta(days=1)
    return PinRow(
        name=pinned.name,
        suite=pinned.suite,
        arm=pinned.arm,
        runs=pinned.runs,
        tasks=len(pinned.tasks),
        agents=pinned.agents,
        age_days=(now - pinned.oldest) / day,
        checked_days=None if checked is None else (now - checked.checked_at) / day,
        drifted=None if checked is None else checked.drifted,
        findings=() if checked is None else checked.findings,
    )


_ACTIONS: dict[str, Callable[[Sequence[str]], int]] = {
    "pin": pin_baseline,
    "list": list_pins,
    "check": check_baseline,
    "key": print_key,
}
