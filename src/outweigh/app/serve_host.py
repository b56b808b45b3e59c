"""Make attempts on this machine for leads that reach it through a Dask scheduler."""

from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

from outweigh.app.host_engine import HostPlace, engine_opener
from outweigh.app.observer import Notify
from outweigh.cluster.dask_host import WorkerOptions, serve_host
from outweigh.cluster.dask_security import TlsFiles, open_security
from outweigh.cluster.host import Host
from outweigh.cluster.lease import boot_clock
from outweigh.cluster.spool import Spool

WATCH_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRequest:
    """Where the scheduler is, what this machine offers, and where it keeps records until a lead has them.

    `idle_seconds` ends a host that a launcher started when no lead has needed it for so long; None means to stay.
    """

    scheduler: str
    spool: Path
    slots: int
    tags: frozenset[str] = frozenset()
    tls_ca_file: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    name: str | None = None
    host: str | None = None
    interface: str | None = None
    local_directory: str | None = None
    idle_seconds: float | None = None


def serve(request: HostRequest, stop: Event, notify: Notify) -> None:
    """Serve until `stop` is set; what runs then is ended, and its records stay for the next host with this spool."""
    tls = TlsFiles(ca_file=request.tls_ca_file, cert=request.tls_cert, key=request.tls_key)
    open_security(request.scheduler, tls)
    spool = Spool.open(request.spool)
    try:
        place = HostPlace(folder=spool.folder, slots=request.slots, tags=request.tags, ending=stop)
        host = Host(spool, request.slots, engine_opener(place))
        notify(
            f"host {spool.host} makes {request.slots} attempts at a time for {request.scheduler}, from {spool.folder}"
        )
        if request.idle_seconds is not None:
            watch = Thread(target=_end_when_idle, args=(host, request.idle_seconds, stop), name="idle", daemon=True)
            watch.start()
        try:
            serve_host(host, _worker_options(request, tls), stop, notify)
        finally:
            host.close()
    finally:
        spool.close()


def _end_when_idle(host: Host, seconds: float, stop: Event) -> None:
    """Set `stop` when the last lead is done, or none has needed the host for so long."""
    needed_at = boot_clock()
    while not stop.wait(WATCH_SECONDS):
        if not host.is_idle:
            needed_at = boot_clock()
        elif host.is_released or boot_clock() - needed_at > seconds:
            stop.set()


def _worker_options(request: HostRequest, tls: TlsFiles) -> WorkerOptions:
    return WorkerOptions(
        scheduler=request.scheduler,
        tls=tls,
        name=request.name,
        host=request.host,
        interface=request.interface,
        local_directory=request.local_directory,
    )
