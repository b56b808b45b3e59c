"""A small log of sealed lines that several processes append to, one after the other.

Who reads to decide what to append holds the file's lock from the first line read to the last one written, so that two
processes never decide from the same state. A line is durable when `append` returns; what a crash left half-written is
cut off by the next writer.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from outweigh.errors import UsageError
from outweigh.model.line_seal import is_sealed, seal_behind, unseal
from outweigh.store.append_log import AppendLog
from outweigh.store.durable_files import make_folder
from outweigh.store.log_repair import repair_log


class Journal:
    """An open journal: the contents of its intact lines, and how many lines are damaged."""

    def __init__(self, path: Path) -> None:
        repair_log(path, _require_sealed)
        self.lines, self.damaged = read_journal(path)
        self._log = AppendLog(path)

    def append(self, content: bytes) -> None:
        """Return when the line is durable."""
        self._log.append(seal_behind(content))
        self.lines.append(content)

    def close(self) -> None:
        """Close the file."""
        self._log.close()


def _require_sealed(line: bytes) -> None:
    if not is_sealed(line):
        raise ValueError("damaged")


@contextmanager
def open_journal(path: Path) -> Iterator[Journal]:
    """Open a journal to append to it, made where it is missing; waits while another process has it open."""
    try:
        make_folder(path.parent)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as fault:
        raise UsageError(f"{path} cannot be opened: {fault.strerror}.") from fault
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        journal = Journal(path)
        try:
            yield journal
        except OSError as fault:
            raise UsageError(f"{path} cannot be written: {fault.strerror}.") from fault
        finally:
            journal.close()
    finally:
        os.close(file)


def read_journal(path: Path) -> tuple[list[bytes], int]:
    """The contents of the intact lines of a journal, and the number of damaged ones; nothing where there is no file."""
    try:
        found = path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return [], 0
    except OSError as fault:
        raise UsageError(f"{path} cannot be read: {fault.strerror}.") from fault
    intact = [unseal(line) for line in found if is_sealed(line)]
    # A last line without its end is one that was never acknowledged.
    torn = bool(found) and not found[-1].endswith(b"\n")
    return intact, len(found) - len(intact) - torn
