"""The lead's connection to a Dask scheduler: one exchange after the other with every worker that is a host.

A thread of its own, which connects again for as long as the run lasts. A host whose answer does not come in time is
asked again; what that means is decided by the lease alone.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from typing import Any

from outweigh.cluster.cluster_executor import ClusterExecutor
from outweigh.cluster.dask_host import EXCHANGE, read_artifact, receive_package
from outweigh.cluster.dask_security import TlsFiles, open_security
from outweigh.cluster.dask_settings import quiet_dask
from outweigh.cluster.messages import (
    AttemptKey,
    ExchangeReply,
    ExchangeRequest,
    HostState,
    OfferedRecord,
    pack,
    unpack,
    without_offers,
)
from outweigh.cluster.shared_artifacts import SharedArtifacts
from outweigh.errors import EvidenceError, OutweighError, UsageError, requires_extra

EXCHANGE_SECONDS = 2.0
CONNECT_SECONDS = 5.0
PART_SECONDS = 30.0
PART_BYTES = 1_000_000
GATHER_SECONDS = 0.02
"""Starts that are given together go out together; each is written down first, which takes a few milliseconds."""
PAUSE_SECONDS = 0.05
"""After a host did not answer in time."""
REFUSED_SECONDS = 1.0
"""After a host could not keep a package; its next answer says why."""
MEMBERS_SECONDS = 0.3
"""How often the lead asks the scheduler for its workers."""


class DaskLink:
    """Carries what an executor says to its hosts. `start` begins, `stop` tells the hosts a last time and ends.

    `shared` is where hosts put large artifacts; without it, those travel in parts.
    """

    def __init__(self, scheduler: str, tls: TlsFiles, package: bytes, shared: SharedArtifacts | None = None) -> None:
        self._scheduler = scheduler
        self._security = open_security(scheduler, tls)
        self._package = package
        self._shared = shared
        self._stopping = Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._work_for: dict[str, asyncio.Event] = {}
        self._talks: dict[str, asyncio.Task[None]] = {}
        self._fetches: dict[AttemptKey, asyncio.Task[None]] = {}
        self._threads = ThreadPoolExecutor(8, thread_name_prefix="records")
        self._thread: Thread | None = None

    def start(self, executor: ClusterExecutor) -> None:
        """Connect, in a thread."""
        with requires_extra("a Dask cluster", "dask"):
            import distributed  # noqa: F401, PLC0415 - an extra
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        self._executor = executor
        executor.on_work = self._wake
        self._thread = Thread(target=self._carry, name="cluster", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Say what is to be said a last time, and end."""
        self._stopping.set()
        self._wake(None)
        if self._thread is not None:
            self._thread.join()
        self._threads.shutdown(wait=True)

    def _carry(self) -> None:
        try:
            with quiet_dask():
                asyncio.run(self._run())
        except BaseException as fault:  # the run would wait for ever for a thread that is gone
            self._executor.fail(EvidenceError(f"the connection to the cluster broke: {fault!r}"))

    async def _run(self) -> None:
        from distributed import Client  # noqa: PLC0415 - an extra

        self._loop = asyncio.get_running_loop()
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
            except Exception as fault:  # whatever Dask raises, hosts are asked again
                self._executor.say(f"the scheduler at {self._scheduler} does not answer: {fault}")
            self._executor.tick()
            if not self._stopping.is_set():
                await asyncio.sleep(MEMBERS_SECONDS)

    async def _work(self, client: Any) -> None:
        """Talk to every worker until the connection is lost, or the run ends."""
        try:
            while not self._stopping.is_set():
                members = await asyncio.wait_for(client.scheduler.ncores(), EXCHANGE_SECONDS)
                self._executor.tick()
                for address in members:
                    if self._has_ended(address):
                        self._talks[address] = asyncio.create_task(self._talk(client, address))
                await asyncio.sleep(MEMBERS_SECONDS)
            await asyncio.wait([*self._talks.values(), asyncio.create_task(asyncio.sleep(0))], timeout=EXCHANGE_SECONDS)
        finally:
            tasks = [*self._talks.values(), *self._fetches.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._talks.clear()
            self._fetches.clear()

    def _has_ended(self, address: str) -> bool:
        """Whether nobody talks to a worker: it is new, or could not be reached a moment ago."""
        talk = self._talks.get(address)
        if talk is None or not talk.done():
            return talk is None
        if talk.cancelled():
            return True
        if (fault := talk.exception()) is not None and not isinstance(fault, OSError | TimeoutError):
            self._executor.say(f"{address}: {fault}")
        return True

    async def _talk(self, client: Any, address: str) -> None:
        """One exchange after the other with a worker, until it cannot be reached or the run ends.

        A host takes its time to answer while it has nothing to say. If something is to be said to it meanwhile, the
        next request does not wait for that answer, which then comes at once.
        """
        work = self._work_for[address] = asyncio.Event()
        asked: set[asyncio.Task[None]] = set()
        try:
            while not self._stopping.is_set():
                work.clear()
                latest = asyncio.create_task(self._exchange(client, address))
                asked.add(latest)
                woken = asyncio.create_task(work.wait())
                await asyncio.wait((latest, woken), return_when=asyncio.FIRST_COMPLETED)
                woken.cancel()
                done = {task for task in asked if task.done()}
                asked -= done
                for task in done:
                    await self._result_of(task)
                await asyncio.sleep(GATHER_SECONDS)
            await self._exchange(client, address)
        finally:
            for task in asked:
                task.cancel()

    async def _result_of(self, task: "asyncio.Task[None]") -> None:
        try:
            task.result()
        except TimeoutError:
            await asyncio.sleep(PAUSE_SECONDS)

    def _wake(self, address: str | None) -> None:
        """Called by any thread: something is to be said to a host, or to all."""
        if self._loop is not None and self._loop.is_running():
            self._loop.call_soon_threadsafe(self._set_work, address)

    def _set_work(self, address: str | None) -> None:
        for name, work in self._work_for.items():
            if address in (None, name):
                work.set()

    async def _exchange(self, client: Any, address: str) -> None:
        loop = asyncio.get_running_loop()
        if self._executor.has_to_write:
            request = await loop.run_in_executor(self._threads, self._executor.request_for, address)
        else:
            request = self._executor.request_for(address)
        asked = client.scheduler.broadcast(msg={"op": EXCHANGE, "content": pack(request)}, workers=[address])
        content = (await asyncio.wait_for(asked, EXCHANGE_SECONDS))[address]
        if content is None:
            raise UsageError("this worker is no host of outweigh; start it with `outweigh dev host`")
        reply = unpack(content, ExchangeReply)
        beside = (offer for offer in reply.offers if offer.large or offer.shared)
        large = [offer for offer in beside if not self._executor.is_stored(offer)]
        for offer in large:
            if offer.key not in self._fetches:
                self._fetches[offer.key] = asyncio.create_task(self._take_large(client, address, reply, offer))
        now = without_offers(reply, large)
        await loop.run_in_executor(self._threads, self._executor.take_reply, address, request, now, {})
        if large:
            await asyncio.sleep(MEMBERS_SECONDS)
        if reply.state is HostState.NEEDS_PACKAGE:
            await self._send_package(client, address, request)

    async def _take_large(self, client: Any, address: str, reply: ExchangeReply, offer: OfferedRecord) -> None:
        """Beside the exchanges, so that a lease does not end while artifacts are on their way."""
        try:
            artifacts = await self._fetch(client, address, offer)
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._threads, self._executor.take_offer, reply.host, offer, artifacts)
            if self._shared is not None:
                await loop.run_in_executor(self._threads, self._shared.remove, offer.key, offer.shared)
        except Exception as fault:  # it is offered again
            self._executor.say(f"an artifact of {offer.run_id} could not be fetched from {reply.node}: {fault}")
        finally:
            self._fetches.pop(offer.key, None)

    async def _fetch(self, client: Any, address: str, offer: OfferedRecord) -> dict[str, bytes]:
        loop = asyncio.get_running_loop()
        found: dict[str, bytes] = {}
        for digest in offer.shared:
            content = await loop.run_in_executor(self._threads, self._fetch_shared, offer, digest)
            if content is not None:
                found[digest] = content
        # The host has its own copy of what could not be had from there.
        left = {digest: size for digest, size in (offer.large | offer.shared).items() if digest not in found}
        for digest, size in left.items():
            try:
                parts = [
                    await self._call(
                        client, address, PART_SECONDS, read_artifact, offer.key, digest, offset, PART_BYTES
                    )
                    for offset in range(0, size, PART_BYTES)
                ]
            except FileNotFoundError:
                if digest in offer.large:
                    raise  # the next offer is without it
                continue  # it is gone at both places, so the record is no result
            found[digest] = b"".join(parts)
        return found

    def _fetch_shared(self, offer: OfferedRecord, digest: str) -> bytes | None:
        if self._shared is None:
            return None
        try:
            return self._shared.fetch(offer.key, digest)
        except OutweighError as fault:
            self._executor.say(f"an artifact of {offer.run_id} is fetched from its host instead: {fault}")
            return None

    async def _send_package(self, client: Any, address: str, request: ExchangeRequest) -> None:
        if request.package is None:
            return
        size = len(self._package)
        for offset in range(0, size, PART_BYTES):
            part = self._package[offset : offset + PART_BYTES]
            arguments = (request.package.sha256, offset, part, size)
            if await self._call(client, address, PART_SECONDS, receive_package, *arguments):
                return
        await asyncio.sleep(REFUSED_SECONDS)

    async def _call(self, client: Any, address: str, seconds: float, function: Any, *arguments: Any) -> Any:
        answers = await asyncio.wait_for(client.run(function, *arguments, workers=[address]), seconds)
        return answers[address]
