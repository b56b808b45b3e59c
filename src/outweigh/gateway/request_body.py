"""Receiving a request: its body within the limits of its run, and reading it without holding up other runs."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Self

from outweigh.gateway.request_parsing import ParsedRequest, Route

if TYPE_CHECKING:
    from aiohttp.web import BaseRequest

MAX_REQUEST_BYTES = 32 << 20
MAX_PENDING_BYTES_PER_RUN = 256 << 20
_READ_WITHOUT_PAUSE_SECONDS = 0.02
_PAUSE_PER_SECOND_OF_READING = 19.0


class BodyTooLargeError(Exception):
    """A request body exceeds a limit; the message is a sentence for the client."""


class BodyLimit:
    """The memory that all pending requests of one run may use together."""

    def __init__(self, most_bytes: int = MAX_PENDING_BYTES_PER_RUN) -> None:
        self.remaining_bytes = most_bytes


class RequestBody:
    """One request's body; leaving the context releases its share of the limit."""

    def __init__(self, limit: BodyLimit, largest_bytes: int = MAX_REQUEST_BYTES) -> None:
        self._limit = limit
        self._largest = largest_bytes
        self._content = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._limit.remaining_bytes += len(self._content)

    def add(self, chunk: bytes) -> None:
        """Add a chunk."""
        if len(self._content) + len(chunk) > self._largest:
            raise BodyTooLargeError(f"A request may have {self._largest >> 20} MiB; this one has more.")
        if len(chunk) > self._limit.remaining_bytes:
            raise BodyTooLargeError("The requests that this run has in progress are too large together.")
        self._limit.remaining_bytes -= len(chunk)
        self._content += chunk

    def content(self) -> bytes:
        """All of it."""
        return bytes(self._content)


async def receive_body(request: "BaseRequest", body: RequestBody) -> None:
    """Take a request's body as it arrives; a client may wait for permission to send it."""
    if request.headers.get("expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    while chunk := await request.content.readany():
        body.add(chunk)


def pause_after(seconds: float) -> float:
    """How long a run's next request waits when reading one took this much processor time.

    Only one thread of a Python process runs at a time, so a run that sends large requests one after the other would
    slow down all others. It gets at most a twentieth of the time; requests of the usual size are read at once.
    """
    return 0.0 if seconds <= _READ_WITHOUT_PAUSE_SECONDS else _PAUSE_PER_SECOND_OF_READING * seconds


class RequestReader:
    """Reads the requests of one run, one at a time and in a thread of its own.

    Reading takes as long as a request is large. Requests of other runs are answered meanwhile, and requests of the same
    run wait for each other.
    """

    def __init__(
        self, read: Callable[[Route, bytes], ParsedRequest], pause: Callable[[float], float] = pause_after
    ) -> None:
        self._read = read
        self._pause = pause
        self._turn = asyncio.Lock()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="outweigh-requests")
        self._used_seconds = 0.0

    async def read(self, route: Route, body: bytes) -> ParsedRequest:
        """Read one request. Where its client hangs up, the next one still waits until it is read."""
        await self._turn.acquire()
        reading = asyncio.get_running_loop().run_in_executor(self._thread, self._read_timed, route, body)
        reading.add_done_callback(self._end_turn)
        return await asyncio.shield(reading)

    def close(self) -> None:
        """Read nothing more; what is being read is dropped."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _read_timed(self, route: Route, body: bytes) -> ParsedRequest:
        started = time.thread_time()
        try:
            return self._read(route, body)
        finally:
            self._used_seconds = time.thread_time() - started

    def _end_turn(self, reading: "asyncio.Future[ParsedRequest]") -> None:
        reading.get_loop().call_later(self._pause(self._used_seconds), self._turn.release)
        if not reading.cancelled():
            reading.exception()  # its client may be gone; otherwise asyncio would complain that nobody looked
