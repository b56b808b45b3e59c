"""The fingerprint of a body of evidence: the same records give the same hash, in whatever order they are read."""

from collections.abc import Iterable
from hashlib import sha256

from outweigh.record.codec import Record, encode


def record_digest(record: Record) -> bytes:
    """Hash one record's canonical form."""
    return sha256(encode(record)).digest()


def evidence_sha256(digests: Iterable[bytes]) -> str:
    """Combine record digests; sorting makes the order of reading irrelevant."""
    return sha256(b"".join(sorted(digests))).hexdigest()
