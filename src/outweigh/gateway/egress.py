"""The way out of a sandbox to hosts that a suite allows: an HTTP proxy that connects to nobody else."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from socket import SOCK_STREAM, socket

from outweigh.gateway.allowed_hosts import AllowedHosts
from outweigh.gateway.background import Background
from outweigh.gateway.proxy_request import BadRequestError, ProxyRequest, parse
from outweigh.gateway.splice import Line, hanging_up, splice
from outweigh.ports.sandboxes import Door

DOOR = "hosts"
_MOST_REMEMBERED = 1000

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressLimits:
    """What a program inside may take from the engine outside."""

    connections: int = 64
    head_bytes: int = 2**15
    head_seconds: float = 30.0
    connect_seconds: float = 30.0
    idle_seconds: float = 600.0


class RefusedError(Exception):
    """What the program is told instead of being connected."""

    def __init__(self, status: int, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.answer = (
            f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(sentence.encode()) + 1}\r\nConnection: close\r\n\r\n{sentence}\n"
        ).encode()


async def look_up(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, as the engine's machine knows them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Egress:
    """One run's way to its hosts; it remembers whom it refused."""

    def __init__(
        self,
        hosts: Sequence[str],
        background: Background,
        *,
        limits: EgressLimits | None = None,
        resolve: Resolve = look_up,
    ) -> None:
        self._allowed = AllowedHosts(hosts)
        self._background = background
        self._limits = limits or EgressLimits()
        self._resolve = resolve
        self._refused: dict[str, None] = {}

    def door(self) -> Door:
        """The door that leads here."""
        return Door(name=DOOR, serve=self._serve)

    def refused(self) -> tuple[str, ...]:
        """The hosts that were asked for in vain, each once; a bounded number."""
        return tuple(self._refused)

    @contextmanager
    def _serve(self, listening: socket) -> Iterator[None]:
        serving = _Serving(self._handle, self._limits)
        self._background.run(serving.start(listening))
        try:
            yield
        finally:
            self._background.run(serving.stop())

    async def _handle(self, caller: Line) -> None:
        try:
            request = await self._read(caller.reader)
            upstream = await self._connect(request)
        except RefusedError as refusal:
            await caller.say_last(refusal.answer)
            return
        async with hanging_up(upstream):
            if request.is_tunnel:
                caller.writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            upstream.writer.write(request.opening)
            await splice(caller, upstream, self._limits.idle_seconds)

    async def _read(self, reader: StreamReader) -> ProxyRequest:
        try:
            async with asyncio.timeout(self._limits.head_seconds):
                return parse(await reader.readuntil(b"\r\n\r\n"))
        except asyncio.LimitOverrunError as fault:
            raise RefusedError(431, "Request Header Fields Too Large", "this request has too long a head") from fault
        except BadRequestError as fault:
            raise RefusedError(400, "Bad Request", str(fault)) from fault

    async def _connect(self, request: ProxyRequest) -> Line:
        if not self._allowed.allow(request.host, request.port):
            raise self._refuse(request, "is not among the hosts that this suite lets through")
        try:
            async with asyncio.timeout(self._limits.connect_seconds):
                addresses = await self._resolve(request.host, request.port)
            return await self._connect_to_any(request, addresses)
        except (OSError, UnicodeError) as fault:  # also a name that is none, and when the time is up
            trouble = f"{request.target} cannot be reached: {str(fault) or 'no answer in time'}"
            raise RefusedError(502, "Bad Gateway", trouble) from fault

    async def _connect_to_any(self, request: ProxyRequest, addresses: Sequence[str]) -> Line:
        trouble = OSError("it has no address")
        for address in addresses:
            # The address that was looked at is the one that is connected to: asking again could give another.
            if not self._allowed.allow_address(request.host, request.port, address):
                raise self._refuse(request, f"is at {address}, within the engine's own network, and not listed itself")
            try:
                async with asyncio.timeout(self._limits.connect_seconds / len(addresses)):
                    return Line(*await asyncio.open_connection(address, request.port))
            except OSError as fault:
                trouble = fault
        raise trouble

    def _refuse(self, request: ProxyRequest, why: str) -> RefusedError:
        if len(self._refused) < _MOST_REMEMBERED:
            self._refused[request.target] = None
        sentence = f"{request.target} {why}; a suite that needs it names it in [sandbox] allow_hosts."
        return RefusedError(403, "Not in [sandbox] allow_hosts", sentence)


class _Serving:
    """All connections through one open door, each in a task of its own."""

    def __init__(self, handle: Callable[[Line], Awaitable[None]], limits: EgressLimits) -> None:
        self._handle = handle
        self._limits = limits
        self._callers: set[asyncio.Task[None]] = set()

    async def start(self, listening: socket) -> None:
        listening.setblocking(False)
        self._server = await asyncio.start_server(self._receive, sock=listening, limit=self._limits.head_bytes)

    async def stop(self) -> None:
        self._server.close()
        for caller in self._callers:
            caller.cancel()
        await asyncio.gather(*self._callers, return_exceptions=True)

    def _receive(self, reader: StreamReader, writer: StreamWriter) -> None:
        if len(self._callers) >= self._limits.connections:
            # Descriptors are shared by all runs of the engine.
            writer.transport.abort()
            return
        caller = asyncio.create_task(self._attend(Line(reader, writer)))
        self._callers.add(caller)
        caller.add_done_callback(self._callers.discard)

    async def _attend(self, caller: Line) -> None:
        with suppress(OSError, EOFError):  # whoever goes away in the middle is gone
            async with hanging_up(caller):
                await self._handle(caller)
