"""The HTTP proxy through which a sandbox reaches the hosts that its suite allows: parses the request, connects to the
address that was checked, and copies both ways without breaking TLS.
"""

import asyncio
import re
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from socket import SOCK_STREAM, socket
from typing import NamedTuple

from outweigh.gateway.event_loop_thread import EventLoopThread
from outweigh.gateway.host_allowlist import AllowedHosts
from outweigh.ports.sandboxes import ForwardedPort

_CHUNK_BYTES = 2**16
_CLOSE_TIMEOUT_SECONDS = 10.0


class StreamConnection(NamedTuple):
    """A connection, for reading and for writing."""

    reader: StreamReader
    writer: StreamWriter

    async def send_and_close(self, content: bytes) -> None:
        """Send a response to a client that may still be sending; closing at once could discard it."""
        self.writer.write(content)
        self.writer.write_eof()
        async with asyncio.timeout(_CLOSE_TIMEOUT_SECONDS):
            while await self.reader.read(_CHUNK_BYTES):
                pass


@asynccontextmanager
async def closing_connection(connection: StreamConnection) -> AsyncIterator[StreamConnection]:
    """Close a connection at the end: after an error at once, otherwise when everything is sent."""
    try:
        yield connection
        connection.writer.close()
        with suppress(OSError):  # also when the time is up
            async with asyncio.timeout(_CLOSE_TIMEOUT_SECONDS):
                await connection.writer.wait_closed()
    finally:
        connection.writer.transport.abort()


async def copy_both_ways(
    one: StreamConnection, other: StreamConnection, idle_seconds: float, *, announce_close: bool = False
) -> None:
    """Copy in both directions until both have ended, one fails, or both are idle for too long.

    With `announce_close`, `one` is told that its connection ends after the response of `other`.
    """
    traffic = _LastActivity()
    ways = {
        asyncio.create_task(_copy_one_way(one.reader, other.writer, traffic)),
        asyncio.create_task(_copy_one_way(other.reader, one.writer, traffic, announce_close=announce_close)),
    }
    left = set(ways)
    try:
        while left and not any(way.exception() for way in ways - left):
            remaining = traffic.last_moved + idle_seconds - asyncio.get_running_loop().time()
            if remaining <= 0:
                break
            _, left = await asyncio.wait(left, timeout=remaining, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


class _LastActivity:
    """When data last moved in either direction; a single direction may be idle for any time."""

    def __init__(self) -> None:
        self.moved()

    def moved(self) -> None:
        self.last_moved = asyncio.get_running_loop().time()


async def _copy_one_way(
    reader: StreamReader, writer: StreamWriter, traffic: _LastActivity, *, announce_close: bool = False
) -> None:
    if announce_close:
        await _copy_head(reader, writer)
    while chunk := await reader.read(_CHUNK_BYTES):
        traffic.moved()
        writer.write(chunk)
        await writer.drain()
        traffic.moved()
    if writer.can_write_eof():
        writer.write_eof()


async def _copy_head(reader: StreamReader, writer: StreamWriter) -> None:
    """Copy the head of a response, with the word that the connection ends after it.

    Servers need not say so themselves, and a program that is not told sends its next request into a closed connection.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        while _INTERIM_RESPONSE.match(head):
            writer.write(head)
            head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as end:
        writer.write(end.partial)
    except asyncio.LimitOverrunError:
        pass  # what was read is still there, and is copied as it is
    else:
        first, *headers = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
        kept = [line for line in headers if not line.lower().startswith((b"connection:", b"keep-alive:"))]
        writer.write(b"\r\n".join([first, *kept, b"Connection: close"]) + b"\r\n\r\n")


_INTERIM_RESPONSE = re.compile(rb"HTTP/1\.[01] 1(?!01)\d\d ")
_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e]+) HTTP/1\.[01]")
_AUTHORITY = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9_.-]{1,255}))(?::(?P<port>[0-9]{1,5}))?")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\r\n\0]*)")
_HTTP_SCHEME = "http://"
_HTTP, _HTTPS = 80, 443
# Headers between the program and the proxy alone, and Host, which is rewritten from the address.
_HEADERS_NOT_FORWARDED = frozenset(
    {b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"te", b"host"}
)


class BadProxyRequestError(Exception):
    """A request that a proxy cannot forward; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyRequest:
    """The target of a request, and the bytes to send there first; none for a tunnel."""

    host: str
    port: int
    is_tunnel: bool
    opening: bytes

    @property
    def target(self) -> str:
        """The host and its port as one text."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_proxy_request(head: bytes) -> ProxyRequest:
    """Parse the head of a request, including its final empty line."""
    first, *headers = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    matched = _REQUEST_LINE.fullmatch(first)
    if matched is None:
        raise BadProxyRequestError("this is not an HTTP/1 request")
    method, target = matched[1], matched[2].decode()
    if method == b"CONNECT":
        host, port = _parse_authority(target, _HTTPS)
        return ProxyRequest(host=host, port=port, is_tunnel=True, opening=b"")
    if not target.lower().startswith(_HTTP_SCHEME):
        raise BadProxyRequestError(
            "this is a proxy: give it a complete http:// address, or CONNECT for everything else"
        )
    authority, path = _split_target(target[len(_HTTP_SCHEME) :])
    host, port = _parse_authority(authority, _HTTP)
    opening = b"".join(
        (method, b" ", path, b" HTTP/1.1\r\nHost: ", authority.encode(), b"\r\n", *_filter_headers(headers))
    )
    # One request per connection, because the next may be for another host.
    return ProxyRequest(host=host, port=port, is_tunnel=False, opening=opening + b"Connection: close\r\n\r\n")


def _split_target(address: str) -> tuple[str, bytes]:
    end = next((place for place, letter in enumerate(address) if letter in "/?#"), len(address))
    path = address[end:].partition("#")[0]
    return address[:end], (path if path.startswith("/") else f"/{path}").encode()


def _parse_authority(text: str, usual_port: int) -> tuple[str, int]:
    matched = _AUTHORITY.fullmatch(text)
    if matched is None:
        raise BadProxyRequestError("this names no host")
    return matched["six"] or matched["name"], int(matched["port"] or usual_port)


def _filter_headers(headers: list[bytes]) -> list[bytes]:
    matches = [_HEADER.fullmatch(header) for header in headers]
    kept = []
    for matched in matches:
        if matched is None:
            raise BadProxyRequestError("this has an invalid header")
        if matched[1].lower() not in _HEADERS_NOT_FORWARDED:
            kept.append(matched[0] + b"\r\n")
    return kept


EGRESS_PORT_NAME = "hosts"
_MAX_REFUSED_HOSTS = 1000

HostResolver = Callable[[str, int], Awaitable[Sequence[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressLimits:
    """Limits on what a program inside may use of the engine outside."""

    connections: int = 64
    head_bytes: int = 2**15
    head_seconds: float = 30.0
    connect_seconds: float = 30.0
    idle_seconds: float = 600.0


class EgressRefusedError(Exception):
    """The response that a program gets instead of a connection."""

    def __init__(self, status: int, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.response = (
            f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(sentence.encode()) + 1}\r\nConnection: close\r\n\r\n{sentence}\n"
        ).encode()


async def resolve_host(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, resolved on the engine's machine."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class EgressProxy:
    """One run's access to its allowed hosts; it records which others it refused."""

    def __init__(
        self,
        hosts: Sequence[str],
        background: EventLoopThread,
        *,
        limits: EgressLimits | None = None,
        resolve: HostResolver = resolve_host,
    ) -> None:
        self._allowed = AllowedHosts(hosts)
        self._background = background
        self._limits = limits or EgressLimits()
        self._resolve = resolve
        self._refused_hosts: dict[str, None] = {}

    def proxy_port(self) -> ForwardedPort:
        """The port of a sandbox that is served by this proxy."""
        return ForwardedPort(name=EGRESS_PORT_NAME, serve=self._serve)

    def refused(self) -> tuple[str, ...]:
        """The hosts that were refused, each once, up to a limit."""
        return tuple(self._refused_hosts)

    @contextmanager
    def _serve(self, listening: socket) -> Iterator[None]:
        serving = _ProxyServer(self._handle, self._limits)
        self._background.run(serving.start(listening))
        try:
            yield
        finally:
            self._background.run(serving.stop())

    async def _handle(self, caller: StreamConnection) -> None:
        try:
            request = await self._read(caller.reader)
            upstream = await self._connect(request)
        except EgressRefusedError as refusal:
            await caller.send_and_close(refusal.response)
            return
        async with closing_connection(upstream):
            if request.is_tunnel:
                caller.writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            upstream.writer.write(request.opening)
            await copy_both_ways(caller, upstream, self._limits.idle_seconds, announce_close=not request.is_tunnel)

    async def _read(self, reader: StreamReader) -> ProxyRequest:
        try:
            async with asyncio.timeout(self._limits.head_seconds):
                return parse_proxy_request(await reader.readuntil(b"\r\n\r\n"))
        except asyncio.LimitOverrunError as fault:
            raise EgressRefusedError(
                431, "Request Header Fields Too Large", "this request has too long a head"
            ) from fault
        except BadProxyRequestError as fault:
            raise EgressRefusedError(400, "Bad Request", str(fault)) from fault

    async def _connect(self, request: ProxyRequest) -> StreamConnection:
        if not self._allowed.allows(request.host, request.port):
            raise self._refuse(request, "is not among the hosts that this suite allows")
        try:
            async with asyncio.timeout(self._limits.connect_seconds):
                addresses = await self._resolve(request.host, request.port)
            return await self._connect_to_any(request, addresses)
        except (OSError, UnicodeError) as fault:  # also an invalid name, and a timeout
            error = f"{request.target} cannot be reached: {str(fault) or 'no answer in time'}"
            raise EgressRefusedError(502, "Bad Gateway", error) from fault

    async def _connect_to_any(self, request: ProxyRequest, addresses: Sequence[str]) -> StreamConnection:
        error = OSError("it has no address")
        for address in addresses:
            # Connect to the address that was checked: resolving the name again could give another.
            if not self._allowed.allows_address(request.host, request.port, address):
                raise self._refuse(request, f"is at {address}, within the engine's own network, and not listed itself")
            try:
                async with asyncio.timeout(self._limits.connect_seconds / len(addresses)):
                    return StreamConnection(*await asyncio.open_connection(address, request.port))
            except OSError as fault:
                error = fault
        raise error

    def _refuse(self, request: ProxyRequest, why: str) -> EgressRefusedError:
        if len(self._refused_hosts) < _MAX_REFUSED_HOSTS:
            self._refused_hosts[request.target] = None
        sentence = f"{request.target} {why}; a suite that needs it names it in [sandbox] allow_hosts."
        return EgressRefusedError(403, "Not in [sandbox] allow_hosts", sentence)


class _ProxyServer:
    """All connections to one socket, each in its own task."""

    def __init__(self, handle: Callable[[StreamConnection], Awaitable[None]], limits: EgressLimits) -> None:
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
            # All runs of the engine share its file descriptors.
            writer.transport.abort()
            return
        caller = asyncio.create_task(self._attend(StreamConnection(reader, writer)))
        self._callers.add(caller)
        caller.add_done_callback(self._callers.discard)

    async def _attend(self, caller: StreamConnection) -> None:
        with suppress(OSError, EOFError):  # the client disconnected
            async with closing_connection(caller):
                await self._handle(caller)
