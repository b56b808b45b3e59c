"""Ctrl-C: once to finish what is running, twice to end it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event


@contextmanager
def interruptible(drain: Event, cancel: Event) -> Iterator[None]:
    """The first signal lets running trials finish, the second ends them."""

    def interrupt(number: int, frame: object) -> None:  # noqa: ARG001 - the signature of a handler
        if drain.is_set():
            cancel.set()
        drain.set()

    before = {kind: signal.signal(kind, interrupt) for kind in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
