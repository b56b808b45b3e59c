"""Runs, judgments and begun attempts as sealed lines; what could not be read again is refused."""

import msgspec

from outweigh.errors import EvidenceError
from outweigh.model.codec import Attempt, decode, decode_attempt, encode, encode_attempt
from outweigh.model.judgment import Judgment
from outweigh.model.line_seal import is_sealed, seal, seal_behind, unseal
from outweigh.model.run_record import RunRecord

UNREADABLE = (ValueError, TypeError, OverflowError, RecursionError, msgspec.MsgspecError)


def seal_run(record: RunRecord) -> bytes:
    """A finished run as a line of its log."""
    return _seal_readable("record", record)


def seal_judgment(judgment: Judgment) -> bytes:
    """What a judge said as a line of its log."""
    return _seal_readable("judgment", judgment)


def seal_attempt(attempt: Attempt) -> bytes:
    """A begun attempt as a line of its log, tried on its reader too."""
    try:
        line = seal_behind(encode_attempt(attempt))
        unseal_attempt(line)
    except UNREADABLE as fault:
        raise _refusal(f"the beginning of {attempt.run_id!r}", fault) from fault
    return line


def unseal_attempt(line: bytes) -> Attempt:
    """The inverse; a damaged line is a ValueError."""
    if not is_sealed(line):
        raise ValueError("the line does not match its checksum: it was damaged or changed")
    return decode_attempt(unseal(line))


def _seal_readable(kind: str, record: RunRecord | Judgment) -> bytes:
    """Sealed and tried on its reader: what cannot be read again must not be acknowledged."""
    try:
        line = seal(encode(record))
        decode(line)
    except UNREADABLE as fault:
        raise _refusal(f"the {kind} of {record.run_id!r}", fault) from fault
    return line


def _refusal(what: str, fault: Exception) -> EvidenceError:
    return EvidenceError(f"{what} could not be read again if it were kept: {fault}.")
