"""The room that a suite's settings describe."""

from pathlib import Path
from threading import Event

from outweigh.ports.sandboxes import Door, SandboxRequest
from outweigh.task.suite import SandboxSpec


def room_of(
    spec: SandboxSpec, *, workspace: Path, home: Path, label: str, cancel: Event, doors: tuple[Door, ...]
) -> SandboxRequest:
    """A request for a sandbox over folders that are there already."""
    return SandboxRequest(
        workspace=workspace,
        home=home,
        label=label,
        read_only=tuple(spec.read_only),
        doors=doors,
        image=spec.image,
        memory_mb=spec.memory_mb,
        processes=spec.processes,
        cancel=cancel,
    )
