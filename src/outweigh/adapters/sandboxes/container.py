"""Sandboxes made of containers: one per trial, without network or rights, over the caller's own folders."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from outweigh.adapters.sandboxes.container_engine import Engine, NoEngineError, find_engine
from outweigh.adapters.sandboxes.container_image import Images
from outweigh.adapters.sandboxes.container_room import ContainerRoom
from outweigh.adapters.sandboxes.container_start import LABEL, NOTES_LABEL, start_arguments
from outweigh.ports.sandboxes import Sandbox, SandboxError, SandboxRequest

_NOTES_PREFIX = "outweigh-notes-"


class ContainerSandboxes:
    """Opens containers with podman or docker, whichever works; which one is found out once."""

    def __init__(self) -> None:
        self._images = Images()
        self._finding = Lock()
        self._found: Engine | NoEngineError | None = None

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
            room = ContainerRoom(engine, request, notes, start_arguments(engine, request, notes, image))
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
        return [_removed(found, *left) for left in _left_behind(found) if left[1].startswith(label_prefix)]

    def _engine(self) -> Engine:
        found = self._find()
        if isinstance(found, NoEngineError):
            raise SandboxError(str(found))
        return found

    def _find(self) -> Engine | NoEngineError:
        with self._finding:
            if self._found is None:
                try:
                    self._found = find_engine()
                except NoEngineError as reason:
                    self._found = reason
            return self._found


def _left_behind(engine: Engine) -> list[tuple[str, str, str]]:
    """Name, label and folder of notes of every container of ours."""
    listed = engine.ask("ps", "--all", "--quiet", f"--filter=label={LABEL}")
    if listed.code != 0:
        raise SandboxError(f"{engine.name} cannot list its containers: {listed.complaint}")
    fields = f'{{{{.Id}}}}\t{{{{index .Config.Labels "{LABEL}"}}}}\t{{{{index .Config.Labels "{NOTES_LABEL}"}}}}'
    found = []
    for container in listed.out.split():
        # Asked one by one: a container that ends in between takes only itself from the list.
        answer = engine.ask("inspect", "--format", fields, container)
        if answer.code == 0:
            identity, label, notes = answer.out.split("\t")
            found.append((identity, label, notes))
    return found


def _removed(engine: Engine, identity: str, label: str, notes: str) -> str:
    engine.remove(identity)
    if Path(notes).name.startswith(_NOTES_PREFIX):
        shutil.rmtree(notes, ignore_errors=True)
    return f"container {identity[:12]} of {label}"
