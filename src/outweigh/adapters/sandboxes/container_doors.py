"""Doors into a container, whose first process the engine names by a number."""

from contextlib import AbstractContextManager
from pathlib import Path
from time import monotonic, sleep

from outweigh.adapters.sandboxes.container_engine import Engine
from outweigh.adapters.sandboxes.doors import answering, ports_inside
from outweigh.adapters.sandboxes.listening import listen_in
from outweigh.ports.sandboxes import Door, SandboxError

_BEGIN_SECONDS = 10.0
_PAUSE_SECONDS = 0.005


def container_doors(
    engine: Engine, container: str, doors: tuple[Door, ...], begin_seconds: float = _BEGIN_SECONDS
) -> AbstractContextManager[None]:
    """Answer at the doors of a container whose first process has its name among its words."""
    answer = engine.ask("inspect", "--format", "{{.State.Pid}}", container)
    if answer.code != 0:
        raise SandboxError(f"{engine.name} does not tell the first process of a container: {answer.complaint}.")
    _wait_for(container, answer.out, engine, begin_seconds)
    return answering(doors, listen_in(int(answer.out), ports_inside(doors).values()))


def _wait_for(container: str, process: str, engine: Engine, seconds: float) -> None:
    """The engine may be on another machine, or in a virtual one: there the number is that of somebody else here."""
    deadline = monotonic() + seconds
    while not _has_word(process, container):
        if monotonic() > deadline:
            raise SandboxError(
                f"no door could be opened into the container, because {engine.name} runs it elsewhere: its processes "
                "cannot be seen from here. Use an engine on this machine, or the bubblewrap sandbox."
            )
        sleep(_PAUSE_SECONDS)


def _has_word(process: str, word: str) -> bool:
    """Just after the start, the first process is still the engine's own."""
    try:
        return word.encode() in Path("/proc", process, "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
