"""The arguments that make a container the closed room a request asks for."""

import os
from collections.abc import Iterator
from pathlib import Path

from outweigh.adapters.sandboxes.container_engine import HARDENING, HOME, WORKSPACE, Engine, bind
from outweigh.adapters.sandboxes.container_note import NOTES
from outweigh.errors import UsageError
from outweigh.ports.sandboxes import SandboxRequest

LABEL = "outweigh.trial"
NOTES_LABEL = "outweigh.notes"

# The first process only waits. As the first it cannot be ended from inside, and a shell buries orphans while it waits.
# The word that comes after its script is the name it goes by.
_KEEPER = ("/bin/sh", "-c", "while :; do sleep 3600 & wait $!; done")


def start_arguments(engine: Engine, request: SandboxRequest, notes: Path, image: tuple[str, ...]) -> tuple[str, ...]:
    """Everything between `run --detach --name=NAME` and a last word, NAME.

    `notes` is a folder of ours that the room can only read.
    """
    _refuse_impossible(request)
    (notes / "hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    return (
        f"--label={LABEL}={request.label}",
        f"--label={NOTES_LABEL}={notes}",
        *HARDENING,
        *engine.run_options,
        *_limits(request),
        *_shown(request, notes),
        f"--workdir={WORKSPACE}",
        "--entrypoint=",  # an image may bring a program of its own, which would get the command as its arguments
        *image,
        *_KEEPER,
    )


def _refuse_impossible(request: SandboxRequest) -> None:
    for path in (request.workspace, request.home, *map(Path, request.read_only)):
        if "," in str(path) or not path.is_absolute() or not path.exists():
            raise UsageError(
                f"{path} cannot be shown in a container: it must exist and be a full path without a comma in it."
            )


def _limits(request: SandboxRequest) -> Iterator[str]:
    if request.memory_mb is not None:
        yield f"--memory={request.memory_mb}m"
        yield f"--memory-swap={request.memory_mb}m"  # the sum of both, so this grants no swap
    if request.processes is not None:
        yield f"--pids-limit={request.processes}"


def _shown(request: SandboxRequest, notes: Path) -> Iterator[str]:
    yield bind(request.workspace, WORKSPACE)
    yield bind(request.home, HOME)
    yield bind(notes, NOTES, read_only=True)
    # Podman would copy the names in the host's own file.
    yield bind(notes / "hosts", "/etc/hosts", read_only=True)
    for path in request.read_only:
        yield bind(os.path.normpath(path), os.path.normpath(path), read_only=True)
