"""The note that an attempt is about to start: what a killed engine was doing can be told from it."""

import msgspec

from outweigh.record.run_record import Moment
from outweigh.record.stored import Ordinal, RunId, Stored
from outweigh.record.trial import Trial


class Attempt(Stored, frozen=True, tag_field="schema", tag="outweigh.attempt/1"):
    """Written before the attempt is dispatched; without a run record to answer it, the attempt was abandoned."""

    run_id: RunId
    trial: Trial
    attempt: Ordinal
    begun_at: Moment
    pid: Ordinal


_decoder = msgspec.json.Decoder(Attempt)
_encoder = msgspec.json.Encoder(order="deterministic")


def encode_attempt(attempt: Attempt) -> bytes:
    """One canonical line, without checksum and line feed."""
    return _encoder.encode(attempt)


def decode_attempt(line: bytes) -> Attempt:
    """The inverse, for a line whose checksum has been taken off."""
    return _decoder.decode(line)
