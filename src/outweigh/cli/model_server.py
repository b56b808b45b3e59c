"""`outweigh model-server`: the scripted model, for real agents, until Ctrl-C."""

import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from outweigh.cli.arguments import Parser
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.interruptible import interruptible
from outweigh.cli.ledger_file import told_to_ledger_file
from outweigh.errors import UsageError
from outweigh.testing.model_server import LedgerEntry, ModelServer, Totals
from outweigh.testing.model_server.agent_commands import agent_commands
from outweigh.testing.model_server.example import EXAMPLE

_PORTS = 65_536


def main(arguments: Sequence[str]) -> int:
    """Serve until somebody ends it, and say what was handed out."""
    options = _parser().parse_args(arguments)
    if options.example:
        print(EXAMPLE, end="")
        return ExitCode.SATISFIED
    if options.script is None:
        raise UsageError("name a script; `outweigh model-server --example` prints one that works as it is.")
    stop = Event()
    with (
        told_to_ledger_file(options.ledger, _tell, stop) as tell,
        interruptible(stop, Event()),
        ModelServer(Path(options.script), port=options.port, on_entry=tell) as server,
    ):
        _greet(server.url)
        stop.wait()
    _sum_up(server.totals())
    return ExitCode.SATISFIED


def _greet(url: str) -> None:
    # Flushed, because a program that waits for the address may read it through a pipe.
    print(f"A scripted model listens at {url} until Ctrl-C. Lead an agent there with one of:\n")
    for command in agent_commands(url):
        print(f"# {command.agent}")
        if command.note:
            print(f"# with {command.note}")
        print(f"{command.line}\n")
    sys.stdout.flush()


def _tell(entry: LedgerEntry) -> None:
    """One line per request, for whoever watches."""
    what = entry.rule or f"{entry.method} {entry.path}"
    said = "" if entry.problem is None else f" ({entry.problem})"
    print(f"{entry.number} {entry.model or '-'} {what}: {entry.ending}, {entry.status}{said}", file=sys.stderr)


def _sum_up(totals: Totals) -> None:
    tokens = totals.tokens
    print(
        f"{totals.requests} requests, {totals.billed} with tokens: {tokens.input_tokens:,} input, "
        f"{tokens.output_tokens:,} output ({tokens.reasoning_tokens:,} reasoning), "
        f"{tokens.cache_read_tokens:,} read from the cache, {tokens.cache_write_tokens:,} written to it"
    )


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) >= _PORTS:
        raise UsageError(f"--port {text}: a port is a number below {_PORTS}, 0 takes any that is free.")
    return int(text)


def _parser() -> Parser:
    parser = Parser(
        prog="outweigh model-server",
        description="A scripted model on loopback that speaks the protocols of Anthropic, OpenAI and Google: real "
        "agents run offline, without a key.",
        allow_abbrev=False,
    )
    parser.add_argument("script", nargs="?", metavar="SCRIPT", help="what the model says (.toml or .json)")
    parser.add_argument("--port", type=_port, default=0, metavar="N", help="the port (default: any that is free)")
    parser.add_argument("--ledger", metavar="FILE", help="append every request and its tokens as a line of JSON")
    parser.add_argument("--example", action="store_true", help="print a script that works as it is")
    return parser
