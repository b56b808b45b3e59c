"""The container sandbox provider: one container per trial, without network or privileges, over the caller's own
folders.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from outweigh.errors import UsageError
from outweigh.ports.sandboxes import Sandbox, SandboxError, SandboxRequest
from outweigh.sandbox.container_engine import (
    HARDENING_OPTIONS,
    HOME,
    WORKSPACE,
    ContainerEngine,
    ContainerImages,
    NoEngineError,
    bind_mount_option,
    find_engine,
)
from outweigh.sandbox.container_sandbox import SCRIPT_FOLDER, ContainerSandbox

TRIAL_LABEL = "outweigh.trial"
NOTES_LABEL = "outweigh.notes"

# The first process only waits. As the first it cannot be ended from inside, and a shell buries orphans while it waits.
# The word that comes after its script is the name it goes by.
_IDLE_COMMAND = ("/bin/sh", "-c", "while :; do sleep 3600 & wait $!; done")


def container_arguments(
    engine: ContainerEngine, request: SandboxRequest, notes: Path, image: tuple[str, ...]
) -> tuple[str, ...]:
    """Everything between `run --detach --name=NAME` and a last word, NAME.

    `notes` is a folder of ours that the room can only read.
    """
    _check_paths(request)
    (notes / "hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    return (
        f"--label={TRIAL_LABEL}={request.label}",
        f"--label={NOTES_LABEL}={notes}",
        *HARDENING_OPTIONS,
        *engine.run_options,
        *_limit_options(request),
        *_mount_options(request, notes),
        f"--workdir={WORKSPACE}",
        "--entrypoint=",  # an image may bring a program of its own, which would get the command as its arguments
        *image,
        *_IDLE_COMMAND,
    )


def _check_paths(request: SandboxRequest) -> None:
    for path in (request.workspace, request.home, *map(Path, request.read_only)):
        if "," in str(path) or not path.is_absolute() or not path.exists():
            raise UsageError(
                f"{path} cannot be shown in a container: it must exist and be a full path without a comma in it."
            )


def _limit_options(request: SandboxRequest) -> Iterator[str]:
    if request.memory_mb is not None:
        yield f"--memory={request.memory_mb}m"
        yield f"--memory-swap={request.memory_mb}m"  # the sum of both, so this grants no swap
    if request.processes is not None:
        yield f"--pids-limit={request.processes}"


def _mount_options(request: SandboxRequest, notes: Path) -> Iterator[str]:
    yield bind_mount_option(request.workspace, WORKSPACE)
    yield bind_mount_option(request.home, HOME)
    yield bind_mount_option(notes, SCRIPT_FOLDER, read_only=True)
    # Podman would copy the names in the host's own file.
    yield bind_mount_option(notes / "hosts", "/etc/hosts", read_only=True)
    for path in request.read_only:
        yield bind_mount_option(os.path.normpath(path), os.path.normpath(path), read_only=True)


_NOTES_PREFIX = "outweigh-notes-"


class ContainerSandboxProvider:
    """Opens containers with podman or docker, whichever works; which one is found out once."""

    def __init__(self) -> None:
        self._images = ContainerImages()
        self._finding = Lock()
        self._found: ContainerEngine | NoEngineError | None = None

    @property
    def name(self) -> str:
        """The kind, as a suite names it."""
        return "container"

    def missing(self) -> str | None:
        """What to install; None when a container was really started."""
        found = self._find()
        return str(found) if isinstance(found, NoEngineError) else None

    @contextmanager
    def open(self, request: SandboxRequest) -> Iterator[Sandbox]:
        """Start a container; leaving removes it with everything that runs in it."""
        engine = self._engine()
        image = self._images.arguments(engine, request.image)
        notes = Path(tempfile.mkdtemp(prefix=_NOTES_PREFIX))
        try:
            room = ContainerSandbox(engine, request, notes, container_arguments(engine, request, notes, image))
            try:
                room.start()
                yield room
            finally:
                room.remove()
        finally:
            shutil.rmtree(notes, ignore_errors=True)

    def sweep(self, label_prefix: str) -> list[str]:
        """Remove the containers of a killed engine; where no engine works there can be none."""
        found = self._find()
        if isinstance(found, NoEngineError):
            return []
        return [
            _remove_stale_container(found, *left)
            for left in _find_stale_containers(found)
            if left[1].startswith(label_prefix)
        ]

    def _engine(self) -> ContainerEngine:
        found = self._find()
        if isinstance(found, NoEngineError):
            raise SandboxError(str(found))
        return found

    def _find(self) -> ContainerEngine | NoEngineError:
        with self._finding:
            if self._found is None:
                try:
                    self._found = find_engine()
                except NoEngineError as reason:
                    self._found = reason
            return self._found


def _find_stale_containers(engine: ContainerEngine) -> list[tuple[str, str, str]]:
    """Name, label and folder of notes of every container of ours."""
    listed = engine.ask("ps", "--all", "--quiet", f"--filter=label={TRIAL_LABEL}")
    if listed.code != 0:
        raise SandboxError(f"{engine.name} cannot list its containers: {listed.complaint}")
    fields = f'{{{{.Id}}}}\t{{{{index .Config.Labels "{TRIAL_LABEL}"}}}}\t{{{{index .Config.Labels "{NOTES_LABEL}"}}}}'
    found = []
    for container in listed.out.split():
        # Asked one by one: a container that ends in between takes only itself from the list.
        answer = engine.ask("inspect", "--format", fields, container)
        if answer.code == 0:
            identity, label, notes = answer.out.split("\t")
            found.append((identity, label, notes))
    return found


def _remove_stale_container(engine: ContainerEngine, identity: str, label: str, notes: str) -> str:
    engine.remove(identity)
    if Path(notes).name.startswith(_NOTES_PREFIX):
        shutil.rmtree(notes, ignore_errors=True)
    return f"container {identity[:12]} of {label}"
