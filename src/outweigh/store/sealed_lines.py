"""Log lines with a checksum, and the repair of a log after a crash.

Intact lines are read, a torn end is cut off, and every damaged line is reported.
"""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from outweigh.errors import EvidenceError
from outweigh.model.codec import Attempt, InvalidLine, OnInvalid, decode, decode_attempt, encode, encode_attempt, seal
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord

_SEAL_BYTES = len(seal(b""))
_UNREADABLE = (ValueError, TypeError, OverflowError, RecursionError, msgspec.MsgspecError)


def seal_run(record: RunRecord) -> bytes:
    """A finished run as a line of its log."""
    return _seal_readable("record", record)


def seal_judgment(judgment: Judgment) -> bytes:
    """What a judge said as a line of its log."""
    return _seal_readable("judgment", judgment)


def seal_attempt(attempt: Attempt) -> bytes:
    """A begun attempt as a line of its log, tried on its reader too."""
    try:
        line = seal(encode_attempt(attempt))
        unseal_attempt(line)
    except _UNREADABLE as fault:
        raise _refusal(f"the beginning of {attempt.run_id!r}", fault) from fault
    return line


def unseal_attempt(line: bytes) -> Attempt:
    """The inverse; a damaged line is a ValueError."""
    if not is_sealed(line):
        raise ValueError("the line does not match its checksum: it was damaged or changed")
    return decode_attempt(line[:-_SEAL_BYTES])


def is_sealed(line: bytes) -> bool:
    """Whether the line is as it was written, whatever it says."""
    return line == seal(line[:-_SEAL_BYTES])


def _seal_readable(kind: str, record: RunRecord | Judgment) -> bytes:
    """Sealed and tried on its reader: what cannot be read again must not be acknowledged."""
    try:
        line = seal(encode(record))
        decode(line)
    except _UNREADABLE as fault:
        raise _refusal(f"the {kind} of {record.run_id!r}", fault) from fault
    return line


def _refusal(what: str, fault: Exception) -> EvidenceError:
    return EvidenceError(f"{what} could not be read again if it were kept: {fault}.")


def repair_log(path: Path, take: Callable[[bytes], object], report: OnInvalid) -> None:
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
            if fault and not is_sealed(line):
                damaged.append(InvalidLine(str(path), number, fault))
                continue
            _report_all(damaged, report)
            intact_bytes = offset
            if fault:
                report(InvalidLine(str(path), number, fault))
        _truncate(stream.fileno(), intact_bytes, offset)
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


def _truncate(file: int, intact_bytes: int, size: int) -> None:
    if intact_bytes < size:
        os.ftruncate(file, intact_bytes)
    # The writer that was killed may have left lines that are whole and not yet on the disk.
    os.fsync(file)
