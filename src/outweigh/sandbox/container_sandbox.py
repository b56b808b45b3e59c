"""One container as a Sandbox. Commands and their environments are passed in as scripts, because the engine's command
line is visible to every user; ports are served from outside; a container is replaced after a timeout.
"""

import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from threading import Lock, Thread

from outweigh.errors import UsageError
from outweigh.ports.sandboxes import CommandEnding, CompletedCommand, SandboxError, SandboxRequest
from outweigh.sandbox.base_sandbox import HOME, WORKSPACE, BaseSandbox
from outweigh.sandbox.container_engine import (
    ContainerEngine,
    client_environment,
    last_line,
)
from outweigh.sandbox.container_images import explain_missing_image
from outweigh.sandbox.container_process import FirstProcesses, ProcProtection
from outweigh.sandbox.process_tree import ProcessGroupTree, SandboxCommand, run_process_tree
from outweigh.sandbox.sandbox_ports import assign_ports, listen_in_namespace, serve_ports

SCRIPT_FOLDER = "/run/outweigh"
CONFINE_FILE = "confine"
_HOST_SYSTEM = "/outweigh"
"""Where paths below /usr of the host are shown in a task's image, so that they do not cover its own."""


def workspace_inside(request: SandboxRequest) -> str:
    """The path of the workspace inside: the working directory of a task's own image."""
    return WORKSPACE if request.task_image is None else request.task_image.working_directory


def place_inside(path: str) -> str:
    """Where a path of the host's system is shown in a task's image."""
    return f"{_HOST_SYSTEM}{path}"


@contextmanager
def command_script(scripts: Path, mark: str, wanted: SandboxCommand) -> Iterator[str]:
    """The path of the command's script inside the container, for as long as the command runs.

    Nothing of the command goes on the engine's command line, which every user of the host can read and which may
    contain secrets. The input is a file, too: podman loses output when a command exits without reading piped input.
    """
    script, given = scripts / mark, scripts / f"{mark}.in"
    try:
        script.write_bytes(_script_text(mark, wanted, f"{SCRIPT_FOLDER}/{given.name}" if wanted.stdin else "/dev/null"))
        if wanted.stdin:
            given.write_bytes(wanted.stdin)
        yield f"{SCRIPT_FOLDER}/{mark}"
    finally:
        script.unlink(missing_ok=True)
        given.unlink(missing_ok=True)


def _script_text(mark: str, wanted: SandboxCommand, source: str) -> bytes:
    """Prints the mark, drops the image's variables except PATH, and executes the command."""
    words = [*(f"{name}={value}" for name, value in wanted.environment.items()), *wanted.command]
    if any("\0" in word for word in words):
        raise SandboxError("a command or its environment holds a NUL byte, which no process can be given.")
    # The image's PATH applies unless the environment sets another; the later of two values wins.
    execute = f'exec env -i HOME={HOME} PATH="$PATH" {shlex.join(words)} < {source}'
    return os.fsencode(f"printf %s {mark} >&2\n{execute}\n")


START_TIMEOUT_SECONDS = 120.0
# A container that is full or frozen may not respond; then it is removed.
ENTER_TIMEOUT_SECONDS = 10.0


def relay_name(container: str) -> str:
    """The name of the second container, which carries the ports of one that cannot be entered."""
    return f"{container}-ports"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerParts:
    """What a container is started with. `relay` makes the arguments of the second container that carries the ports of
    the one with this name, where its network cannot be entered.
    """

    scripts: Path
    start: tuple[str, ...]
    relay: Callable[[str], tuple[str, ...]]


class ContainerSandbox(BaseSandbox):
    """A container over a workspace. Processes that a command leaves running die when the command ends."""

    def __init__(
        self,
        engine: ContainerEngine,
        request: SandboxRequest,
        parts: ContainerParts,
        processes: FirstProcesses,
        protection: ProcProtection,
    ) -> None:
        super().__init__(request, workspace=workspace_inside(request), home=HOME, ports=assign_ports(request.ports))
        self._engine = engine
        self._scripts = parts.scripts
        self._parts = parts
        self._processes = processes
        self._protection = protection
        self._name: str | None = None
        self._served_ports = ExitStack()
        self._lock = Lock()

    @property
    def confine(self) -> str | None:
        """The path of the program that confines others, which lies beside the scripts."""
        return f"{SCRIPT_FOLDER}/{CONFINE_FILE}" if (self._scripts / CONFINE_FILE).exists() else None

    def path_inside(self, path: str) -> str:
        """The path inside of a path of the host that the request names."""
        found = any(
            path == own or path.startswith(f"{own}/") for own in map(os.path.normpath, self._request.system_paths)
        )
        return place_inside(path) if found else path

    def _run(self, wanted: SandboxCommand) -> CompletedCommand:
        """Run a command through a script; a timeout or a cancellation removes the container.

        A container in which the command could not even start, because earlier ones have filled its memory, is replaced.
        """
        mark = token_hex(16)
        if self._request.task_image is not None:
            wanted = replace(wanted, environment={**self._request.task_image.variables, **wanted.environment})
        with self._lock, command_script(self._scripts, mark, wanted) as script:
            done = self._run_script(script, wanted)
            if done.ending is CommandEnding.EXITED and mark.encode() not in done.stderr:
                self.remove()
                done = self._run_script(script, wanted)
            if self._request.writable_system and self._request.renewed:
                self.remove()
        return _without_preamble(done, mark.encode(), self._engine.name)

    def start(self) -> None:
        """Start the container. Its name is chosen first, so that a start that times out can be undone."""
        self._name = f"outweigh-{token_hex(8)}"
        arguments = ("run", "--detach", f"--name={self._name}", *self._parts.start, self._name)
        # When memory runs out, podman's monitor leaves a file in its working folder, so it gets one that is removed.
        started = self._engine.run(*arguments, seconds=START_TIMEOUT_SECONDS, folder=self._scripts)
        if started.code == 0:
            self._protect_and_serve_ports(self._name)
            return
        missing_image = explain_missing_image(self._engine, self._image_name())
        if missing_image is not None:
            raise UsageError(missing_image)
        raise SandboxError(f"{self._engine.name} cannot start a container: {started.error}.")

    def _image_name(self) -> str:
        own = self._request.task_image
        return (self._request.image or "") if own is None else own.name

    def _protect_and_serve_ports(self, name: str) -> None:
        try:
            process = self._processes.find(self._engine, name)
            self._protection.apply(self._engine, name, process)
            if self._request.ports:
                self._serve_ports(name, process)
        except BaseException:  # never go on without the ports that were requested
            self.remove()
            raise

    def _serve_ports(self, name: str, process: int | None) -> None:
        ports = self._request.ports
        if process is not None:
            sockets = listen_in_namespace(process, assign_ports(ports).values())
            self._served_ports.enter_context(serve_ports(ports, sockets))
            return
        from outweigh.sandbox.port_relay import relay_ports  # noqa: PLC0415 - not needed where containers are local

        command = (*self._engine.command, "run", *self._parts.relay(name))
        self._served_ports.callback(self._engine.remove, relay_name(name))
        self._served_ports.enter_context(relay_ports(command, client_environment(), ports))

    def remove(self) -> None:
        """Remove the container with everything in it, and stop serving its ports."""
        # A relay is removed first: podman keeps a container while another one is in its network.
        self._served_ports.close()
        if self._name is not None:
            self._engine.remove(self._name)
            self._name = None

    def signal_all(self, number: int) -> bool:
        """Signal every process inside but the first; returns whether that worked."""
        name = self._name
        if name is None:
            return False
        inside = (name, "/bin/sh", "-c", f"kill -{number} -1")
        return self._engine.run("exec", *inside, seconds=ENTER_TIMEOUT_SECONDS, folder=self._scripts).code == 0

    def _run_script(self, script: str, wanted: SandboxCommand) -> CompletedCommand:
        if self._name is None and not self._request.cancel.is_set():
            self.start()
        job = replace(
            wanted,
            command=(*self._engine.command, "exec", self._name or "", "/bin/sh", script),
            environment=client_environment(),
            folder=self._scripts,
            stdin=b"",
        )
        return run_process_tree(job, _ContainerProcessTree(self))


class _ContainerProcessTree(ProcessGroupTree):
    """All processes of a container; the engine's client outside only passes on their output."""

    def __init__(self, sandbox: ContainerSandbox) -> None:
        self._sandbox = sandbox
        self._terminating: Thread | None = None

    def terminate(self, leader: int) -> None:  # noqa: ARG002 - the client keeps running, to pass on the last output
        """Send SIGTERM to the processes inside."""
        # Entering the container takes a while, and the grace period is already running.
        self._terminating = Thread(target=self._sandbox.signal_all, args=(15,), daemon=True)
        self._terminating.start()

    def kill(self, leader: int) -> None:
        """Kill the processes inside; after a timeout, or when it cannot be entered, remove the container."""
        if self._terminating is not None or not self._sandbox.signal_all(9):
            self._sandbox.remove()
        if self._terminating is not None:
            self._terminating.join()
        super().kill(leader)


def _without_preamble(done: CompletedCommand, mark: bytes, engine: str) -> CompletedCommand:
    """The output of the command itself: the client's warnings come before the mark, and without it nothing started."""
    client, reached, stderr = done.stderr.partition(mark)
    if not reached and done.ending is CommandEnding.EXITED:
        raise SandboxError(f"{engine} could not start a command in the container: {last_line(client)}.")
    return replace(done, stderr=stderr)
