"""How a bubblewrap process is started and tracked: the pipe on which it reports its first process, and the barrier at
which the command waits until the ports of its sandbox are served.
"""

import os
import selectors
import signal
from contextlib import ExitStack, suppress
from time import monotonic
from types import TracebackType
from typing import Self

import msgspec

from outweigh.ports.sandboxes import ForwardedPort, SandboxError
from outweigh.sandbox.process_tree import signal_group, wait_until_dead
from outweigh.sandbox.sandbox_ports import assign_ports, listen_in_namespace, serve_ports

_STOP_TIMEOUT_SECONDS = 5.0
_START_TIMEOUT_SECONDS = 30.0
_MAX_READ_BYTES = 2**16


class BubblewrapStatus:
    """The pipe that bubblewrap writes its status to as JSON lines, and the process tree that it reports."""

    def __init__(self) -> None:
        self._fields: dict[str, object] = {}
        self._unfinished = b""
        self._is_over = False

    def __enter__(self) -> Self:
        self._reader, self.writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._open = [self._reader, self.writer]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._open:
            os.close(self._open.pop())

    def close_writer(self) -> None:
        """Close our copy of the writing end, so that only bubblewrap writes."""
        self._open.remove(self.writer)
        os.close(self.writer)

    @property
    def was_entered(self) -> bool:
        """Whether the sandbox was built and the command started in it."""
        self._read_fields()
        return "exit-code" in self._fields

    def wait_for_first_process(self) -> int | None:
        """The first process of the sandbox, as soon as it exists; None when bubblewrap ended without starting it."""
        deadline = monotonic() + _START_TIMEOUT_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(self._reader, selectors.EVENT_READ)
            while (first := self._first_process()) is None and not self._is_over:
                if not selector.select(deadline - monotonic()):
                    break
        return first

    def terminate(self, leader: int) -> None:
        """Send SIGTERM to the processes inside; bubblewrap itself would end the sandbox at once."""
        first = self._first_process()
        signal_group(leader if first is None else first, signal.SIGTERM)

    def kill(self, leader: int) -> None:
        """Kill bubblewrap and the first process, which is gone only when all others inside are."""
        signal_group(leader, signal.SIGKILL)
        first = self._first_process()
        if first is not None:
            signal_group(first, signal.SIGKILL)
            wait_until_dead(first, _STOP_TIMEOUT_SECONDS)

    def _first_process(self) -> int | None:
        self._read_fields()
        first = self._fields.get("child-pid")
        return first if isinstance(first, int) else None

    def _read_fields(self) -> None:
        with suppress(BlockingIOError):
            chunk = os.read(self._reader, _MAX_READ_BYTES)
            self._is_over = not chunk
            # Bubblewrap writes one line in several pieces.
            *lines, self._unfinished = (self._unfinished + chunk).split(b"\n")
            for line in lines:
                with suppress(msgspec.DecodeError):
                    self._fields.update(msgspec.json.decode(line, type=dict[str, object]))


_EXIT_TIMEOUT_SECONDS = 1.0


class StartBarrier:
    """A pipe that bubblewrap reads from before it starts the command; not needed without ports."""

    def __init__(self, ports: tuple[ForwardedPort, ...]) -> None:
        self._ports = ports
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self.arguments: tuple[str, ...] = ()
        self.descriptors: tuple[int, ...] = ()
        if self._ports:
            reader, writer = os.pipe2(os.O_CLOEXEC)
            self._open.callback(os.close, reader)
            self._open.callback(os.close, writer)
            self._writer = writer
            self.arguments, self.descriptors = ("--block-fd", str(reader)), (reader,)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def serve_ports_and_release(self, status: BubblewrapStatus) -> None:
        """Start serving the ports, then let bubblewrap start the command."""
        if not self._ports:
            return
        first = status.wait_for_first_process()
        if first is not None:
            self._serve_in(first)
        os.write(self._writer, b"\n")

    def _serve_in(self, first: int) -> None:
        try:
            sockets = listen_in_namespace(first, assign_ports(self._ports).values())
        except SandboxError:
            # Where the sandbox is already gone, bubblewrap itself reports why.
            if wait_until_dead(first, _EXIT_TIMEOUT_SECONDS):
                return
            raise
        self._open.enter_context(serve_ports(self._ports, sockets))
