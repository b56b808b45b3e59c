"""A host as a worker of a Dask cluster, which gives it membership, transport and TLS and runs no task of Dask's own.

The worker is made anew whenever it has lost its scheduler; the host, its attempts and its lease know nothing of it.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Any

from outweigh.cluster.dask_security import TlsFiles, open_security
from outweigh.cluster.dask_settings import quiet_dask
from outweigh.cluster.host import Host
from outweigh.cluster.messages import AttemptKey, ExchangeRequest, pack, unpack
from outweigh.errors import UsageError, requires_extra

PLUGIN = "outweigh-host"
EXCHANGE = "outweigh-exchange"
"""What a worker that is a host is asked for an exchange by. A call of a function takes Dask twice as long, because it
pickles the function and looks at its arguments each time.
"""
RECONNECT_SECONDS = 0.5
SCHEDULER_SECONDS = 2.0
"""A worker that has lost its scheduler for so long ends, and a new one is made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """Where the scheduler is, and what a launcher says about the worker."""

    scheduler: str
    tls: TlsFiles
    name: str | None = None
    host: str | None = None
    interface: str | None = None
    local_directory: str | None = None


async def receive_package(digest: str, offset: int, content: bytes, size: int, dask_worker: Any) -> bool:
    """A part of a suite's package; whether all of it is here."""
    return await asyncio.to_thread(_host_of(dask_worker).receive_package, digest, offset, content, size)


async def read_artifact(key: AttemptKey, digest: str, offset: int, size: int, dask_worker: Any) -> bytes:
    """A part of a large artifact."""
    return await asyncio.to_thread(_host_of(dask_worker).read_artifact, (key[0], key[1]), digest, offset, size)


def _host_of(worker: Any) -> Host:
    plugin = worker.plugins.get(PLUGIN)
    if plugin is None:
        raise UsageError("this worker is no host of outweigh; start it with `outweigh dev host`")
    host: Host = plugin.host
    return host


def serve_host(host: Host, options: WorkerOptions, stop: Event, say: Callable[[str], None]) -> None:
    """Be a worker of the cluster until `stop` is set, however often the scheduler goes and comes back."""
    security = open_security(options.scheduler, options.tls)
    logging.getLogger("distributed").setLevel(logging.ERROR)
    with quiet_dask():
        asyncio.run(_serve(host, options, security, stop, say))


async def _serve(host: Host, options: WorkerOptions, security: Any, stop: Event, say: Callable[[str], None]) -> None:
    with requires_extra("a Dask cluster", "dask"):
        from distributed import Worker  # noqa: PLC0415 - an extra
    said: set[str] = set()
    while not stop.is_set():
        try:
            worker = Worker(
                options.scheduler,
                nthreads=1,
                name=options.name,
                host=options.host,
                interface=options.interface,
                local_directory=options.local_directory,
                memory_limit=0,
                death_timeout=SCHEDULER_SECONDS,
                dashboard=False,
                plugins=(_plugin_of(host),),
                security=security,
            )
            async with worker:
                await _until_ended(worker, stop)
        except (OSError, TimeoutError, RuntimeError, ValueError) as fault:
            if (words := f"the scheduler at {options.scheduler} does not answer: {_cause_of(fault)}") not in said:
                said.add(words)
                say(words)
        await asyncio.sleep(RECONNECT_SECONDS)


def _cause_of(fault: BaseException) -> str:
    """The first cause: what Dask raises in the end says only that it was tried for a while."""
    while fault.__cause__ is not None:
        fault = fault.__cause__
    return str(fault) or type(fault).__name__


def _plugin_of(host: Host) -> Any:
    """How a worker answers exchanges, and how the functions above, which Dask calls with it, find the host."""
    from distributed import WorkerPlugin  # noqa: PLC0415 - an extra

    async def exchange(content: bytes) -> bytes:
        return pack(await asyncio.to_thread(host.exchange, unpack(content, ExchangeRequest)))

    class HostPlugin(WorkerPlugin):  # type: ignore[misc]  # it has no type
        name = PLUGIN

        def __init__(self) -> None:
            self.host = host

        def setup(self, worker: Any) -> None:
            worker.handlers[EXCHANGE] = exchange

    return HostPlugin()


async def _until_ended(worker: Any, stop: Event) -> None:
    finished = asyncio.ensure_future(worker.finished())
    try:
        while not stop.is_set() and not finished.done():
            await asyncio.wait([finished], timeout=RECONNECT_SECONDS)
    finally:
        finished.cancel()
