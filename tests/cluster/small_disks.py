"""A small disk that a test fills, as the disk of a host fills."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.prerequisites import require


@contextmanager
def mounted_small_disk(folder: Path) -> Iterator[Path]:
    """A file system of a few megabytes below a folder."""
    place = folder / "small"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "small", place], capture_output=True, check=False)
    require("privileges", None if done.returncode == 0 else "no small disk can be mounted here; only root may")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(path: Path) -> None:
    """Leave no byte free."""
    with path.open("wb", buffering=0) as stream:
        for size in (65536, 1):
            with suppress(OSError):
                while True:
                    stream.write(b"x" * size)
