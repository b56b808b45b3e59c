"""Runs one command and everything that it starts: bounded output, a deadline by the monotonic clock, and no process
left when it returns, also when the command exits by itself.
"""

import fcntl
import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from types import TracebackType
from typing import IO, Protocol, Self

from outweigh.ports.sandboxes import CommandEnding, CompletedCommand, SandboxError, never_held
from outweigh.process import spawn

MAX_CAPTURED_BYTES = 8 * 2**20
_CHUNK_BYTES = 2**18
# A bigger pipe means fewer wake-ups for a program that prints a gigabyte; where the kernel refuses, it is only slower.
_PIPE_BYTES = 2**20


EXIT_HANDLE: Callable[[int], int] | None = getattr(os, "pidfd_open", None)
"""Opens a descriptor that says when a process exits, where the system has such a thing."""
EXIT_CHECK_SECONDS = 0.02


class CapturedOutput:
    """The beginning of a stream, up to a limit, and whether there was more."""

    def __init__(self, limit: int = MAX_CAPTURED_BYTES) -> None:
        self._left = limit
        self._parts: list[bytes] = []
        self.truncated = False

    def add(self, chunk: bytes) -> None:
        """Keep what still fits."""
        if len(chunk) > self._left:
            self.truncated = True
            chunk = chunk[: self._left]
        if chunk:
            self._parts.append(chunk)
            self._left -= len(chunk)

    def content(self) -> bytes:
        """All bytes that were kept."""
        return b"".join(self._parts)


class ProcessStreams:
    """The three pipes of a process and its exit, watched from one thread.

    Where the system offers no handle that says when a process exits (macOS), the exit is asked for again and again.
    """

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        stdin: bytes,
        on_output: Callable[[bytes], None] | None = None,
        exit_handle: Callable[[int], int] | None = EXIT_HANDLE,
    ) -> None:
        self.stdout, self.stderr = CapturedOutput(), CapturedOutput()
        self._on_output = on_output
        self._process = process
        self._unsent = memoryview(stdin)
        self._selector = selectors.DefaultSelector()
        self._exit = exit_handle(process.pid) if exit_handle is not None else None
        self._outputs: dict[int, tuple[IO[bytes], CapturedOutput]] = {}

    def __enter__(self) -> Self:
        if self._exit is not None:
            self._selector.register(self._exit, selectors.EVENT_READ)
        for pipe, kept in ((self._process.stdout, self.stdout), (self._process.stderr, self.stderr)):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            with suppress(OSError, AttributeError):
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            self._outputs[pipe.fileno()] = (pipe, kept)
            self._selector.register(pipe, selectors.EVENT_READ)
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)
            self._selector.register(self._process.stdin, selectors.EVENT_WRITE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._selector.close()
        if self._exit is not None:
            os.close(self._exit)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def pump(self, stop: Callable[[], bool], deadline: float, interval: float = 1.0) -> bool:
        """Copy data until the process exits (True), or until `stop` or the deadline (False)."""
        while not stop():
            left = deadline - monotonic()
            if left <= 0:
                return self._serve(0.0)  # it may have exited in time while this process was stopped
            if self._serve(min(left, interval)):
                return True
        return False

    def drain(self, deadline: float) -> None:
        """Read what is left in the pipes of a dead process."""
        while self._outputs and (left := deadline - monotonic()) > 0:
            self._serve(left)

    def _serve(self, seconds: float) -> bool:
        if self._exit is None:
            seconds = min(seconds, EXIT_CHECK_SECONDS)
        # Asked before the pipes are served, so that they hold all output of a process that has exited.
        exited = self._exit is None and self._process.poll() is not None
        for key, _ in self._selector.select(seconds):
            if key.fd == self._exit:
                exited = True
                self._selector.unregister(key.fd)
            elif key.fd in self._outputs:
                self._receive(key.fd)
            else:
                self._send()
        return exited

    def _receive(self, descriptor: int) -> None:
        pipe, kept = self._outputs[descriptor]
        try:
            chunk = os.read(descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return
        if chunk:
            kept.add(chunk)
            if self._on_output is not None and kept is self.stdout:
                self._on_output(chunk)
        else:
            self._selector.unregister(pipe)
            del self._outputs[descriptor]

    def _send(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        try:
            self._unsent = self._unsent[os.write(pipe.fileno(), self._unsent[:_CHUNK_BYTES]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._unsent = self._unsent[:0]
        if not self._unsent:
            self._selector.unregister(pipe)
            pipe.close()


# How long an agent gets to save its work after SIGTERM.
STOP_GRACE_SECONDS = 0.5
# An Event cannot be passed to select, so it is polled this often.
CANCEL_CHECK_SECONDS = 0.05
# The pipes of a dead process tree are empty at once, unless a process escaped and still holds them open.
DRAIN_SECONDS = 1.0
_SIGNAL_EXIT_BASE = 128


class ProcessTree(Protocol):
    """How the processes below a leader are ended."""

    def terminate(self, leader: int) -> None:
        """Ask all of them to stop."""

    def kill(self, leader: int) -> None:
        """Kill all of them; when this returns, none is alive. Called exactly once, before the leader is reaped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxCommand:
    """One command with its complete environment, its input and its limits.

    The time in which `held_seconds` grows counts neither for its limit nor for how long it took.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    stdin: bytes
    timeout_seconds: float
    cancel: Event
    descriptors: tuple[int, ...] = ()
    on_output: Callable[[bytes], None] | None = None
    held_seconds: Callable[[], float] = never_held


def run_process_tree(
    job: SandboxCommand, tree: ProcessTree, started: Callable[[], None] = lambda: None
) -> CompletedCommand:
    """Run a command until it exits, times out or is cancelled. `started` is called once the process exists."""
    began, held_before = monotonic(), job.held_seconds()
    if job.cancel.is_set():
        return CompletedCommand(
            ending=CommandEnding.CANCELLED,
            exit_code=None,
            stdout=b"",
            stderr=b"",
            truncated=False,
            duration_seconds=0.0,
        )
    process = _start_process(job)
    try:
        with ProcessStreams(process, job.stdin, job.on_output) as streams:
            try:
                started()
                ending = _wait_for_end(job, streams, began + job.timeout_seconds - held_before)
                if ending is not CommandEnding.EXITED:
                    tree.terminate(process.pid)
                    streams.pump(lambda: False, monotonic() + STOP_GRACE_SECONDS)
            finally:
                # Before the leader is reaped: until then no other process can get its id.
                tree.kill(process.pid)
            streams.drain(monotonic() + DRAIN_SECONDS)
            code = process.wait()
    finally:
        process.wait()
    return CompletedCommand(
        ending=ending,
        exit_code=(code if code >= 0 else _SIGNAL_EXIT_BASE - code) if ending is CommandEnding.EXITED else None,
        stdout=streams.stdout.content(),
        stderr=streams.stderr.content(),
        truncated=streams.stdout.truncated or streams.stderr.truncated,
        duration_seconds=max(0.0, monotonic() - began - (job.held_seconds() - held_before)),
    )


def signal_group(group: int, number: int) -> None:
    """Signal a process group that may already be gone."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def wait_until_dead(process: int, seconds: float) -> bool:
    """Wait for a process that need not be our child; False when the time is up."""
    if EXIT_HANDLE is None:
        return _poll_until_dead(process, seconds)
    try:
        handle = EXIT_HANDLE(process)
    except ProcessLookupError:
        return True
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(handle, selectors.EVENT_READ)
            return bool(selector.select(seconds))
    finally:
        os.close(handle)


def _poll_until_dead(process: int, seconds: float) -> bool:
    deadline = monotonic() + seconds
    while monotonic() < deadline:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        sleep(EXIT_CHECK_SECONDS)
    return False


class ProcessGroupTree:
    """Only the process group of the leader; enough where something else ends the processes that left it."""

    def terminate(self, leader: int) -> None:
        """Send SIGTERM to the group."""
        signal_group(leader, signal.SIGTERM)

    def kill(self, leader: int) -> None:
        """Send SIGKILL to the group."""
        signal_group(leader, signal.SIGKILL)


def _start_process(job: SandboxCommand) -> "subprocess.Popen[bytes]":
    try:
        return spawn(
            job.command,
            environment=job.environment,
            folder=job.folder,
            takes_input=bool(job.stdin),
            descriptors=job.descriptors,
        )
    except (OSError, ValueError) as fault:
        raise SandboxError(f"a command could not be started in the sandbox: {fault}.") from fault


def _wait_for_end(job: SandboxCommand, streams: ProcessStreams, deadline: float) -> CommandEnding:
    """Wait for the end; the deadline is later by what the run was held up in all."""
    latest = deadline + job.held_seconds()
    has_exited = streams.pump(job.cancel.is_set, latest, CANCEL_CHECK_SECONDS)
    while not (has_exited or job.cancel.is_set()) and (later := deadline + job.held_seconds()) > latest:
        latest = later
        has_exited = streams.pump(job.cancel.is_set, latest, CANCEL_CHECK_SECONDS)
    if job.cancel.is_set():  # also where it exited meanwhile: nobody can tell what it would have done otherwise
        return CommandEnding.CANCELLED
    return CommandEnding.EXITED if has_exited else CommandEnding.TIMED_OUT
