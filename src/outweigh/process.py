"""Child processes in sessions of their own, so that a Ctrl-C at the terminal reaches the engine and not its trials.

A new process stays in our process group until it has started its own session. A signal to the group in between
kills it before it has executed its program; nothing has happened yet, and it is started again. The signal may also be
pending while the session starts and kill the process right after, so the session alone does not show that it lives.

Until then it also holds copies of our open files, and Linux refuses to execute a file that any process has open for
writing. `spawn_lock` therefore keeps processes from being started while such a file is written.

A process that raised its own limit of open files starts programs with the limit that it was started with itself: some
programs size tables by it, or close every descriptor up to it.
"""

import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

# Each retry needs another signal at exactly the wrong moment.
_MAX_TRIES = 100
# PF_FORKNOEXEC of the kernel, in the seventh field after the name in /proc/PID/stat.
_FORKED_WITHOUT_EXEC = 0x40
_spawning = Lock()
_FILES_OF_CALLER = 'ulimit -S -n "$0" && exec "$@"'
_callers_files: int | None = None


def raise_open_files(wanted: int) -> int:
    """Let this process have at least so many files open, as far as it may, and return how many it may have.

    Programs that it starts keep the limit that it had before.
    """
    global _callers_files  # noqa: PLW0603 - the limit is one of the whole process
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    may = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft == resource.RLIM_INFINITY or soft >= may:
        return wanted if soft == resource.RLIM_INFINITY else soft
    with spawn_lock():
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (may, hard))
        except (OSError, ValueError):  # a system may allow less than it states
            return soft
        _callers_files = soft if _callers_files is None else _callers_files
    return may


@contextmanager
def spawn_lock() -> Iterator[None]:
    """Start no process while this is held: for writing a file that may be executed as soon as it is closed."""
    with _spawning:
        yield


def spawn(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    takes_input: bool = False,
    descriptors: Sequence[int] = (),
) -> "subprocess.Popen[bytes]":
    """Start a program that signals to our process group do not reach; its outputs are pipes, and its input if taken."""
    for _ in range(_MAX_TRIES):
        with spawn_lock():
            process = subprocess.Popen(
                _with_callers_files(command, environment),
                env=environment,
                cwd=folder,
                stdin=subprocess.PIPE if takes_input else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                pass_fds=descriptors,
            )
        if _leads_session(process.pid) and _has_executed(process.pid):
            return process
        with process:  # closes its pipes and reaps it
            pass
    raise ChildProcessError(f"{command[0]} was ended {_MAX_TRIES} times before it had begun")


def run_process(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    stdin: bytes = b"",
    timeout_seconds: float | None = None,
    descriptors: Sequence[int] = (),
) -> "subprocess.CompletedProcess[bytes]":
    """Run a program to its end and capture its output; on a timeout it is killed with its children."""
    with spawn(
        command, environment=environment, folder=folder, takes_input=bool(stdin), descriptors=descriptors
    ) as process:
        try:
            out, err = process.communicate(stdin or None, timeout=timeout_seconds)
        except BaseException:
            _kill(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _with_callers_files(command: Sequence[str], environment: Mapping[str, str] | None) -> Sequence[str]:
    """The command, started with the limit of open files that this process was started with.

    A shell lowers it: a function that runs between fork and exec is not safe in a process with threads. A program that
    is not found is left to fail as it would without the shell.
    """
    path = os.environ.get("PATH") if environment is None else environment.get("PATH")
    if _callers_files is None or shutil.which(command[0], path=path) is None:
        return command
    return ("/bin/sh", "-c", _FILES_OF_CALLER, str(_callers_files), *command)


def _leads_session(process: int) -> bool:
    """Whether a child leads its own session. It has started its program or is dead, so the answer no longer changes."""
    return os.getsid(process) == process


def _has_executed(process: int) -> bool:
    """Whether a child that leads its session has executed its program, which the kernel also knows of a dead one.

    Where /proc does not tell, the session has to do.
    """
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    flags = int(stat.rpartition(")")[2].split()[6])
    return not flags & _FORKED_WITHOUT_EXEC


def _kill(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def is_process_alive(pid: int) -> bool:
    """Whether there is such a process on this machine."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
