"""How a command and its environment get into a container: as a note that a shell inside reads and becomes."""

import os
import shlex
from collections.abc import Mapping, Sequence

from outweigh.ports import SandboxError


def note_of(mark: str, command: Sequence[str], environment: Mapping[str, str]) -> bytes:
    """A script that says it was reached, drops the variables of the image, and becomes the command.

    It is not written on the engine's command line, which every user of the host can read and which may hold secrets.
    """
    words = ["exec", "env", "-i", *(f"{name}={value}" for name, value in environment.items()), *command]
    if any("\0" in word for word in words):
        raise SandboxError("a command or its environment holds a NUL byte, which no process can be given.")
    return os.fsencode(f"printf %s {mark} >&2\n{shlex.join(words)}\n")
