"""The terminal: printing text from other people's files without control characters, notices, and Ctrl-C.

Kept apart from `arguments` and `progress` because `main` needs it for an error message before any verb is loaded.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedWriter, FileIO, TextIOWrapper
from threading import Event, current_thread, main_thread
from typing import TextIO

from outweigh.report.formatting import escape_controls


def print_escaped(text: str, *, to: TextIO | None = None) -> None:
    """Print to standard output, or elsewhere, without a character that would move, colour or hide anything."""
    print("\n".join(map(escape_controls, text.split("\n"))), file=to)


def write_notice(text: str, stream: TextIO) -> None:
    """Write to whoever watches; a reader who has left must not stop the work."""
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        # What is left in the buffer must not fail again when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def notify(text: str) -> None:
    """Show the user one sentence on standard error; an indented line goes on with the one before."""
    prefix = "" if text.startswith("  ") else "outweigh: "
    write_notice(f"{prefix}{escape_controls(text)}\n", sys.stderr)


class _Silenced(TextIOWrapper):
    """Stands in for standard error while `--quiet` drops what is written there."""

    def __init__(self, behind: TextIO) -> None:
        super().__init__(BufferedWriter(FileIO(os.devnull, "w")), encoding="utf-8", errors="backslashreplace")
        self.behind = behind


def silence_notices() -> None:
    """Drop what is written to standard error from here on: progress, notices and warnings. `main` undoes it."""
    if not isinstance(sys.stderr, _Silenced):
        sys.stderr = _Silenced(sys.stderr)


def error_stream() -> TextIO:
    """Where to write what `--quiet` must not drop: why a command failed, or a question to the user."""
    return sys.stderr.behind if isinstance(sys.stderr, _Silenced) else sys.stderr


def is_confirmed(question: str) -> bool:
    """Ask before anything is paid for; no answer is no."""
    stream = error_stream()
    stream.write(question)
    stream.flush()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        stream.write("\n")
    return answer.strip().lower() in ("y", "yes")


def _write_at_once(text: str) -> None:
    """Write to standard error from a signal's handler, which may have interrupted a write to the same stream."""
    if not isinstance(sys.stderr, _Silenced):
        with suppress(OSError):
            os.write(sys.stderr.fileno(), text.encode())


@contextmanager
def terminable() -> Iterator[None]:
    """A signal to end is taken like Ctrl-C, so that everything is taken down; once that goes on, it changes nothing."""

    def end(number: int, frame: object) -> None:  # noqa: ARG001 - the signature of a handler
        signal.signal(signal.SIGTERM, lambda number, frame: None)  # noqa: ARG005 - likewise
        raise KeyboardInterrupt

    if current_thread() is not main_thread():
        yield
        return
    before = {kind: signal.signal(kind, end) for kind in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


@contextmanager
def interruptible(drain: Event, cancel: Event, *, finishing: str | None = None) -> Iterator[None]:
    """The first signal lets what is running finish, the second ends it; `finishing` names what may take a while."""

    def interrupt(number: int, frame: object) -> None:  # noqa: ARG001 - the signature of a handler
        if drain.is_set():
            cancel.set()
        elif finishing is not None:
            _write_at_once(f"\nstopping: {finishing} may finish; press Ctrl-C again to end now\n")
        drain.set()

    before = {kind: signal.signal(kind, interrupt) for kind in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
