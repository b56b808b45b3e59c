"""One container as a Sandbox: entered by one command at a time, replaced after a timeout, removed in the end."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from threading import Lock, Thread

from outweigh.adapters.sandboxes.container_doors import container_doors
from outweigh.adapters.sandboxes.container_engine import HOME, WORKSPACE, Engine, client_environment, last_line
from outweigh.adapters.sandboxes.container_image import explain_absence
from outweigh.adapters.sandboxes.container_note import left_note
from outweigh.adapters.sandboxes.doors import port_of, ports_inside
from outweigh.adapters.sandboxes.paths import Confined
from outweigh.adapters.sandboxes.process import GroupTree, Job, run
from outweigh.errors import UsageError
from outweigh.ports.sandboxes import Completed, Ending, SandboxError, SandboxRequest

START_SECONDS = 120.0
# A full or frozen container may not answer; then it is removed, which needs no answer.
ENTER_SECONDS = 10.0


class ContainerRoom:
    """A container over a workspace. Whatever a command leaves running dies when the command ends."""

    def __init__(self, engine: Engine, request: SandboxRequest, notes: Path, start_arguments: Sequence[str]) -> None:
        self._engine = engine
        self._request = request
        self._notes = notes
        self._start_arguments = start_arguments
        self._files = Confined(request.workspace, WORKSPACE)
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
        return port_of(door, ports_inside(self._request.doors))

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
    ) -> Completed:
        """Run a command with exactly this environment; a timeout or a cancellation takes the container with it."""
        mark = token_hex(16)
        with self._one_at_a_time, left_note(self._notes, mark, command, environment, stdin) as note:
            done = self._enter(note, timeout_seconds, listen)
        return _without_preamble(done, mark.encode(), self._engine.name)

    def start(self) -> None:
        """Start the container. Its name is known beforehand, so that a start that hangs can be undone."""
        self._name = f"outweigh-{token_hex(8)}"
        words = ("run", "--detach", f"--name={self._name}", *self._start_arguments, self._name)
        # Podman's monitor leaves a file where it stands when memory runs out, so it stands in a folder that goes away.
        answer = self._engine.ask(*words, seconds=START_SECONDS, folder=self._notes)
        if answer.code == 0:
            self._open_doors(self._name)
            return
        absence = explain_absence(self._engine, self._request.image or "")
        if absence is not None:
            raise UsageError(absence)
        raise SandboxError(f"{self._engine.name} cannot start a container: {answer.complaint}.")

    def _open_doors(self, name: str) -> None:
        if not self._request.doors:
            return
        try:
            self._doors.enter_context(container_doors(self._engine, name, self._request.doors))
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
        return self._engine.ask("exec", *inside, seconds=ENTER_SECONDS, folder=self._notes).code == 0

    def _enter(self, note: str, timeout_seconds: float, listen: Callable[[bytes], None] | None) -> Completed:
        if self._name is None and not self._request.cancel.is_set():
            self.start()
        job = Job(
            command=(*self._engine.command, "exec", self._name or "", "/bin/sh", note),
            environment=client_environment(),
            folder=self._notes,
            stdin=b"",
            timeout_seconds=timeout_seconds,
            cancel=self._request.cancel,
            listen=listen,
        )
        return run(job, _ContainerTree(self))


class _ContainerTree(GroupTree):
    """All processes of a container; the client outside is only their messenger."""

    def __init__(self, room: ContainerRoom) -> None:
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


def _without_preamble(done: Completed, mark: bytes, engine: str) -> Completed:
    """What the command itself said: the client's warnings come before the mark, and without it nothing was started."""
    client, reached, stderr = done.stderr.partition(mark)
    if not reached and done.ending is Ending.EXITED:
        raise SandboxError(f"{engine} could not start a command in the container: {last_line(client)}.")
    return replace(done, stderr=stderr)
