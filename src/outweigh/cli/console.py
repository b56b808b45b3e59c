"""The terminal: printing text from other people's files without control characters, and Ctrl-C.

Kept apart from `arguments` and `progress` because `main` needs it for an error message before any verb is loaded.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import TextIO

from outweigh.report.formatting import escape_controls


def print_escaped(text: str, *, to: TextIO | None = None) -> None:
    """Print to standard output, or elsewhere, without a character that would move, colour or hide anything."""
    print("\n".join(map(escape_controls, text.split("\n"))), file=to)


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
