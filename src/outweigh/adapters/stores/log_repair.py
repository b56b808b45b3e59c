"""A log after a crash: what is intact is read, what is torn at its end is cut off, and every fault is reported."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from outweigh.adapters.stores.sealed_line import is_whole
from outweigh.record.codec import InvalidLine, OnInvalid


def mend(path: Path, take: Callable[[bytes], object], report: OnInvalid) -> None:
    """Give every intact line to `take`; report the others, and cut off those that nothing intact follows.

    `take` raises where it cannot read a line. A line that is whole and only unreadable to us, such as one of a newer
    release, is reported and stays.
    """
    damaged: list[InvalidLine] = []
    intact_bytes = offset = 0
    with path.open("r+b") as stream:
        for number, line in enumerate(stream, start=1):
            offset += len(line)
            fault = _fault(line, take)
            if fault and not is_whole(line):
                damaged.append(InvalidLine(str(path), number, fault))
                continue
            _report_all(damaged, report)
            intact_bytes = offset
            if fault:
                report(InvalidLine(str(path), number, fault))
        _cut(stream.fileno(), intact_bytes, offset)
    for invalid in damaged:
        report(invalid._replace(reason=f"{invalid.reason}; cut off, as nothing intact follows"))


def _fault(line: bytes, take: Callable[[bytes], object]) -> str | None:
    if not line.endswith(b"\n"):
        return "the file ends in the middle of a line"
    if line.isspace():
        return None
    try:
        take(line)
    except (ValueError, msgspec.MsgspecError, RecursionError) as fault:
        return str(fault)
    return None


def _report_all(damaged: list[InvalidLine], report: OnInvalid) -> None:
    for invalid in damaged:
        report(invalid)
    damaged.clear()


def _cut(file: int, intact_bytes: int, size: int) -> None:
    if intact_bytes < size:
        os.ftruncate(file, intact_bytes)
    # The writer that was killed may have left lines that are whole and not yet on the disk.
    os.fsync(file)
