"""`outweigh baseline pin`: keep the runs of an arm for later experiments."""

from collections.abc import Sequence
from pathlib import Path

from outweigh.app.baseline import PINS_FOLDER, PinRequest, pin_runs
from outweigh.cli.arguments import CommandOptions, Parser
from outweigh.cli.defaults import choose_store
from outweigh.cli.exit_codes import ExitCode
from outweigh.report.formatting import escape_controls
from outweigh.store.read_only_stores import require_local_store


class _Options(CommandOptions):
    """The options, as the parser fills them in."""

    runs: str | None
    arm: str | None
    name: str | None
    output: str


def main(arguments: Sequence[str]) -> int:
    """Pin the runs, or say that they are pinned already."""
    options = build_parser().parse_command(arguments, _Options())
    store = require_local_store(choose_store(options.runs, options.command))
    pinned = pin_runs(PinRequest(store=store, arm=options.arm, name=options.name, folder=Path(options.output)))
    pin, place = pinned.pin, escape_controls(str(pinned.folder))
    if pinned.is_new:
        print(f"pinned {pin.runs} runs of {escape_controls(pin.arm)} on {len(pin.tasks)} tasks: {place}")
    else:
        print(f"these runs are pinned already: {place}")
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh baseline pin",
        description="Keep the runs of an arm, so that later experiments can use them again.",
        examples=("outweigh baseline pin", "outweigh baseline pin outweigh-runs/demo --arm better"),
    )
    parser.add_argument(
        "runs",
        nargs="?",
        metavar="STORE",
        help="a store that `outweigh run` wrote (default: the last one of this folder)",
    )
    parser.add_argument("--arm", metavar="ARM", help="the arm whose runs to keep (default: the baseline)")
    parser.add_argument("--name", metavar="NAME", help="the name of the pin (default: made of suite, arm and runs)")
    parser.add_argument(
        "-o", "--output", default=PINS_FOLDER, metavar="DIR", help="the folder of pins (default: %(default)s)"
    )
    return parser
