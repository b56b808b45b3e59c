"""Lines with a checksum, as the logs of a run store hold them."""

from collections.abc import Callable

import msgspec

from outweigh.errors import EvidenceError
from outweigh.record.attempt import Attempt, decode_attempt, encode_attempt
from outweigh.record.codec import decode, encode, seal
from outweigh.record.judgment import Judgment
from outweigh.record.run_record import RunRecord

_SEAL_BYTES = len(seal(b""))


def sealed_run(record: RunRecord) -> bytes:
    """A finished run as a line of its log."""
    return _readable(f"the record of {record.run_id!r}", lambda: encode(record), decode)


def sealed_judgment(judgment: Judgment) -> bytes:
    """What a judge said as a line of its log."""
    return _readable(f"the judgment of {judgment.run_id!r}", lambda: encode(judgment), decode)


def sealed_attempt(attempt: Attempt) -> bytes:
    """A begun attempt as a line of its log."""
    return _readable(f"the beginning of {attempt.run_id!r}", lambda: encode_attempt(attempt), unsealed_attempt)


def unsealed_attempt(line: bytes) -> Attempt:
    """The inverse; a damaged line is a ValueError."""
    if not is_whole(line):
        raise ValueError("the line does not match its checksum: it was damaged or changed")
    return decode_attempt(line[:-_SEAL_BYTES])


def is_whole(line: bytes) -> bool:
    """Whether the line is as it was written, whatever it says."""
    return line == seal(line[:-_SEAL_BYTES])


def _readable(what: str, encoded: Callable[[], bytes], read: Callable[[bytes], object]) -> bytes:
    """Seal it and try it on its reader: what cannot be read again must not be acknowledged."""
    try:
        line = seal(encoded())
        read(line)
    except (ValueError, TypeError, OverflowError, RecursionError, msgspec.MsgspecError) as fault:
        raise EvidenceError(f"{what} could not be read again if it were kept: {fault}.") from fault
    return line
