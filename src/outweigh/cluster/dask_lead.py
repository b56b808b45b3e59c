"""The lead's connection to a Dask scheduler: one exchange after the other with every worker that is a host.

A thread of its own, which connects again for as long as the run lasts. A host whose answer does not come in time is
asked again; what that means is decided by the lease alone.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event, Thread
from typing import Any

from outweigh.cluster.cluster_executor import ClusterExecutor
from outweigh.cluster.dask_host import exchange, read_artifact, receive_package
from outweigh.cluster.dask_security import TlsFiles, open_security
from outweigh.cluster.messages import ExchangeReply, ExchangeRequest, HostState, OfferedRecord, pack, unpack
from outweigh.errors import requires_extra

EXCHANGE_SECONDS = 2.0
CONNECT_SECONDS = 5.0
PART_SECONDS = 30.0
PART_BYTES = 1_000_000
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 1.0
"""Between two exchanges with a host: short while something happens there, longer and longer while nothing does."""
PAUSE_GROWTH = 1.5
MEMBERS_SECONDS = 0.3
"""How often the lead asks the scheduler for its workers."""


class DaskLink:
    """Carries what an executor says to its hosts. `start` begins, `stop` tells the hosts a last time and ends."""

    def __init__(self, scheduler: str, tls: TlsFiles, package: bytes) -> None:
        self._scheduler = scheduler
        self._security = open_security(scheduler, tls)
        self._package = package
        self._stopping = Event()
        self._talks: dict[str, asyncio.Task[None]] = {}
        self._threads = ThreadPoolExecutor(8, thread_name_prefix="records")
        self._thread: Thread | None = None

    def start(self, executor: ClusterExecutor) -> None:
        """Connect, in a thread."""
        with requires_extra("a Dask cluster", "dask"):
            import distributed  # noqa: F401, PLC0415 - an extra
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        self._executor = executor
        self._thread = Thread(target=lambda: asyncio.run(self._run()), name="cluster", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Say what is to be said a last time, and end."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        self._threads.shutdown(wait=True)

    async def _run(self) -> None:
        from distributed import Client  # noqa: PLC0415 - an extra

        while not self._stopping.is_set():
            try:
                async with Client(
                    self._scheduler,
                    asynchronous=True,
                    timeout=CONNECT_SECONDS,
                    security=self._security,
                    set_as_default=False,
                ) as client:
                    await self._work(client)
            except (OSError, TimeoutError, ValueError, RuntimeError) as fault:
                self._executor.say(f"the scheduler at {self._scheduler} does not answer: {fault}")
            self._executor.tick()
            if not self._stopping.is_set():
                await asyncio.sleep(MEMBERS_SECONDS)

    async def _work(self, client: Any) -> None:
        """Talk to every worker until the connection is lost, or the run ends."""
        try:
            while not self._stopping.is_set():
                members = await asyncio.wait_for(client.scheduler.identity(), EXCHANGE_SECONDS)
                self._executor.tick()
                for address in members["workers"]:
                    if address not in self._talks or self._talks[address].done():
                        self._talks[address] = asyncio.create_task(self._talk(client, address))
                await asyncio.sleep(MEMBERS_SECONDS)
            await asyncio.wait([*self._talks.values(), asyncio.create_task(asyncio.sleep(0))], timeout=EXCHANGE_SECONDS)
        finally:
            for talk in self._talks.values():
                talk.cancel()
            await asyncio.gather(*self._talks.values(), return_exceptions=True)
            self._talks.clear()

    async def _talk(self, client: Any, address: str) -> None:
        """One exchange after the other with a worker, until it cannot be reached or the run ends."""
        pause = SHORTEST_PAUSE
        while True:
            last = self._stopping.is_set()
            before = self._executor.progress
            with suppress(TimeoutError):
                await self._exchange(client, address)
            if last:
                return
            busy = self._executor.progress != before
            pause = SHORTEST_PAUSE if busy else min(LONGEST_PAUSE, pause * PAUSE_GROWTH)
            await self._pause(pause)

    async def _pause(self, seconds: float) -> None:
        """Wait, unless there is something new to say."""
        progress, loop = self._executor.progress, asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while loop.time() < deadline and progress == self._executor.progress and not self._stopping.is_set():
            await asyncio.sleep(SHORTEST_PAUSE)

    async def _exchange(self, client: Any, address: str) -> None:
        request = self._executor.request_for(address)
        content = await self._call(client, address, EXCHANGE_SECONDS, exchange, pack(request))
        reply = unpack(content, ExchangeReply)
        artifacts: dict[str, bytes] = {}
        for offer in reply.offers:
            if offer.large and not self._executor.is_stored(offer):
                artifacts |= await self._fetch(client, address, offer)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._threads, self._executor.take_reply, address, request, reply, artifacts)
        if reply.state is HostState.NEEDS_PACKAGE:
            await self._send_package(client, address, request)

    async def _fetch(self, client: Any, address: str, offer: OfferedRecord) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for digest, size in offer.large.items():
            parts = [
                await self._call(client, address, PART_SECONDS, read_artifact, offer.key, digest, offset, PART_BYTES)
                for offset in range(0, size, PART_BYTES)
            ]
            found[digest] = b"".join(parts)
        return found

    async def _send_package(self, client: Any, address: str, request: ExchangeRequest) -> None:
        if request.package is None:
            return
        size = len(self._package)
        for offset in range(0, size, PART_BYTES):
            part = self._package[offset : offset + PART_BYTES]
            arguments = (request.package.sha256, offset, part, size)
            if await self._call(client, address, PART_SECONDS, receive_package, *arguments):
                return

    async def _call(self, client: Any, address: str, seconds: float, function: Any, *arguments: Any) -> Any:
        answers = await asyncio.wait_for(client.run(function, *arguments, workers=[address]), seconds)
        return answers[address]
