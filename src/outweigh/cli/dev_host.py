"""`outweigh dev host`: make attempts on this machine for runs that use a Dask cluster, until it is stopped."""

import os
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from outweigh.cli.arguments import Parser, parse_jobs, parse_seconds
from outweigh.cli.console import interruptible, notify
from outweigh.cli.exit_codes import ExitCode


class _Options:
    """The options, as the parser fills them in."""

    scheduler: str
    spool: str | None
    jobs: int | None
    tags: list[str]
    tls_ca_file: str | None
    tls_cert: str | None
    tls_key: str | None
    name: str | None
    nthreads: int | None
    host: str | None
    interface: str | None
    local_directory: str | None
    end_when_idle: float | None


def main(arguments: Sequence[str]) -> int:
    """Serve until somebody ends it; attempts that run then are ended."""
    options = build_parser().parse_args(arguments, namespace=_Options())
    from outweigh.app.serve_host import HostRequest, serve  # noqa: PLC0415 - the options are shown without the extra

    stop = Event()
    request = HostRequest(
        scheduler=options.scheduler,
        spool=Path(options.spool) if options.spool else Path.home() / ".cache" / "outweigh" / "spool",
        slots=options.jobs or options.nthreads or os.cpu_count() or 1,
        tags=frozenset(tag for tags in options.tags for tag in tags.split(",") if tag),
        tls_ca_file=options.tls_ca_file,
        tls_cert=options.tls_cert,
        tls_key=options.tls_key,
        name=options.name,
        host=options.host,
        interface=options.interface,
        local_directory=options.local_directory,
        idle_seconds=options.end_when_idle,
    )
    with interruptible(stop, Event()):
        serve(request, stop, notify)
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh dev host",
        description="Make attempts on this machine for `outweigh run --executor dask`. Launchers of Dask start it as "
        "their worker command.",
        examples=(
            "outweigh dev host tcp://127.0.0.1:8786",
            "outweigh dev host tls://head:8786 -j 8 --tags docker,gpu --spool /var/tmp/outweigh",
        ),
    )
    parser.add_argument("scheduler", metavar="ADDRESS", help="the address of the Dask scheduler")
    parser.add_argument(
        "--spool",
        metavar="DIR",
        help="where records are kept until the run has them (default: ~/.cache/outweigh/spool)",
    )
    parser.add_argument(
        "-j",
        "--jobs",
        type=parse_jobs,
        default=None,
        metavar="N",
        help="attempts at a time (default: --nthreads, else one per processor)",
    )
    parser.add_argument(
        "--tags", action="append", default=[], metavar="NAMES", help="what arms can ask for, such as docker,gpu"
    )
    parser.add_argument(
        "--end-when-idle",
        type=parse_seconds,
        default=None,
        metavar="SECONDS",
        help="end when the run is done, or nothing was asked of this host for so long (default: stay)",
    )
    _add_tls_options(parser)
    _add_launcher_options(parser)
    return parser


def _add_tls_options(parser: Parser) -> None:
    group = parser.group("TLS")
    group.add_argument("--tls-ca-file", metavar="FILE", help="the certificates of the authority that is trusted")
    group.add_argument("--tls-cert", metavar="FILE", help="the certificate of this host")
    group.add_argument("--tls-key", metavar="FILE", help="its private key")


def _add_launcher_options(parser: Parser) -> None:
    group = parser.group("Options that launchers of Dask add")
    group.add_argument("--name", metavar="NAME", help="the name of the worker")
    group.add_argument("--nthreads", type=parse_jobs, default=None, metavar="N", help="as --jobs, which goes over it")
    group.add_argument("--host", metavar="HOST", help="the address to listen at")
    group.add_argument("--interface", metavar="NAME", help="the network interface to listen at")
    group.add_argument("--local-directory", metavar="DIR", help="where Dask keeps its own files")
    for ignored in ("--memory-limit", "--death-timeout", "--nworkers"):
        group.add_argument(ignored, metavar="X", help="accepted and not used: a host limits attempts itself, and stays")
    for ignored in ("--nanny", "--no-nanny"):
        group.add_argument(ignored, action="store_true", help="accepted and not used: a host has no nanny")
