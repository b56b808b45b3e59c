"""File times that can be told apart: a file system counts in steps, and two changes within one step look like one."""

from pathlib import Path
from time import monotonic, sleep

from outweigh.adapters.workspaces.listing import files_below
from outweigh.ports.sandboxes import SandboxError

# Usual file systems count in the kernel's ticks of up to ten milliseconds, the coarsest in steps of two seconds.
_LONGEST_SECONDS = 10.0
_PAUSE_SECONDS = 0.001


def settle(tree: Path) -> None:
    """Wait until every change to the tree from now on gives a file a time that no file of it has."""
    newest = max((status.st_ctime_ns for _, status in files_below(tree)), default=0)
    probe = tree.with_name(f"{tree.name}.clock")
    deadline = monotonic() + _LONGEST_SECONDS
    try:
        while _touched(probe) <= newest:
            if monotonic() > deadline:  # somebody set the clock back; made once more, the tree has times of the new one
                raise SandboxError(f"the clock of the file system of {tree} is behind the files that were made there.")
            sleep(_PAUSE_SECONDS)
    finally:
        probe.unlink(missing_ok=True)


def _touched(probe: Path) -> int:
    probe.touch()
    return probe.stat().st_ctime_ns
