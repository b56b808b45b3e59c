"""Runs in the network of a container that the engine cannot enter: listens on the loopback there, and carries every
connection over its own standard input and output, which lead to the engine.

It is copied to the container's machine and started with whatever Python 3.6 or later the image has, so it imports
nothing of ours. relay_program.js does the same with Node. A frame is a kind, the number of a connection, the length of
the data, and the data.

Arguments: the ports to listen on. The program ends when its input does.
"""

import asyncio
import os
import struct
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

HEADER = struct.Struct("!BII")
READY, OPEN, DATA, END = range(4)
_CHUNK_BYTES = 65536


class _Relay:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._writers: dict[int, asyncio.StreamWriter] = {}
        self._last = 0

    def serve(self, place: int) -> "Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]":
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._last += 1
            number = self._last
            self._writers[number] = writer
            _send(OPEN, number, bytes([place]))
            try:
                while True:
                    chunk = await reader.read(_CHUNK_BYTES)
                    if not chunk:
                        break
                    _send(DATA, number, chunk)
            except OSError:
                pass
            _send(END, number, b"")

        return accept

    def receive(self) -> None:
        """Read frames in a thread: the descriptor may be shared with standard output, which must stay blocking."""
        while True:
            header = _read(HEADER.size)
            if header is None:
                os._exit(0)
            kind, number, length = HEADER.unpack(header)
            self._loop.call_soon_threadsafe(self._answer, kind, number, _read(length) if length else b"")

    def _answer(self, kind: int, number: int, data: "bytes | None") -> None:
        writer = self._writers.get(number)
        if writer is None:
            return
        if kind == DATA:
            writer.write(data or b"")
        else:
            del self._writers[number]
            writer.close()


def _send(kind: int, number: int, data: bytes) -> None:
    content = memoryview(HEADER.pack(kind, number, len(data)) + data)
    while content:
        content = content[os.write(1, content) :]


def _read(count: int) -> "bytes | None":
    parts = []
    while count:
        part = os.read(0, min(count, _CHUNK_BYTES))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


async def _serve(ports: "list[int]") -> None:
    relay = _Relay(asyncio.get_event_loop())
    for place, port in enumerate(ports):
        await asyncio.start_server(relay.serve(place), "127.0.0.1", port)
    _send(READY, 0, b"")
    threading.Thread(target=relay.receive, daemon=True).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.get_event_loop_policy().new_event_loop().run_until_complete(_serve([int(port) for port in sys.argv[1:]]))
