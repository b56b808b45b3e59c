"""Checksums of lines: inside a record, behind a line of a log, and nothing that passes for either."""

import json
from collections.abc import Callable
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outweigh.model.codec import decode, encode
from outweigh.model.line_seal import SEAL_BYTES, is_sealed, seal, seal_all, seal_behind, unseal
from outweigh.testing.builders import a_run

Change = Callable[[bytes], bytes]

RECORD = encode(a_run(extra={"note": 'quote " tab \t brace } backslash \\ "crc32":"00000000"}'}))


def test_a_sealed_record_is_one_json_object_whose_last_key_is_the_checksum_of_the_rest() -> None:
    line = seal(RECORD)

    found = json.loads(line)

    assert list(found)[-1] == "crc32"
    assert int(found.pop("crc32"), 16) == crc32(RECORD)
    assert found == json.loads(RECORD)
    assert line.count(b"\n") == 1


def test_many_records_are_sealed_as_one_by_one() -> None:
    records = [RECORD, encode(a_run("another")), b'{"a":1}']

    assert seal_all(records) == b"".join(map(seal, records))
    assert [len(seal(record)) - len(record) for record in records] == 3 * [SEAL_BYTES]
    assert seal_all([]) == b""


def test_the_checksum_is_that_of_the_object_without_it() -> None:
    assert seal(b'{"a":1}') == b'{"a":1,"crc32":"561bacaf"}\n'


@pytest.mark.parametrize("form", [seal, seal_behind])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_both_forms_are_read(form: Change, end: bytes) -> None:
    line = form(RECORD)

    assert unseal(line[:-1] + end) == RECORD
    assert decode(line) == decode(RECORD)
    assert is_sealed(line)


def test_a_line_without_a_checksum_is_read_and_is_not_sealed() -> None:
    assert unseal(RECORD + b"\n") == RECORD
    assert not is_sealed(RECORD + b"\n")


@pytest.mark.parametrize("form", [seal, seal_behind])
def test_no_other_byte_anywhere_passes(form: Change) -> None:
    line = form(RECORD)

    for place in range(len(line)):
        for flip in (1, 32, 128):
            assert not is_sealed(line[:place] + bytes([line[place] ^ flip]) + line[place + 1 :]), place


@pytest.mark.parametrize("form", [seal, seal_behind])
def test_no_beginning_of_a_line_passes(form: Change) -> None:
    line = form(RECORD)

    assert not any(is_sealed(line[:length]) for length in range(len(line)))


def test_a_line_with_the_checksum_of_another_is_refused() -> None:
    other = seal(encode(a_run(repeat=2)))
    line = seal(RECORD)

    with pytest.raises(ValueError, match="does not match its checksum"):
        decode(line[:-11] + other[-11:])


@pytest.mark.parametrize(
    "rewritten", [json.dumps, lambda value: json.dumps(value, separators=(",", ":"), sort_keys=True)]
)
def test_a_record_that_another_program_wrote_anew_is_refused_with_the_way_out(
    rewritten: Callable[[object], str],
) -> None:
    line = rewritten(json.loads(seal(RECORD))).encode() + b"\n"

    with pytest.raises(ValueError, match=r"take the key out|does not match its checksum"):
        decode(line)


def test_a_record_without_its_checksum_is_read_in_any_spelling() -> None:
    value = json.loads(seal(RECORD))
    del value["crc32"]

    assert decode(json.dumps(value, indent=None).encode()) == decode(RECORD)


@pytest.mark.parametrize("spelling", [seal, seal_behind, lambda line: line + b"\n"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'"attempt":1,', b'"attempt":1,"attempt":2,'),
        (b'"attempt":1,', b'"attempt":1,"attempt":1,'),
        (b'"attempt":1,', b'"attempt":1, "attempt" : 2,'),
        (b'"attempt":1,', b'"attempt":1,"\\u0061ttempt":2,'),
        (b'"arm":"baseline"', b'"arm":"baseline","arm":"candidate"'),
        (b'"extra":{', b'"extra":{"a":1,"a":2,'),
    ],
)
def test_a_key_that_stands_twice_is_refused(spelling: Change, before: bytes, after: bytes) -> None:
    record = encode(a_run())
    assert before in record
    changed = record.replace(before, after, 1).replace(b",}", b"}")

    with pytest.raises(ValueError, match="stands there twice"):
        decode(spelling(changed))


def test_a_key_that_stands_twice_in_a_flat_record_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'success' stands there twice"):
        decode(b'{"task_id":"t","arm":"a","repeat":1,"success":false,"success":true}\n')


def test_a_text_that_only_looks_like_keys_is_read() -> None:
    record = a_run(extra={"note": '"a": 1, "a": 2', "more": {"a": 1}, "other": {"a": 1}})

    assert decode(json.dumps(json.loads(encode(record))).encode()) == record


@given(st.dictionaries(st.text(), st.text() | st.integers(-(2**53), 2**53) | st.none(), max_size=5))
def test_every_record_survives_sealing(extra: dict[str, object]) -> None:
    try:
        content = encode(a_run(extra=extra))
    except UnicodeEncodeError:
        return
    assert unseal(seal(content)) == unseal(seal_behind(content)) == content
    assert json.loads(seal(content))["crc32"] == f"{crc32(content):08x}"
