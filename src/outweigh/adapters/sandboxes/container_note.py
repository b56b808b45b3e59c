"""How a command and its environment get into a container: as a note that a shell inside reads and becomes."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from outweigh.adapters.sandboxes.container_engine import HOME
from outweigh.ports.sandboxes import SandboxError

NOTES = "/run/outweigh"


@contextmanager
def left_note(
    notes: Path, mark: str, command: Sequence[str], environment: Mapping[str, str], stdin: bytes
) -> Iterator[str]:
    """The note's path as seen from inside, for as long as the command runs.

    Nothing of it is written on the engine's command line, which every user of the host can read and which may hold
    secrets. The input is a file beside it: podman loses output when a command ends without reading what is piped to it.
    """
    note, given = notes / mark, notes / f"{mark}.in"
    try:
        note.write_bytes(_script(mark, command, environment, f"{NOTES}/{given.name}" if stdin else "/dev/null"))
        if stdin:
            given.write_bytes(stdin)
        yield f"{NOTES}/{mark}"
    finally:
        note.unlink(missing_ok=True)
        given.unlink(missing_ok=True)


def _script(mark: str, command: Sequence[str], environment: Mapping[str, str], source: str) -> bytes:
    """Says that it was reached, drops the variables of the image but its PATH, and becomes the command."""
    words = [*(f"{name}={value}" for name, value in environment.items()), *command]
    if any("\0" in word for word in words):
        raise SandboxError("a command or its environment holds a NUL byte, which no process can be given.")
    # Where nothing else is said, programs are found where the image keeps them; the later of two values counts.
    become = f'exec env -i HOME={HOME} PATH="$PATH" {shlex.join(words)} < {source}'
    return os.fsencode(f"printf %s {mark} >&2\n{become}\n")
