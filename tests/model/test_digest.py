from outweigh.model.codec import evidence_sha256, record_digest
from outweigh.testing.builders import a_run


def test_the_order_of_reading_does_not_change_the_fingerprint() -> None:
    digests = [record_digest(a_run(repeat=repeat)) for repeat in (1, 2, 3)]

    assert evidence_sha256(digests) == evidence_sha256(reversed(digests))


def test_any_change_to_any_record_changes_the_fingerprint() -> None:
    before = [record_digest(a_run(repeat=1)), record_digest(a_run(repeat=2))]
    after = [record_digest(a_run(repeat=1)), record_digest(a_run(repeat=2, duration_seconds=60.000001))]

    assert evidence_sha256(before) != evidence_sha256(after)


def test_the_order_of_keys_under_extra_does_not_matter() -> None:
    assert record_digest(a_run(extra={"a": 1, "b": 2})) == record_digest(a_run(extra={"b": 2, "a": 1}))
