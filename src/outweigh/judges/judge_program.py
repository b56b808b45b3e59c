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
    """What the program said; `failure` where it did not end by itself, or could not begin."""

    stdout: bytes
    stderr: bytes
    exit_code: int | None
    failure: Failure | None

    def crash(self) -> Failure:
        """Its exit code and last words, as a failure."""
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
    """Run it to its end; when its time is up or nobody waits any more, it and its children are killed."""
    try:
        # An empty input would be no input at all, and the program would wait for one.
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
    """Write the question beside the reading of the answer: a pipe holds less than a question, and who reads late or
    talks first would otherwise wait for us as we wait for it. `communicate` writes no more after its first time-out.
    """
    pipe, process.stdin = process.stdin, None
    if pipe is not None:
        Thread(target=_write, args=(pipe, question), daemon=True).start()


def _write(pipe: IO[bytes], question: bytes) -> None:
    """All of it, or as much as anybody wants to hear."""
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
    reason = "the asking was ended" if cancel.is_set() else "no answer in time"
    return _no_output(make_failure(FailureKind.TIMEOUT, reason))


def _no_output(reason: Failure) -> ProgramOutput:
    return ProgramOutput(stdout=b"", stderr=b"", exit_code=None, failure=reason)


def _kill(process: "Popen[bytes]") -> None:
    """With all of its group; one that has ended is left alone, for its number may be somebody else's by now."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
