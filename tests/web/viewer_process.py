"""`outweigh view` as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE_SECONDS = 60


@contextmanager
def viewing(*arguments: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """The address that it prints, and the process, which is stopped afterwards."""
    command = [sys.executable, "-m", "outweigh", "view", *arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={"PATH": os.environ["PATH"]}
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_SECONDS)
