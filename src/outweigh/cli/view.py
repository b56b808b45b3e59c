"""`outweigh view`: serve the viewer until Ctrl-C."""

import secrets
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

from outweigh.cli.arguments import Parser, parse_port
from outweigh.cli.exit_codes import ExitCode
from outweigh.errors import requires_extra


class _Options:
    """The options, as the parser fills them in."""

    runs: list[str]
    port: int
    host: str


def main(arguments: Sequence[str]) -> int:
    """Serve until somebody ends it."""
    options = _parser().parse_args(arguments, namespace=_Options())
    with requires_extra("the viewer", "web"):
        from outweigh.web.application import bind_socket, make_viewer, serve  # noqa: PLC0415 - needs the extra
    from outweigh.web.catalogue import StoreCatalogue  # noqa: PLC0415

    catalogue = StoreCatalogue([Path(path) for path in options.runs])
    token = None if _is_loopback(options.host) else secrets.token_urlsafe(24)
    with bind_socket(options.host, options.port) as listener:
        for store in catalogue.stores():
            store.index.refresh()
        url = _url(options.host, listener.getsockname()[1], token)
        with suppress(KeyboardInterrupt):
            # Flushed, because a program that waits for the address may read it through a pipe.
            serve(make_viewer(catalogue, token), listener, lambda: print(f"{url}\nCtrl-C ends it.", flush=True))
    return ExitCode.SATISFIED


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _url(host: str, port: int, token: str | None) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/" + ("" if token is None else f"?token={token}")


def _parser() -> Parser:
    parser = Parser(
        prog="outweigh view",
        description="Stores in a browser: experiments, runs, trajectories, two runs side by side. Nothing is written.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUNS",
        help="a store, a folder with stores below it, or a .jsonl file of runs",
    )
    parser.add_argument("--port", type=parse_port, default=0, metavar="N", help="the port (default: any that is free)")
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="where to listen (default: %(default)s, this machine alone; anywhere else the address has a token)",
    )
    return parser
