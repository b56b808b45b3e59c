"""The first process of a container, and what the engine does in its namespaces: it makes /proc read-only, so that no
program inside can write to the memory of another.
"""

import platform
import sys
from pathlib import Path
from subprocess import TimeoutExpired
from threading import Lock
from time import monotonic, sleep

from outweigh.ports.sandboxes import SandboxError
from outweigh.process import run_process
from outweigh.sandbox.container_engine import ContainerEngine
from outweigh.sandbox.sandbox_ports import NAMESPACE_PROGRAM

_PROCESS_TIMEOUT_SECONDS = 10.0
_PAUSE_SECONDS = 0.005
_JOB_TIMEOUT_SECONDS = 30.0


def find_first_process(
    engine: ContainerEngine, container: str, begin_seconds: float = _PROCESS_TIMEOUT_SECONDS
) -> int | None:
    """The first process of a container, which has the container's name among its arguments.

    None where the engine runs it elsewhere: on another or a virtual machine, which has process ids of its own.
    """
    state = engine.run("inspect", "--format", "{{.State.Pid}}", container)
    if state.code != 0:
        raise SandboxError(f"{engine.name} does not report the first process of a container: {state.error}.")
    deadline = monotonic() + begin_seconds
    while not _has_argument(state.out, container):  # just after the start, it is still the engine's own program
        if monotonic() > deadline:
            return None
        sleep(_PAUSE_SECONDS)
    return int(state.out)


def _has_argument(process: str, argument: str) -> bool:
    try:
        return argument.encode() in Path("/proc", process, "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


class FirstProcesses:
    """The first processes of containers. An engine that runs one container elsewhere runs all of them there, so the
    others are not waited for.
    """

    def __init__(self) -> None:
        self._are_visible = platform.system() == "Linux"

    def find(self, engine: ContainerEngine, container: str) -> int | None:
        """The first process of a container; None where it cannot be seen from here."""
        if not self._are_visible:
            return None
        process = find_first_process(engine, container)
        self._are_visible = process is not None
        return process


class ProcProtection:
    """Makes /proc of containers read-only, where that works with the engine at hand; tried with the first container.

    Engines that write to /proc when they start a command (older runc with AppArmor) cannot start one any more; then
    it is left as it was.
    """

    def __init__(self) -> None:
        self._trying = Lock()
        self.fault: str | None = None
        self._is_tried = False

    def apply(self, engine: ContainerEngine, container: str, process: int | None) -> str | None:
        """Protect one container; returns why it could not be done, None where it was."""
        with self._trying:
            if not self._is_tried:
                self.fault = self._try(engine, container, process)
                self._is_tried = True
                return self.fault
        return self.fault or _do_in_namespaces("protect-proc", process)

    def _try(self, engine: ContainerEngine, container: str, process: int | None) -> str | None:
        fault = _do_in_namespaces("protect-proc", process)
        if fault is not None:
            return fault
        started = engine.run("exec", container, "/bin/sh", "-c", ":")
        if started.code == 0:
            return None
        _do_in_namespaces("release-proc", process)
        return f"{engine.name} cannot start commands with a read-only /proc ({started.error})"


def _do_in_namespaces(job: str, process: int | None) -> str | None:
    if process is None:
        return "its processes cannot be seen from here"
    command = [sys.executable, "-I", "-S", str(NAMESPACE_PROGRAM), job, str(process)]
    try:
        done = run_process(command, environment={}, folder=Path("/"), timeout_seconds=_JOB_TIMEOUT_SECONDS)
    except (OSError, TimeoutExpired) as fault:
        return str(fault)
    return None if done.returncode == 0 else done.stderr.decode(errors="replace").strip()
