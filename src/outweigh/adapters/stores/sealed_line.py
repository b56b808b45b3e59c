"""Lines with a checksum, as the logs of a run store hold them."""

import msgspec

from outweigh.errors import EvidenceError
from outweigh.record.attempt import Attempt, decode_attempt, encode_attempt
from outweigh.record.codec import decode, encode, seal
from outweigh.record.judgment import Judgment
from outweigh.record.run_record import RunRecord

_SEAL_BYTES = len(seal(b""))
_UNREADABLE = (ValueError, TypeError, OverflowError, RecursionError, msgspec.MsgspecError)


def sealed_run(record: RunRecord) -> bytes:
    """A finished run as a line of its log."""
    return _sealed("record", record)


def sealed_judgment(judgment: Judgment) -> bytes:
    """What a judge said as a line of its log."""
    return _sealed("judgment", judgment)


def sealed_attempt(attempt: Attempt) -> bytes:
    """A begun attempt as a line of its log, tried on its reader too."""
    try:
        line = seal(encode_attempt(attempt))
        unsealed_attempt(line)
    except _UNREADABLE as fault:
        raise _refusal(f"the beginning of {attempt.run_id!r}", fault) from fault
    return line


def unsealed_attempt(line: bytes) -> Attempt:
    """The inverse; a damaged line is a ValueError."""
    if not is_whole(line):
        raise ValueError("the line does not match its checksum: it was damaged or changed")
    return decode_attempt(line[:-_SEAL_BYTES])


def is_whole(line: bytes) -> bool:
    """Whether the line is as it was written, whatever it says."""
    return line == seal(line[:-_SEAL_BYTES])


def _sealed(kind: str, record: RunRecord | Judgment) -> bytes:
    """Sealed and tried on its reader: what cannot be read again must not be acknowledged."""
    try:
        line = seal(encode(record))
        decode(line)
    except _UNREADABLE as fault:
        raise _refusal(f"the {kind} of {record.run_id!r}", fault) from fault
    return line


def _refusal(what: str, fault: Exception) -> EvidenceError:
    return EvidenceError(f"{what} could not be read again if it were kept: {fault}.")
