"""`outweigh dev model-server`: serve the scripted model to real agents until Ctrl-C; `--ledger` logs every request."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import msgspec

from outweigh.cli.arguments import Parser, parse_port
from outweigh.cli.console import interruptible, notify
from outweigh.cli.exit_codes import ExitCode
from outweigh.errors import UsageError

if TYPE_CHECKING:
    from outweigh.testing.model_server import LedgerEntry, Totals

LedgerListener = Callable[["LedgerEntry"], None]
_SHOWN_KEY_LENGTH = 4
_SECRET_LENGTH = 16


@contextmanager
def log_ledger(path: str | None, listen: LedgerListener, stop: Event) -> Iterator[LedgerListener]:
    """A listener that also appends every entry to a file, one object per line, as it happens.

    It is called in the server's thread; a file that cannot be written any more ends the serving, and then the program.
    """
    if path is None:
        yield listen
        return
    faults: list[OSError] = []
    with _open_ledger(path) as stream:

        def tell(entry: "LedgerEntry") -> None:
            try:
                stream.write(msgspec.json.encode(_ledger_line(entry)) + b"\n")
            except OSError as fault:
                faults.append(fault)
                stop.set()
            listen(entry)

        yield tell
    if faults:
        raise _cannot_write(path, faults[0])


def _open_ledger(path: str) -> FileIO:
    try:
        return FileIO(path, "a")
    except OSError as fault:
        raise _cannot_write(path, fault) from fault


def _cannot_write(path: str, fault: OSError) -> UsageError:
    return UsageError(f"--ledger {path} cannot be written: {fault.strerror}. Name another file.")


def _ledger_line(entry: "LedgerEntry") -> dict[str, Any]:
    """The entry without its body, and with the end only of what may be a real key that somebody forgot to replace."""
    fields: dict[str, Any] = msgspec.to_builtins(entry)
    fields.pop("body")
    key = entry.api_key
    if key is not None and len(key) >= _SECRET_LENGTH:
        fields["api_key"] = f"…{key[-_SHOWN_KEY_LENGTH:]}"
    return fields


class _Options:
    """The options, as the parser fills them in."""

    script: str | None
    port: int
    ledger: str | None
    example: bool


def main(arguments: Sequence[str]) -> int:
    """Serve until somebody ends it, and say what was handed out."""
    options = build_parser().parse_args(arguments, namespace=_Options())
    # Imported here, because the options are shown without the extra that the server needs.
    from outweigh.testing.model_server import ModelServer  # noqa: PLC0415
    from outweigh.testing.model_server.model_script import EXAMPLE_SCRIPT, parse_script  # noqa: PLC0415

    if options.example:
        print(EXAMPLE_SCRIPT, end="")
        return ExitCode.SATISFIED
    if options.script is None:
        notify("serving the example script; `outweigh dev model-server --example` prints it, for a script of your own")
    script = parse_script(EXAMPLE_SCRIPT) if options.script is None else Path(options.script)
    stop = Event()
    with (
        log_ledger(options.ledger, _print_request, stop) as tell,
        interruptible(stop, Event()),
        ModelServer(script, port=options.port, on_entry=tell) as server,
    ):
        _print_address(server.url)
        stop.wait()
    _print_totals(server.totals())
    return ExitCode.SATISFIED


def _print_address(url: str) -> None:
    from outweigh.testing.model_server.agent_commands import (  # noqa: PLC0415
        agent_commands,
        provider_exports,
        suite_lines,
    )

    # Flushed, because a program that waits for the address may read it through a pipe.
    print(f"A scripted model listens at {url} until Ctrl-C.\n")
    print("To use it from another shell, paste the lines of the providers that you use:\n")
    print("\n".join(provider_exports(url)))
    print("\nTo use it in a suite, export the keys as above and add to suite.toml:\n")
    print("\n".join(suite_lines(url)))
    print("\nTo start an agent with it, use one of:\n")
    for command in agent_commands(url):
        print(f"# {command.agent}")
        if command.note:
            print(f"# with {command.note}")
        print(f"{command.line}\n")
    sys.stdout.flush()


def _print_request(entry: "LedgerEntry") -> None:
    """One line per request, for whoever watches."""
    what = entry.rule or f"{entry.method} {entry.path}"
    said = "" if entry.problem is None else f" ({entry.problem})"
    print(f"{entry.number} {entry.model or '-'} {what}: {entry.ending}, {entry.status}{said}", file=sys.stderr)


def _print_totals(totals: "Totals") -> None:
    tokens = totals.tokens
    print(
        f"{totals.requests} requests, {totals.billed} with tokens: {tokens.input_tokens:,} input, "
        f"{tokens.output_tokens:,} output ({tokens.reasoning_tokens:,} reasoning), "
        f"{tokens.cache_read_tokens:,} read from the cache, {tokens.cache_write_tokens:,} written to it"
    )


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh dev model-server",
        description="Serve a scripted model on loopback, with the protocols of Anthropic, OpenAI and Google, so that "
        "real agents run offline and without a key.",
        examples=("outweigh dev model-server", "outweigh dev model-server script.toml --port 8765"),
    )
    parser.add_argument(
        "script", nargs="?", metavar="SCRIPT", help="what the model answers, .toml or .json (default: an example)"
    )
    parser.add_argument("--port", type=parse_port, default=0, metavar="N", help="the port (default: any free port)")
    parser.add_argument("--ledger", metavar="FILE", help="append every request and its tokens as a line of JSON")
    parser.add_argument("--example", action="store_true", help="print a script that works as it is")
    return parser
