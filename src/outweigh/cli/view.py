"""`outweigh view`: serve the viewer until Ctrl-C."""

from collections.abc import Sequence
from pathlib import Path

from outweigh.app.this_folder import find_folder_stores
from outweigh.cli.arguments import CommandOptions, Parser, parse_port
from outweigh.cli.exit_codes import ExitCode
from outweigh.errors import requires_extra
from outweigh.store.store_address import is_address


class _Options(CommandOptions):
    """The options, as the parser fills them in."""

    runs: list[str]
    port: int
    host: str


def main(arguments: Sequence[str]) -> int:
    """Serve until Ctrl-C."""
    options = build_parser().parse_command(arguments, _Options())
    with requires_extra("the viewer", "web"):
        from outweigh.web.server import ViewRequest, serve_viewer  # noqa: PLC0415 - needs the extra

    named = tuple(name if is_address(name) else Path(name) for name in options.runs)
    paths = named or tuple(find_folder_stores())
    request = ViewRequest(paths=paths, host=options.host, port=options.port)
    # Flushed, because a program that waits for the address may read it through a pipe.
    serve_viewer(request, lambda url: print(f"{url}\nCtrl-C ends it.", flush=True))
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh view",
        description="Browse verdicts, runs and transcripts in a browser, and label runs.",
        examples=("outweigh view", "outweigh view outweigh-runs/demo --port 8000"),
    )
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUNS",
        help="a store, a folder or address with stores below it, or a .jsonl file of runs (default: all stores of this "
        "folder)",
    )
    parser.add_argument("--port", type=parse_port, default=0, metavar="N", help="the port (default: any free port)")
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="the address to listen on; beyond this machine, the link contains a token (default: %(default)s)",
    )
    return parser
