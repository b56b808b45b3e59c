"""Finds and kills processes by a mark in their environment: those that left their process group, and those that a
killed engine left behind. A process that clears its environment and leaves its group and its parents is not found;
only a control group or a pid namespace catches it.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

SANDBOX_MARK = "OUTWEIGH_SANDBOX"
_END_SECONDS = 2.0
_PAUSE_SECONDS = 0.005


def kill_marked(matches: Callable[[str], bool]) -> list[int]:
    """Kill every process whose mark matches, with its descendants, until none is left; returns their ids."""
    killed: set[int] = set()
    deadline = monotonic() + _END_SECONDS
    while (found := set(_find_marked(matches))) and monotonic() < deadline:
        killed |= found
        for process in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        sleep(_PAUSE_SECONDS)
    return sorted(killed)


def _find_marked(matches: Callable[[str], bool]) -> set[int]:
    parents = dict(_parents())
    spared = _with_ancestors(os.getpid(), parents)
    found = {process for process in parents if process not in spared and _is_marked(process, matches)}
    while below := {child for child, parent in parents.items() if parent in found} - found - spared:
        found |= below
    return found


def _with_ancestors(process: int, parents: dict[int, int]) -> set[int]:
    """A process and its ancestors, which must not be killed by their own descendant."""
    line = {process}
    while (process := parents.get(process, 0)) and process not in line:
        line.add(process)
    return line


def _parents() -> Iterator[tuple[int, int]]:
    for folder in Path("/proc").glob("[0-9]*"):  # nothing where the system has no such folder (macOS)
        if folder.name.isdigit():
            with suppress(OSError):
                # The name in brackets may contain anything; the other fields follow the last bracket.
                state, parent = (folder / "stat").read_bytes().rpartition(b")")[2].split()[:2]
                if state not in (b"Z", b"X"):
                    yield int(folder.name), int(parent)


def _is_marked(process: int, matches: Callable[[str], bool]) -> bool:
    try:
        environment = Path(f"/proc/{process}/environ").read_bytes()
    except OSError:
        return False
    name = f"{SANDBOX_MARK}=".encode()
    return any(
        matches(os.fsdecode(entry.removeprefix(name))) for entry in environment.split(b"\0") if entry.startswith(name)
    )
