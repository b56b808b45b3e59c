"""Runs a program that answers one question.

It gets a text on standard input and ends in time, or is killed with its children.
"""

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from threading import Event, Thread
from time import monotonic
from typing import IO

from outweigh.model.failure import Failure, FailureKind, make_failure
from outweigh.process import spawn

_TICK_SECONDS = 0.2
_STDERR_TAIL = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOutput:
    """The program's output; `failure` where it was killed or could not start."""

    stdout: bytes
    stderr: bytes
    exit_code: int | None
    failure: Failure | None

    def crash(self) -> Failure:
        """The failure of a program that ended with an error: its exit code and the end of its error output."""
        words = self.stderr.decode(errors="replace").strip()[-_STDERR_TAIL:]
        return make_failure(FailureKind.CRASH, f"exit code {self.exit_code}{f': {words}' if words else ''}")


def run_program(
    command: Sequence[str],
    *,
    stdin: bytes,
    environment: Mapping[str, str],
    folder: Path | None,
    timeout_seconds: float,
    cancel: Event,
) -> ProgramOutput:
    """Run a program to its end; on timeout or cancellation, it and its children are killed."""
    try:
        # Even an empty question opens the pipe, so that the program sees the end of its input.
        process = spawn(command, environment=environment, folder=folder, takes_input=True)
    except OSError as fault:
        return _no_output(make_failure(FailureKind.CRASH, f"{command[0]} cannot be started: {fault.strerror}"))
    with process:
        _send_question(process, stdin)
        try:
            return _until_end(process, monotonic() + timeout_seconds, cancel)
        finally:
            _kill(process)


def _send_question(process: "Popen[bytes]", question: bytes) -> None:
    """Write the question in a thread, while the answer is read: a pipe holds less than a question, so a program that
    writes first or reads late would block. `communicate` would stop writing after its first timeout.
    """
    pipe, process.stdin = process.stdin, None
    if pipe is not None:
        Thread(target=_write, args=(pipe, question), daemon=True).start()


def _write(pipe: IO[bytes], question: bytes) -> None:
    """Write everything, unless the program stops reading."""
    unsent = memoryview(question)
    with suppress(BrokenPipeError), pipe:
        while unsent:
            unsent = unsent[pipe.write(unsent) :]


def _until_end(process: "Popen[bytes]", deadline: float, cancel: Event) -> ProgramOutput:
    while not cancel.is_set() and monotonic() < deadline:
        try:
            out, err = process.communicate(timeout=min(_TICK_SECONDS, max(0.01, deadline - monotonic())))
        except TimeoutExpired:
            continue
        return ProgramOutput(stdout=out, stderr=err, exit_code=process.returncode, failure=None)
    reason = "the question was cancelled" if cancel.is_set() else "no answer in time"
    return _no_output(make_failure(FailureKind.TIMEOUT, reason))


def _no_output(reason: Failure) -> ProgramOutput:
    return ProgramOutput(stdout=b"", stderr=b"", exit_code=None, failure=reason)


def _kill(process: "Popen[bytes]") -> None:
    """Kill the program's process group, unless it has ended: its id may belong to another process by now."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
