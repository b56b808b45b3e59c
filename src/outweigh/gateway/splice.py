"""Two connections made one: what comes from either goes to the other, at the pace of the slower."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

_CHUNK = 2**16
_LINGER_SECONDS = 10.0


class Line(NamedTuple):
    """A connection, for reading and for writing."""

    reader: StreamReader
    writer: StreamWriter

    async def say_last(self, words: bytes) -> None:
        """Say something to somebody who may still be talking: closing at once could take the words back."""
        self.writer.write(words)
        self.writer.write_eof()
        async with asyncio.timeout(_LINGER_SECONDS):
            while await self.reader.read(_CHUNK):
                pass


@asynccontextmanager
async def hanging_up(line: Line) -> AsyncIterator[Line]:
    """A connection that is closed in the end: after a fault at once, otherwise when all that was said is taken."""
    try:
        yield line
        line.writer.close()
        with suppress(OSError):  # also when the time is up
            async with asyncio.timeout(_LINGER_SECONDS):
                await line.writer.wait_closed()
    finally:
        line.writer.transport.abort()


async def splice(one: Line, other: Line, idle_seconds: float) -> None:
    """Carry both ways until both have said all, one breaks, or nothing has moved for a while."""
    traffic = _Traffic()
    ways = {
        asyncio.create_task(_carry(one.reader, other.writer, traffic)),
        asyncio.create_task(_carry(other.reader, one.writer, traffic)),
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


class _Traffic:
    """When something last moved in either direction: one of them may be silent for as long as it likes."""

    def __init__(self) -> None:
        self.moved()

    def moved(self) -> None:
        self.last_moved = asyncio.get_running_loop().time()


async def _carry(reader: StreamReader, writer: StreamWriter, traffic: _Traffic) -> None:
    while chunk := await reader.read(_CHUNK):
        traffic.moved()
        writer.write(chunk)
        await writer.drain()
        traffic.moved()
    if writer.can_write_eof():
        writer.write_eof()
