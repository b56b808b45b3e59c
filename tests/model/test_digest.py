"""Hashes of records, and of many records together."""

from hashlib import sha256, shake_128

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outweigh.model.codec import record_digest
from outweigh.model.evidence_hash import NO_RECORDS, SUM_BYTES, EvidenceHash, evidence_sha256_v1
from outweigh.testing.builders import a_run

digests = st.lists(st.binary(min_size=32, max_size=32), max_size=12)


def test_any_change_to_any_record_changes_the_fingerprint() -> None:
    before = [record_digest(a_run(repeat=1)), record_digest(a_run(repeat=2))]
    after = [record_digest(a_run(repeat=1)), record_digest(a_run(repeat=2, duration_seconds=60.000001))]

    assert EvidenceHash.of(before).hexdigest() != EvidenceHash.of(after).hexdigest()
    assert evidence_sha256_v1(before) != evidence_sha256_v1(after)


def test_the_order_of_keys_under_extra_does_not_matter() -> None:
    assert record_digest(a_run(extra={"a": 1, "b": 2})) == record_digest(a_run(extra={"b": 2, "a": 1}))


@given(digests, st.randoms())
def test_the_order_of_reading_does_not_change_the_fingerprint(found: list[bytes], random: object) -> None:
    shuffled = sorted(found, key=lambda _: random.random())  # type: ignore[attr-defined]

    assert EvidenceHash.of(shuffled) == EvidenceHash.of(found)
    assert evidence_sha256_v1(shuffled) == evidence_sha256_v1(found)


@given(digests, digests)
def test_the_hash_of_two_parts_is_that_of_all_their_records(one: list[bytes], other: list[bytes]) -> None:
    parts = (EvidenceHash.of(one), EvidenceHash.of(other))

    assert EvidenceHash.merged(parts) == EvidenceHash.of([*one, *other])
    assert EvidenceHash.merged((*parts, NO_RECORDS)) == EvidenceHash.merged(reversed(parts))


@given(st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=6), st.integers(0, 5))
def test_a_record_that_is_there_twice_counts_twice(found: list[bytes], place: int) -> None:
    again = found[place % len(found)]

    assert EvidenceHash.of([*found, again]).hexdigest() != EvidenceHash.of(found).hexdigest()
    assert EvidenceHash.of([*found, again, again]).hexdigest() != EvidenceHash.of([*found, again]).hexdigest()


def test_the_sum_is_that_of_an_independent_computation_over_small_limbs() -> None:
    found = [sha256(bytes([number])).digest() for number in range(200)]
    limbs = [0] * SUM_BYTES
    for digest in found:
        carry = 0
        for place, byte in enumerate(shake_128(b"outweigh.evidence/2\0" + digest).digest(SUM_BYTES)):
            carry, limbs[place] = divmod(limbs[place] + byte + carry, 256)
    stated = sha256(b"outweigh.evidence/2\0" + (200).to_bytes(8, "little") + bytes(limbs)).hexdigest()

    assert EvidenceHash.of(found).encode() == bytes(limbs)
    assert EvidenceHash.of(found).hexdigest() == stated


def test_two_sums_that_wrap_around_are_told_apart_by_their_number_of_records() -> None:
    assert EvidenceHash(0, 1).hexdigest() != EvidenceHash(0, 2).hexdigest()


@given(digests)
def test_a_stored_sum_is_read_back(found: list[bytes]) -> None:
    made = EvidenceHash.of(found)

    assert EvidenceHash.decode(made.encode(), made.records) == made


@pytest.mark.parametrize(("stored", "records"), [(b"", 1), (b"\0" * (SUM_BYTES - 1), 1), (b"\0" * SUM_BYTES, -1)])
def test_what_is_no_sum_is_refused(stored: bytes, records: int) -> None:
    with pytest.raises(ValueError, match="504 bytes"):
        EvidenceHash.decode(stored, records)


def test_version_one_is_what_earlier_releases_sealed_with() -> None:
    found = [sha256(bytes([number])).digest() for number in range(3)]

    assert evidence_sha256_v1(found) == "4e41ea76bf703e8646587b6e5e2a71aa467db340892f2dc900ee1fb32dda5ae8"


def test_version_two_stays_what_it_is() -> None:
    found = [sha256(bytes([number])).digest() for number in range(3)]

    assert EvidenceHash.of(found).hexdigest() == "5c0283ee78d8009547c88dd4c4df592432f71c372cd59cbb3a456c159d0f6bc0"
