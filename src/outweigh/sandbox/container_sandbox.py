"""One container as a Sandbox: a command and its environment are passed in as a script, because the engine's command
line is visible to every user; ports are served from outside; the container is replaced after a timeout and removed
in the end.
"""

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from threading import Lock, Thread
from time import monotonic, sleep

from outweigh.errors import UsageError
from outweigh.ports.sandboxes import CommandEnding, CompletedCommand, ForwardedPort, SandboxError, SandboxRequest
from outweigh.sandbox.confined_files import ConfinedFiles
from outweigh.sandbox.container_engine import (
    HOME,
    WORKSPACE,
    ContainerEngine,
    client_environment,
    explain_missing_image,
    last_line,
)
from outweigh.sandbox.process_tree import ProcessGroupTree, SandboxCommand, run_process_tree
from outweigh.sandbox.sandbox_ports import assign_ports, find_port, listen_in_namespace, serve_ports

SCRIPT_FOLDER = "/run/outweigh"


@contextmanager
def command_script(
    notes: Path, mark: str, command: Sequence[str], environment: Mapping[str, str], stdin: bytes
) -> Iterator[str]:
    """The note's path as seen from inside, for as long as the command runs.

    Nothing of it is written on the engine's command line, which every user of the host can read and which may hold
    secrets. The input is a file beside it: podman loses output when a command ends without reading what is piped to it.
    """
    note, given = notes / mark, notes / f"{mark}.in"
    try:
        note.write_bytes(
            _script_text(mark, command, environment, f"{SCRIPT_FOLDER}/{given.name}" if stdin else "/dev/null")
        )
        if stdin:
            given.write_bytes(stdin)
        yield f"{SCRIPT_FOLDER}/{mark}"
    finally:
        note.unlink(missing_ok=True)
        given.unlink(missing_ok=True)


def _script_text(mark: str, command: Sequence[str], environment: Mapping[str, str], source: str) -> bytes:
    """Says that it was reached, drops the variables of the image but its PATH, and becomes the command."""
    words = [*(f"{name}={value}" for name, value in environment.items()), *command]
    if any("\0" in word for word in words):
        raise SandboxError("a command or its environment holds a NUL byte, which no process can be given.")
    # Where nothing else is said, programs are found where the image keeps them; the later of two values counts.
    become = f'exec env -i HOME={HOME} PATH="$PATH" {shlex.join(words)} < {source}'
    return os.fsencode(f"printf %s {mark} >&2\n{become}\n")


_PROCESS_TIMEOUT_SECONDS = 10.0
_PAUSE_SECONDS = 0.005


def serve_container_ports(
    engine: ContainerEngine,
    container: str,
    doors: tuple[ForwardedPort, ...],
    begin_seconds: float = _PROCESS_TIMEOUT_SECONDS,
) -> AbstractContextManager[None]:
    """Answer at the doors of a container whose first process has its name among its words."""
    answer = engine.ask("inspect", "--format", "{{.State.Pid}}", container)
    if answer.code != 0:
        raise SandboxError(f"{engine.name} does not tell the first process of a container: {answer.complaint}.")
    _wait_for_process(container, answer.out, engine, begin_seconds)
    return serve_ports(doors, listen_in_namespace(int(answer.out), assign_ports(doors).values()))


def _wait_for_process(container: str, process: str, engine: ContainerEngine, seconds: float) -> None:
    """The engine may be on another machine, or in a virtual one: there the number is that of somebody else here."""
    deadline = monotonic() + seconds
    while not _has_argument(process, container):
        if monotonic() > deadline:
            raise SandboxError(
                f"no door could be opened into the container, because {engine.name} runs it elsewhere: its processes "
                "cannot be seen from here. Use an engine on this machine, or the bubblewrap sandbox."
            )
        sleep(_PAUSE_SECONDS)


def _has_argument(process: str, word: str) -> bool:
    """Just after the start, the first process is still the engine's own."""
    try:
        return word.encode() in Path("/proc", process, "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


START_TIMEOUT_SECONDS = 120.0
# A full or frozen container may not answer; then it is removed, which needs no answer.
ENTER_TIMEOUT_SECONDS = 10.0


class ContainerSandbox:
    """A container over a workspace. Whatever a command leaves running dies when the command ends."""

    def __init__(
        self, engine: ContainerEngine, request: SandboxRequest, notes: Path, start_arguments: Sequence[str]
    ) -> None:
        self._engine = engine
        self._request = request
        self._notes = notes
        self._start_arguments = start_arguments
        self._files = ConfinedFiles(request.workspace, WORKSPACE)
        self._name: str | None = None
        self._doors = ExitStack()
        self._one_at_a_time = Lock()

    @property
    def workspace(self) -> str:
        """The working folder as seen from inside."""
        return WORKSPACE

    @property
    def host_workspace(self) -> Path:
        """The same folder as seen from outside."""
        return self._request.workspace

    @property
    def home(self) -> str:
        """The private home folder as seen from inside."""
        return HOME

    @property
    def host_home(self) -> Path:
        """The same folder as seen from outside."""
        return self._request.home

    def port(self, door: str) -> int:
        """Where on the loopback of the container a door is."""
        return find_port(door, assign_ports(self._request.doors))

    def read(self, path: str, limit: int) -> bytes | None:
        """A file of the workspace, read from outside."""
        return self._files.read(path, limit)

    def write(self, path: str, content: bytes, *, executable: bool = False) -> None:
        """Put a file into the workspace, from outside."""
        self._files.write(path, content, executable=executable)

    def exec(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        timeout_seconds: float,
        stdin: bytes = b"",
        listen: Callable[[bytes], None] | None = None,
    ) -> CompletedCommand:
        """Run a command with exactly this environment; a timeout or a cancellation takes the container with it."""
        mark = token_hex(16)
        with self._one_at_a_time, command_script(self._notes, mark, command, environment, stdin) as note:
            done = self._enter(note, timeout_seconds, listen)
        return _without_preamble(done, mark.encode(), self._engine.name)

    def start(self) -> None:
        """Start the container. Its name is known beforehand, so that a start that hangs can be undone."""
        self._name = f"outweigh-{token_hex(8)}"
        words = ("run", "--detach", f"--name={self._name}", *self._start_arguments, self._name)
        # Podman's monitor leaves a file where it stands when memory runs out, so it stands in a folder that goes away.
        answer = self._engine.ask(*words, seconds=START_TIMEOUT_SECONDS, folder=self._notes)
        if answer.code == 0:
            self._open_doors(self._name)
            return
        absence = explain_missing_image(self._engine, self._request.image or "")
        if absence is not None:
            raise UsageError(absence)
        raise SandboxError(f"{self._engine.name} cannot start a container: {answer.complaint}.")

    def _open_doors(self, name: str) -> None:
        if not self._request.doors:
            return
        try:
            self._doors.enter_context(serve_container_ports(self._engine, name, self._request.doors))
        except BaseException:  # a room whose doors are shut is not used as if it had none
            self.remove()
            raise

    def remove(self) -> None:
        """End everything in the container and the container itself, and close its doors."""
        try:
            if self._name is not None:
                self._engine.remove(self._name)
                self._name = None
        finally:
            self._doors.close()

    def signal_all(self, number: int) -> bool:
        """Signal every process inside but the first; whether that could be done."""
        name = self._name
        if name is None:
            return False
        inside = (name, "/bin/sh", "-c", f"kill -{number} -1")
        return self._engine.ask("exec", *inside, seconds=ENTER_TIMEOUT_SECONDS, folder=self._notes).code == 0

    def _enter(self, note: str, timeout_seconds: float, listen: Callable[[bytes], None] | None) -> CompletedCommand:
        if self._name is None and not self._request.cancel.is_set():
            self.start()
        job = SandboxCommand(
            command=(*self._engine.command, "exec", self._name or "", "/bin/sh", note),
            environment=client_environment(),
            folder=self._notes,
            stdin=b"",
            timeout_seconds=timeout_seconds,
            cancel=self._request.cancel,
            listen=listen,
        )
        return run_process_tree(job, _ContainerProcessTree(self))


class _ContainerProcessTree(ProcessGroupTree):
    """All processes of a container; the client outside is only their messenger."""

    def __init__(self, room: ContainerSandbox) -> None:
        self._room = room
        self._asking: Thread | None = None

    def ask(self, leader: int) -> None:  # noqa: ARG002 - the messenger stays, to bring what is still said
        """Ask the processes inside."""
        # Entering takes a while, and the time of grace is already running.
        self._asking = Thread(target=self._room.signal_all, args=(15,), daemon=True)
        self._asking.start()

    def end(self, leader: int) -> None:
        """Clear the room; one whose time is up, or that is too full to be entered, goes as a whole."""
        if self._asking is not None or not self._room.signal_all(9):
            self._room.remove()
        if self._asking is not None:
            self._asking.join()
        super().end(leader)


def _without_preamble(done: CompletedCommand, mark: bytes, engine: str) -> CompletedCommand:
    """What the command itself said: the client's warnings come before the mark, and without it nothing was started."""
    client, reached, stderr = done.stderr.partition(mark)
    if not reached and done.ending is CommandEnding.EXITED:
        raise SandboxError(f"{engine} could not start a command in the container: {last_line(client)}.")
    return replace(done, stderr=stderr)
