"""How a bubblewrap process is started and followed: the pipe on which it reports its first process, and the barrier at
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
    """A pipe that bubblewrap writes its JSON lines to, and the tree of processes that they lead to."""

    def __init__(self) -> None:
        self._said: dict[str, object] = {}
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
        """From now on only bubblewrap writes."""
        self._open.remove(self.writer)
        os.close(self.writer)

    @property
    def was_entered(self) -> bool:
        """Whether the sandbox stood and the command was started in it."""
        self._listen()
        return "exit-code" in self._said

    def wait_for_first_process(self) -> int | None:
        """The first process of the sandbox, as soon as there is one; None when bubblewrap ended without."""
        deadline = monotonic() + _START_TIMEOUT_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(self._reader, selectors.EVENT_READ)
            while (first := self._first_process()) is None and not self._is_over:
                if not selector.select(deadline - monotonic()):
                    break
        return first

    def ask(self, leader: int) -> None:
        """Ask what runs inside; bubblewrap itself would take the walls down at once."""
        first = self._first_process()
        signal_group(leader if first is None else first, signal.SIGTERM)

    def end(self, leader: int) -> None:
        """Kill bubblewrap; the first process goes with it, and is gone only when all others inside are."""
        signal_group(leader, signal.SIGKILL)
        first = self._first_process()
        if first is not None:
            signal_group(first, signal.SIGKILL)
            wait_until_dead(first, _STOP_TIMEOUT_SECONDS)

    def _first_process(self) -> int | None:
        self._listen()
        first = self._said.get("child-pid")
        return first if isinstance(first, int) else None

    def _listen(self) -> None:
        with suppress(BlockingIOError):
            heard = os.read(self._reader, _MAX_READ_BYTES)
            self._is_over = not heard
            # Bubblewrap writes a line in pieces.
            *lines, self._unfinished = (self._unfinished + heard).split(b"\n")
            for line in lines:
                with suppress(msgspec.DecodeError):
                    self._said.update(msgspec.json.decode(line, type=dict[str, object]))


_EXIT_TIMEOUT_SECONDS = 1.0


class StartBarrier:
    """A pipe that bubblewrap reads from before it starts the command; without doors there is nothing to wait for."""

    def __init__(self, doors: tuple[ForwardedPort, ...]) -> None:
        self._doors = doors
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self.arguments: tuple[str, ...] = ()
        self.descriptors: tuple[int, ...] = ()
        if self._doors:
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

    def open_doors(self, status: BubblewrapStatus) -> None:
        """Answer at the doors from now on, and let the command in."""
        if not self._doors:
            return
        first = status.wait_for_first_process()
        if first is not None:
            self._answer_in(first)
        os.write(self._writer, b"\n")

    def _answer_in(self, first: int) -> None:
        try:
            sockets = listen_in_namespace(first, assign_ports(self._doors).values())
        except SandboxError:
            # Where there is no sandbox any more, bubblewrap itself says why.
            if wait_until_dead(first, _EXIT_TIMEOUT_SECONDS):
                return
            raise
        self._open.enter_context(serve_ports(self._doors, sockets))
