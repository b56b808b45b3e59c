"""The exit of a process is noticed with the system's handle for it, and without one."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import pytest

from outweigh.process import spawn
from outweigh.sandbox.process_tree import EXIT_HANDLE, ProcessStreams

PATIENCE_SECONDS = 60.0


@pytest.mark.parametrize("handle", [EXIT_HANDLE, None], ids=["handle", "no handle"])
class TestExit:
    def test_all_output_is_kept_and_the_exit_is_seen(self, handle: Callable[[int], int] | None) -> None:
        process = spawn(["/bin/sh", "-c", "cat; echo two >&2; exit 3"], folder=Path("/"), takes_input=True)
        with ProcessStreams(process, b"one", exit_handle=handle) as streams:
            exited = streams.pump(lambda: False, monotonic() + PATIENCE_SECONDS)
            streams.drain(monotonic() + PATIENCE_SECONDS)

        assert (exited, process.wait()) == (True, 3)
        assert (streams.stdout.content(), streams.stderr.content()) == (b"one", b"two\n")

    def test_a_process_that_goes_on_has_not_exited(self, handle: Callable[[int], int] | None) -> None:
        with spawn(["/bin/sleep", "600"], folder=Path("/")) as process:
            with ProcessStreams(process, b"", exit_handle=handle) as streams:
                exited = streams.pump(lambda: False, monotonic() + 0.2)
            process.kill()

        assert exited is False

    def test_a_process_that_exited_while_nobody_watched_has_exited_although_its_time_is_up(
        self, handle: Callable[[int], int] | None
    ) -> None:
        process = spawn(["/bin/true"], folder=Path("/"))
        with ProcessStreams(process, b"", exit_handle=handle) as streams:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            exited = streams.pump(lambda: False, monotonic() - 1.0)

        process.wait()
        assert exited is True

    def test_output_that_another_process_still_holds_open_does_not_hide_the_exit(
        self, handle: Callable[[int], int] | None
    ) -> None:
        process = spawn(["/bin/sh", "-c", "sleep 600 & echo $!"], folder=Path("/"))
        with ProcessStreams(process, b"", exit_handle=handle) as streams:
            exited = streams.pump(lambda: False, monotonic() + PATIENCE_SECONDS)

        os.kill(int(streams.stdout.content()), signal.SIGKILL)
        process.wait()
        assert exited is True
