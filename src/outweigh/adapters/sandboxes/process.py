"""A command as a tree of processes: bounded output, a deadline by the monotonic clock, and an end that is an end.

Whatever the command started is ended with it, also when it exits by itself: no exec leaves anything behind.
"""

import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Protocol

from outweigh.adapters.sandboxes.streams import Streams
from outweigh.apart import start_apart
from outweigh.ports.sandboxes import Completed, Ending, SandboxError

# An agent that is asked to stop gets this long to write down what it has.
GRACE_SECONDS = 0.5
# An Event cannot be selected on, so it is looked at this often.
CANCEL_CHECK_SECONDS = 0.05
# After the end of a tree its pipes are empty at once, unless something escaped that still holds them.
DRAIN_SECONDS = 1.0
_SIGNALLED = 128


class Tree(Protocol):
    """How the processes below a leader are reached."""

    def ask(self, leader: int) -> None:
        """Ask all of them to stop."""

    def end(self, leader: int) -> None:
        """Kill all of them; when this returns, none is alive. Called exactly once, before the leader is reaped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One command: the words that start it, its environment and no other, and its limits."""

    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    stdin: bytes
    timeout_seconds: float
    cancel: Event
    descriptors: tuple[int, ...] = ()
    listen: Callable[[bytes], None] | None = None


def run(job: Job, tree: Tree, started: Callable[[], None] = lambda: None) -> Completed:
    """Run a command to its end, its deadline or its cancellation. `started` is called once it is under way."""
    began = monotonic()
    if job.cancel.is_set():
        return Completed(
            ending=Ending.CANCELLED, exit_code=None, stdout=b"", stderr=b"", truncated=False, duration_seconds=0.0
        )
    process = _start(job)
    try:
        with Streams(process, job.stdin, job.listen) as streams:
            try:
                started()
                ending = _watch(job, streams, began + job.timeout_seconds)
                if ending is not Ending.EXITED:
                    tree.ask(process.pid)
                    streams.pump(lambda: False, monotonic() + GRACE_SECONDS)
            finally:
                # Before the leader is reaped: until then its number cannot belong to anybody else.
                tree.end(process.pid)
            streams.drain(monotonic() + DRAIN_SECONDS)
            code = process.wait()
    finally:
        process.wait()
    return Completed(
        ending=ending,
        exit_code=(code if code >= 0 else _SIGNALLED - code) if ending is Ending.EXITED else None,
        stdout=streams.stdout.content(),
        stderr=streams.stderr.content(),
        truncated=streams.stdout.truncated or streams.stderr.truncated,
        duration_seconds=monotonic() - began,
    )


def signal_group(group: int, number: int) -> None:
    """Signal a process group that may be gone already."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def wait_until_dead(process: int, seconds: float) -> bool:
    """Wait for a process that need not be a child of ours."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(handle, selectors.EVENT_READ)
            return bool(selector.select(seconds))
    finally:
        os.close(handle)


class GroupTree:
    """The process group of the leader and nothing more; enough where something else holds the rest together."""

    def ask(self, leader: int) -> None:
        """Ask the group."""
        signal_group(leader, signal.SIGTERM)

    def end(self, leader: int) -> None:
        """Kill the group."""
        signal_group(leader, signal.SIGKILL)


def _start(job: Job) -> "subprocess.Popen[bytes]":
    try:
        return start_apart(
            job.command,
            environment=job.environment,
            folder=job.folder,
            takes_input=bool(job.stdin),
            descriptors=job.descriptors,
        )
    except (OSError, ValueError) as fault:
        raise SandboxError(f"a command could not be started in the sandbox: {fault}.") from fault


def _watch(job: Job, streams: Streams, deadline: float) -> Ending:
    if streams.pump(job.cancel.is_set, deadline, CANCEL_CHECK_SECONDS):
        return Ending.EXITED
    return Ending.CANCELLED if job.cancel.is_set() else Ending.TIMED_OUT
