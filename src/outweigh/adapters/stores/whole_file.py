"""Files that are there whole or not at all."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import BinaryIO

from outweigh.errors import UsageError


def write_whole(target: Path, chunks: Iterable[bytes]) -> None:
    """Write beside the target and rename, so that a failure leaves what was there before."""
    with open_whole(target) as stream:
        stream.writelines(chunks)


@contextmanager
def open_whole(target: Path) -> Iterator[BinaryIO]:
    """The same for who writes as it goes: the target appears when the context ends without a fault."""
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        # Left by one that was killed and had the same number, as in a container every first process has.
        unfinished.unlink(missing_ok=True)
        with unfinished.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(target)
    except OSError as fault:
        raise UsageError(f"{target} cannot be written: {_why(target, fault)}.") from fault
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _why(target: Path, fault: OSError) -> str | None:
    if isinstance(fault, FileNotFoundError) and not target.parent.exists():
        return f"its folder is not there; make it by `mkdir -p {quote(str(target.parent))}`"
    return fault.strerror
