"""How a command and its environment get into a container: as a note that a shell inside reads and becomes."""

import os
import shlex
from collections.abc import Mapping, Sequence

from outweigh.adapters.sandboxes.container_engine import HOME
from outweigh.ports import SandboxError


def note_of(mark: str, command: Sequence[str], environment: Mapping[str, str]) -> bytes:
    """A script that says it was reached, drops the variables of the image but its PATH, and becomes the command.

    It is not written on the engine's command line, which every user of the host can read and which may hold secrets.
    """
    given = [f"{name}={value}" for name, value in environment.items()]
    if any("\0" in word for word in (*given, *command)):
        raise SandboxError("a command or its environment holds a NUL byte, which no process can be given.")
    # Where nothing else is said, programs are found where the image keeps them; the later of two values counts.
    become = f'exec env -i HOME={HOME} PATH="$PATH" {shlex.join((*given, *command))}'
    return os.fsencode(f"printf %s {mark} >&2\n{become}\n")
