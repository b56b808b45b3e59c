"""Where a command of bubblewrap waits until the doors of its sandbox are open."""

import os
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from outweigh.adapters.sandboxes.bubblewrap_status import Status
from outweigh.adapters.sandboxes.doors import answering, ports_inside
from outweigh.adapters.sandboxes.listening import listen_in
from outweigh.adapters.sandboxes.process import wait_until_dead
from outweigh.ports.sandboxes import Door, SandboxError

_DYING_SECONDS = 1.0


class Threshold:
    """A pipe that bubblewrap reads from before it starts the command; without doors there is nothing to wait for."""

    def __init__(self, doors: tuple[Door, ...]) -> None:
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

    def open_doors(self, status: Status) -> None:
        """Answer at the doors from now on, and let the command in."""
        if not self._doors:
            return
        first = status.wait_for_first_process()
        if first is not None:
            self._answer_in(first)
        os.write(self._writer, b"\n")

    def _answer_in(self, first: int) -> None:
        try:
            sockets = listen_in(first, ports_inside(self._doors).values())
        except SandboxError:
            # Where there is no sandbox any more, bubblewrap itself says why.
            if wait_until_dead(first, _DYING_SECONDS):
                return
            raise
        self._open.enter_context(answering(self._doors, sockets))
