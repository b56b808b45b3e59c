"""A log of lines: what it leaves open, what it says about its size, and what an interrupt does to the lines in it."""

import errno
import os
import signal
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread, main_thread
from types import FrameType

import pytest

from outweigh.store import append_log
from outweigh.store.append_log import AppendLog


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_log_that_was_closed_holds_no_file_open(tmp_path: Path) -> None:
    before = open_files()
    log = AppendLog(tmp_path / "log")
    log.append(b"line\n")
    assert open_files() == before + 1

    log.close()

    assert open_files() == before


def test_a_log_says_how_much_of_its_file_is_durable_before_and_after_it_is_open(tmp_path: Path) -> None:
    log = AppendLog(tmp_path / "log")
    sizes = [log.durable_bytes]
    log.append(b"line\n")
    sizes.append(log.durable_bytes)
    log.close()
    sizes += [log.durable_bytes, AppendLog(tmp_path / "log").durable_bytes]

    assert sizes == [0, 5, 5, 5]


def test_a_log_is_made_with_the_permissions_that_the_umask_leaves(tmp_path: Path) -> None:
    log = AppendLog(tmp_path / "log")
    previous = os.umask(0o022)
    try:
        log.append(b"line\n")
    finally:
        os.umask(previous)
        log.close()

    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o644


def test_a_log_that_was_closed_takes_no_line_and_stays_as_it_is(tmp_path: Path) -> None:
    log = AppendLog(tmp_path / "log")
    log.append(b"line\n")
    log.close()
    log.close()

    with pytest.raises(OSError, match="the log is closed") as refused:
        log.append(b"more\n")

    assert refused.value.errno == errno.EBADF
    assert (tmp_path / "log").read_bytes() == b"line\n"


def test_every_line_of_a_single_thread_is_synced_once(tmp_path: Path) -> None:
    log = AppendLog(tmp_path / "log")
    for number in range(3):
        log.append(b"line %d\n" % number)
    log.close()

    assert log.flushes == 3


class InterruptError(BaseException):
    """Raised in the main thread by a signal, as Ctrl-C raises KeyboardInterrupt."""


@contextmanager
def interrupt_on(number: int) -> Iterator[None]:
    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise InterruptError

    previous = signal.signal(number, interrupt)
    try:
        yield
    finally:
        signal.signal(number, previous)


def wait_until_inside_the_log(thread: Thread) -> None:
    """Until a thread is blocked in the log: at three looks in a row."""
    seen = 0
    end = time.monotonic() + 30
    while seen < 3 and time.monotonic() < end:
        frame = sys._current_frames().get(thread.ident or 0)
        seen = seen + 1 if frame is not None and frame.f_code.co_filename == append_log.__file__ else 0
        time.sleep(0.05)


def fault_of(log: AppendLog, found: dict[str, int | None], name: str) -> Thread:
    def append() -> None:
        try:
            log.append(name.encode() + b"\n")
        except OSError as fault:
            found[name] = fault.errno

    return Thread(target=append, daemon=True)


def test_lines_that_waited_for_an_interrupted_writer_are_refused_and_later_ones_are_not(tmp_path: Path) -> None:
    pipe = tmp_path / "log"
    os.mkfifo(pipe)  # opening it waits for a reader, and syncing it is an error of its own kind
    log = AppendLog(pipe)
    found: dict[str, int | None] = {}
    first, follower, late = (fault_of(log, found, name) for name in ("first", "follower", "late"))
    first.start()
    wait_until_inside_the_log(first)

    def follow_and_interrupt() -> None:
        wait_until_inside_the_log(main_thread())
        follower.start()
        wait_until_inside_the_log(follower)
        os.kill(os.getpid(), signal.SIGUSR1)

    helper = Thread(target=follow_and_interrupt, daemon=True)
    helper.start()
    with interrupt_on(signal.SIGUSR1), pytest.raises(InterruptError):
        log.append(b"interrupted\n")
    follower.join(30)
    late.start()
    wait_until_inside_the_log(late)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    for thread in (first, late, helper):
        thread.join(30)
    os.close(reader)

    assert found == {"follower": errno.EINTR, "first": errno.EINVAL, "late": errno.EINVAL}
