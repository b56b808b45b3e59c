"""The limits of memory and processes where a suite names none, sized to the machine: one run that takes everything must
not end the others, or the engine.
"""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from outweigh.model.suite import SandboxSpec

DEFAULT_PROCESSES = 512
"""Eight times what the hungriest agents were seen to start."""
_LEAST_MEMORY_MB = 2048
_MEBIBYTE = 2**20
# What a container allows this process, in either version of control groups.
_OWN_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def with_default_limits(spec: SandboxSpec, jobs: int) -> SandboxSpec:
    """The settings with limits where there are none; `local` isolates nothing and gets none.

    The machine's memory is divided among the runs at once and everything else that it does.
    """
    if spec.kind == "local":
        return spec
    return msgspec.structs.replace(
        spec,
        memory_mb=spec.memory_mb or default_memory_mb(jobs, machine_memory_mb()),
        processes=spec.processes or DEFAULT_PROCESSES,
    )


def default_memory_mb(jobs: int, machine_mb: int) -> int:
    """An equal share of the memory, but no less than what an agent and a build need together."""
    return max(_LEAST_MEMORY_MB, machine_mb // (jobs + 1))


def machine_memory_mb() -> int:
    """The memory of the machine, or of the container that this process runs in."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in _OWN_LIMITS:
        with suppress(OSError, ValueError):  # missing, or "max"
            found.append(int(Path(path).read_text()))
    return min(found) // _MEBIBYTE
