"""What one run's hostile requests cost another run at the same gateway, beside many streams.

The provider, the streams, the hostile run and the run that is watched are processes of their own; the gateway is a
thread, as in an engine. `python -m benchmarks.neighbours ROLE URL KEY …` is one of these processes.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from socket import create_connection, create_server
from threading import Thread
from urllib.parse import urlsplit

from aiohttp import ClientSession, TCPConnector, web

from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from outweigh.gateway.model_gateway import ModelGateway
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.pricing import PriceTables
from outweigh.model.provider import ApiFamily
from outweigh.ports.gateways import MeterRequest

WORST_WAIT_SECONDS = 1.0
"""What a run may wait for an answer at most, whatever another run sends."""

SECONDS = 8.0
CHUNKS_PER_SECOND = 50
STREAMS, STREAMS_IN_FULL = 50, 500
STREAMS_OF_A_RUN = 100  # the gateway refuses a run that opens more than 256 connections
_PATH = "/v1/chat/completions"
_SMALL = b'{"model": "bench", "messages": [{"role": "user", "content": "Hi"}]}'
_STREAMED = b'{"model": "bench", "stream": true, "messages": [{"role": "user", "content": "Go on"}]}'
_CHUNK = b'data: {"model": "bench", "choices": [{"index": 0, "delta": {"content": "a word"}}]}\n\n'
_BLOCK = b'{"text": "a"}'
_PACKED, _SLOW = "a packed body", "hundreds of slow clients"


@dataclass(frozen=True, slots=True)
class Body:
    """A request's body: something, a piece again and again up to this size, and an end."""

    start: bytes
    piece: bytes
    size: int
    end: bytes

    def parts(self) -> Iterator[bytes]:
        """All of it, in parts of 64 KiB."""
        block = self.piece * max(1, (1 << 16) // len(self.piece))
        yield self.start
        for _ in range(self.size // len(block)):
            yield block
        yield self.end


HOSTILE: Mapping[str, Body | None] = {
    "nothing": None,
    "bodies of many small values": Body(b'{"model": "bench", "messages": [', _BLOCK + b",", 5 << 20, _BLOCK + b"]}"),
    "bodies that are one long text": Body(b'{"model": "bench", "messages": "', b"a b ", 30 << 20, b'"}'),
    "bodies of a gigabyte": Body(b'{"model": "bench", "messages": "', b"a b ", 1 << 30, b'"}'),
    _PACKED: Body(b"\x1f\x8b", b"\0", 1 << 20, b""),
    _SLOW: None,
}


def measure(setting: Setting) -> list[Ratio]:
    """The slowest answer that the watched run got beside each kind of hostile run."""
    streams = STREAMS_IN_FULL if setting.full else STREAMS
    with _provider() as url:
        return [_row(kind, url, streams) for kind in HOSTILE]


def _row(kind: str, url: str, streams: int) -> Ratio:
    with ExitStack() as stack:
        upstreams = {provider: ModelUpstream(url=url, variable="", key="") for provider in ApiFamily}
        gateway = stack.enter_context(ModelGateway(upstreams, PriceTables()))
        watched, hostile = (stack.enter_context(_run(gateway)) for _ in range(2))
        counts = [min(STREAMS_OF_A_RUN, streams - done) for done in range(0, streams, STREAMS_OF_A_RUN)]
        streaming = [_start("streams", *stack.enter_context(_run(gateway)), str(count)) for count in counts]
        beside = [*streaming, _start("hostile", *hostile, kind)]
        try:
            waits, *chunks = (
                json.loads(process.communicate()[0])
                for process in (_start("watched", *watched), *streaming)  # the streams end by themselves
            )
        finally:
            for process in beside:
                process.kill()
                process.wait()
    worst, median = max(waits), sorted(waits)[len(waits) // 2]
    rate = sum(chunks) / SECONDS
    return Ratio(
        name=f"slowest answer beside {kind} : {WORST_WAIT_SECONDS:g} s",
        measured=worst / WORST_WAIT_SECONDS,
        target=1.0,
        better="lower",
        note=f"median {1e3 * median:.0f} ms of {len(waits)}; {streams} streams got {rate:,.0f} chunks/s",
    )


def _start(role: str, url: str, key: str, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchmarks.neighbours", role, url, key, *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


@contextmanager
def _run(gateway: ModelGateway) -> Iterator[tuple[str, str]]:
    request = MeterRequest(label="bench", budget_usd=None, tokens=None, markers=(), keep_bodies=False)
    listening = create_server(("127.0.0.1", 0), backlog=1024)
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    with gateway.meter(request) as meter, meter.port.serve(listening):
        yield address, meter.key


@contextmanager
def _provider() -> Iterator[str]:
    with _start("provider", "", "") as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().decode().strip()
        finally:
            process.kill()


# --- the other processes ----------------------------------------------------------------------------------------------


def _serve() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        streamed = False
        async for piece in request.content.iter_any():
            streamed = streamed or b'"stream":' in piece
        if not streamed:
            return web.json_response({"model": "bench", "choices": [], "usage": {"completion_tokens": 1}})
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        while True:
            await response.write(_CHUNK)
            await asyncio.sleep(1 / CHUNKS_PER_SECOND)

    application = web.Application(client_max_size=1 << 30)
    application.router.add_post(_PATH, answer)
    listening = create_server(("127.0.0.1", 0), backlog=1024)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    web.run_app(application, sock=listening, print=lambda *_: None)


def _stream(url: str, key: str, count: int) -> None:
    async def read(session: ClientSession) -> int:
        found = 0
        async with session.post(url + _PATH, data=_STREAMED, headers=_headers(key)) as response:
            async for piece in response.content.iter_any():
                found += piece.count(_CHUNK[:6])
                if time.monotonic() > end:
                    break
        return found

    async def all_of_them() -> int:
        async with ClientSession(connector=TCPConnector(limit=0)) as session:
            return sum(await asyncio.gather(*(read(session) for _ in range(count))))

    end = time.monotonic() + SECONDS
    print(json.dumps(asyncio.run(all_of_them())))


def _watch(url: str, key: str) -> None:
    waits, end = [], time.monotonic() + SECONDS
    while time.monotonic() < end:
        started = time.monotonic()
        _post(url, key, iter([_SMALL]), len(_SMALL), {})
        waits.append(time.monotonic() - started)
        time.sleep(0.02)
    print(json.dumps(waits))


def _attack(url: str, key: str, kind: str) -> None:
    if kind == _SLOW:
        _be_slow(url, key)
    if (body := HOSTILE[kind]) is None:
        return
    headers = {"content-encoding": "gzip"} if kind == _PACKED else {}
    size = sum(map(len, body.parts()))

    def send() -> None:
        while True:
            _post(url, key, body.parts(), size, headers)

    for _ in range(8):
        Thread(target=send).start()


def _be_slow(url: str, key: str) -> None:
    address = urlsplit(url)
    start = f"POST {_PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-length: 1000000\r\n\r\n"
    open_ones = [create_connection((address.hostname or "", address.port or 0)) for _ in range(400)]
    for connection in open_ones:
        connection.setblocking(False)
    text = start.encode()
    for place in range(10**9):
        for connection in open_ones:
            try:
                connection.send(text[place : place + 1] or b" ")
            except OSError:
                continue
        time.sleep(0.05)


def _post(url: str, key: str, body: Iterator[bytes], size: int, headers: dict[str, str]) -> None:
    address = urlsplit(url)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=60)
    try:
        connection.request("POST", _PATH, body, {**_headers(key), "content-length": str(size), **headers})
        connection.getresponse().read()
    except (OSError, HTTPException):  # it was refused in the middle
        pass
    finally:
        connection.close()


def _headers(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}", "content-type": "application/json"}


if __name__ == "__main__":
    role, url, key, *more = sys.argv[1:]
    match role:
        case "provider":
            _serve()
        case "streams":
            _stream(url, key, int(more[0]))
        case "watched":
            _watch(url, key)
        case "hostile":
            _attack(url, key, more[0])
