"""Hashes of many records together: version 2, which merges, and version 1, which earlier releases sealed things with.

Version 2 is a sum. Each record's SHA-256 is expanded to a number of 4,032 bits, and the numbers are added modulo
2^4032. So the order of records does not matter, one that is there twice counts twice, and the hash of two arms, or of
two parts of a dataset, is had from their sums without reading a record again. The modulus is wide because a sum of
short digests can be forged: docs/adr/0055 has the figures.
"""

from collections.abc import Iterable
from hashlib import sha256, shake_128
from typing import NamedTuple, Self

HASH_VERSION = 2
"""The version that verdicts, comparisons, reports and promotions show."""

SUM_BYTES = 504
"""Three blocks of SHAKE128."""

_MODULUS = 1 << (8 * SUM_BYTES)
_DOMAIN = b"outweigh.evidence/2\0"


class EvidenceHash(NamedTuple):
    """The sum of record digests so far, and how many there are."""

    total: int
    records: int

    @classmethod
    def of(cls, digests: Iterable[bytes]) -> Self:
        """The hash of records by their digests."""
        total = records = 0
        # What is expanded starts with the name of this scheme, so that no other use of SHAKE128 gives the same number.
        start, to_number = shake_128(_DOMAIN), int.from_bytes
        for digest in digests:
            expanded = start.copy()
            expanded.update(digest)
            total += to_number(expanded.digest(SUM_BYTES), "little")
            records += 1
        return cls(total % _MODULUS, records)

    @classmethod
    def merged(cls, hashes: Iterable["EvidenceHash"]) -> Self:
        """The hash of everything that several hashes are of."""
        total = records = 0
        for each in hashes:
            total += each.total
            records += each.records
        return cls(total % _MODULUS, records)

    def hexdigest(self) -> str:
        """The hash as people see it: 64 hexadecimal digits."""
        return sha256(_DOMAIN + self.records.to_bytes(8, "little") + self.encode()).hexdigest()

    def encode(self) -> bytes:
        """The sum as bytes, for storing it."""
        return self.total.to_bytes(SUM_BYTES, "little")

    @classmethod
    def decode(cls, stored: bytes, records: int) -> Self:
        """The inverse; ValueError where it is no such sum."""
        if len(stored) != SUM_BYTES or records < 0:
            raise ValueError(f"a sum of record digests has {SUM_BYTES} bytes")
        return cls(int.from_bytes(stored, "little"), records)


NO_RECORDS = EvidenceHash(0, 0)


def evidence_sha256_v1(digests: Iterable[bytes]) -> str:
    """Version 1: the digests sorted and hashed at once. It cannot be merged, and stays for what was sealed with it."""
    return sha256(b"".join(sorted(digests))).hexdigest()
