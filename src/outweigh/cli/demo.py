"""`outweigh demo`: the whole flow, offline: run the bundled suite, decide, and write a report."""

import shlex
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

from outweigh.cli.arguments import Parser
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.verbs import find_verb

DEMO_SUITE = Path(__file__).resolve().parents[1] / "demo_suite"

# What a verdict says, met, not met or not known, is an answer. Anything else means that the demo is broken.
EXPECTED_CODES = {
    "run": {ExitCode.SATISFIED},
    "verdict": {ExitCode.SATISFIED, ExitCode.NOT_SATISFIED, ExitCode.UNUSABLE_EVIDENCE},
    "report": {ExitCode.SATISFIED},
}


def main(arguments: Sequence[str]) -> int:
    """Show every command and what it says. Verdicts are for the reader; the exit code says that it worked."""
    store = Path(build_parser().parse_args(arguments).output)
    for command in _commands(store):
        code = _run_command(*command)
        if code not in EXPECTED_CODES[command[0]]:
            return code
    print("\nThe agent only pretends; the tasks and their checks are real. `outweigh init` writes a suite of your own.")
    return ExitCode.SATISFIED


def _commands(store: Path) -> Iterator[tuple[str, ...]]:
    yield "run", "-c", str(DEMO_SUITE), "-o", str(store)
    yield "verdict", str(store)
    yield "report", str(store), "-o", str(store / "report.html")


def _run_command(verb: str, *arguments: str) -> int:
    # Flushed, because what follows may speak on the other stream.
    print(f"\n$ outweigh {shlex.join([verb, *arguments])}", flush=True)
    code: int = import_module(find_verb([verb]).verb.module).main(arguments)
    print(f"(exit code {int(code)})", flush=True)
    return code


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
