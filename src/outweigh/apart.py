"""Processes in sessions of their own: a Ctrl-C at the terminal is for the engine, which lets its trials finish.

A new process is in our group until it has left it. A signal that reaches the group in between kills it before it has
become the program it was to be: nothing has happened yet, and it is started again.

It also holds copies of all our open files until it has become its program, and the system refuses to run a file that
anybody has open for writing. What may be run is therefore written while nothing is being started.
"""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

# Each needs a signal of its own at just the wrong moment.
_TRIES = 100
_births = Lock()


@contextmanager
def births_held_back() -> Iterator[None]:
    """Nothing is started apart meanwhile: for writing a file that a program of ours may run as soon as it is closed."""
    with _births:
        yield


def start_apart(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    takes_input: bool = False,
    descriptors: Sequence[int] = (),
) -> "subprocess.Popen[bytes]":
    """Start a program that no signal for us can reach; its outputs are pipes, and so is its input if it takes any."""
    for _ in range(_TRIES):
        with births_held_back():
            process = subprocess.Popen(
                command,
                env=environment,
                cwd=folder,
                stdin=subprocess.PIPE if takes_input else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                pass_fds=descriptors,
            )
        if _is_apart(process.pid):
            return process
        with process:  # closes its pipes and reaps it
            pass
    raise ChildProcessError(f"{command[0]} was ended {_TRIES} times before it had begun")


def run_apart(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    stdin: bytes = b"",
    timeout_seconds: float | None = None,
) -> "subprocess.CompletedProcess[bytes]":
    """Run a program to its end and keep what it says; when the time is up, it and its children are killed."""
    with start_apart(command, environment=environment, folder=folder, takes_input=bool(stdin)) as process:
        try:
            out, err = process.communicate(stdin or None, timeout=timeout_seconds)
        except BaseException:
            _kill(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _is_apart(process: int) -> bool:
    """Asked of a child that has begun its program or is dead; until it is reaped the answer stays what it was."""
    return os.getsid(process) == process


def _kill(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
