"""`python launch.py COMMAND…`: run the command and print its times and peak memory as JSON; exit as it does.

This file imports only the standard library, so that the launcher stays smaller than anything it measures.
"""

import json
import os
import subprocess
import sys
from time import perf_counter
from typing import NamedTuple


class Cost(NamedTuple):
    """What one process took; `processor_seconds` do not count the turns of other programs."""

    seconds: float
    processor_seconds: float
    peak_bytes: float


def launch(command: list[str]) -> tuple[Cost, int]:
    """Run a process to its end; returns its cost and exit code."""
    start = perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    # The kernel's unit: bytes on macOS, KiB elsewhere.
    unit = 1 if sys.platform == "darwin" else 1024
    processor = usage.ru_utime + usage.ru_stime
    return Cost(perf_counter() - start, processor, usage.ru_maxrss * unit), process.returncode


if __name__ == "__main__":
    cost, code = launch(sys.argv[1:])
    print(json.dumps(cost))
    sys.exit(code)
