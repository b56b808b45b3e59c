"""What bubblewrap says about itself: the first process of the sandbox, and whether the command was ever reached."""

import os
import selectors
import signal
from contextlib import suppress
from time import monotonic
from types import TracebackType
from typing import Self

import msgspec

from outweigh.adapters.sandboxes.process import signal_group, wait_until_dead

_END_SECONDS = 5.0
_BEGIN_SECONDS = 30.0
_MOST_BYTES = 2**16


class Status:
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
        deadline = monotonic() + _BEGIN_SECONDS
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
            wait_until_dead(first, _END_SECONDS)

    def _first_process(self) -> int | None:
        self._listen()
        first = self._said.get("child-pid")
        return first if isinstance(first, int) else None

    def _listen(self) -> None:
        with suppress(BlockingIOError):
            heard = os.read(self._reader, _MOST_BYTES)
            self._is_over = not heard
            # Bubblewrap writes a line in pieces.
            *lines, self._unfinished = (self._unfinished + heard).split(b"\n")
            for line in lines:
                with suppress(msgspec.DecodeError):
                    self._said.update(msgspec.json.decode(line, type=dict[str, object]))
