"""What a process says and is told, without ever blocking it: output beyond a limit is read and dropped."""

import fcntl
import os
import selectors
import subprocess
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from types import TracebackType
from typing import IO, Self

OUTPUT_LIMIT = 8 * 2**20
_CHUNK = 2**18
# A bigger pipe means fewer wake-ups for a program that prints a gigabyte; a refusal costs nothing but speed.
_PIPE_BYTES = 2**20


class Kept:
    """The beginning of a stream, up to a limit, and whether there was more."""

    def __init__(self, limit: int = OUTPUT_LIMIT) -> None:
        self._left = limit
        self._parts: list[bytes] = []
        self.truncated = False

    def add(self, chunk: bytes) -> None:
        """Keep what still fits."""
        if len(chunk) > self._left:
            self.truncated = True
            chunk = chunk[: self._left]
        if chunk:
            self._parts.append(chunk)
            self._left -= len(chunk)

    def content(self) -> bytes:
        """All that was kept."""
        return b"".join(self._parts)


class Streams:
    """The three pipes of a process and the news of its exit, served from one thread."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", stdin: bytes, listen: Callable[[bytes], None] | None = None
    ) -> None:
        self.stdout, self.stderr = Kept(), Kept()
        self._listen = listen
        self._process = process
        self._unsent = memoryview(stdin)
        self._selector = selectors.DefaultSelector()
        self._exit = os.pidfd_open(process.pid)
        self._outputs: dict[int, tuple[IO[bytes], Kept]] = {}

    def __enter__(self) -> Self:
        self._selector.register(self._exit, selectors.EVENT_READ)
        for pipe, kept in ((self._process.stdout, self.stdout), (self._process.stderr, self.stderr)):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            with suppress(OSError):
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            self._outputs[pipe.fileno()] = (pipe, kept)
            self._selector.register(pipe, selectors.EVENT_READ)
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)
            self._selector.register(self._process.stdin, selectors.EVENT_WRITE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._selector.close()
        os.close(self._exit)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def pump(self, stop: Callable[[], bool], deadline: float, interval: float = 1.0) -> bool:
        """Serve the pipes until the process exits (True), or until told to stop or out of time (False)."""
        while not stop():
            left = deadline - monotonic()
            if left <= 0:
                return False
            if self._serve(min(left, interval)):
                return True
        return False

    def drain(self, deadline: float) -> None:
        """Take what is still in the pipes of a dead process."""
        while self._outputs and (left := deadline - monotonic()) > 0:
            self._serve(left)

    def _serve(self, seconds: float) -> bool:
        exited = False
        for key, _ in self._selector.select(seconds):
            if key.fd == self._exit:
                exited = True
                self._selector.unregister(self._exit)
            elif key.fd in self._outputs:
                self._receive(key.fd)
            else:
                self._send()
        return exited

    def _receive(self, descriptor: int) -> None:
        pipe, kept = self._outputs[descriptor]
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return
        if chunk:
            kept.add(chunk)
            if self._listen is not None and kept is self.stdout:
                self._listen(chunk)
        else:
            self._selector.unregister(pipe)
            del self._outputs[descriptor]

    def _send(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        try:
            self._unsent = self._unsent[os.write(pipe.fileno(), self._unsent[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._unsent = self._unsent[:0]
        if not self._unsent:
            self._selector.unregister(pipe)
            pipe.close()
