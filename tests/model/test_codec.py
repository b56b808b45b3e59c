from collections.abc import Iterator

import msgspec
import pytest

from outweigh.errors import EvidenceError
from outweigh.model.codec import RECORD_LINE_LIMIT, InvalidLine, decode_lines, encode, refuse_invalid
from outweigh.testing.builders import a_run

GOOD = encode(a_run()) + b"\n"


def read(*lines: bytes) -> tuple[list[int], list[InvalidLine]]:
    invalid: list[InvalidLine] = []
    found = [located.line for located in decode_lines(lines, "runs.jsonl", invalid.append)]
    return found, invalid


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"schema": "outweigh.run/1", \n', "not valid JSON"),
        (b'{"schema": "outweigh.run/1"', "ends in the middle of a record"),
        (GOOD[:-40], "ends in the middle of a record"),
        (b"[1, 2]\n", "expected a JSON object"),
        (b'"text"\n', "expected a JSON object"),
        (b"task_id,arm,repeat\n", "not valid JSON"),
        (b"{}\n", "not a run record"),
        (b'{"results": []}\n', "not a run record"),
        (b"\xff\xfe\x00\n", "not UTF-8"),
        (GOOD.replace(b"task-1", b"task-\xe9"), "not UTF-8"),
        (GOOD.replace(b"60.0", b"NaN"), "no NaN or Infinity"),
        (GOOD.replace(b"60.0", b"-Infinity"), "no NaN or Infinity"),
        (GOOD.replace(b"60.0", b"1e999"), "out of range"),
        (GOOD.replace(b"60.0", b"-60.0"), "duration_seconds"),
        (GOOD.replace(b"60.0", b'"60"'), "Expected `float | null`, got `str` - at `$.duration_seconds`"),
        (GOOD.replace(b'"attempt":1', b'"attempt":1,"colour":"red"'), "unknown field `colour`"),
        (GOOD.replace(b"outweigh.run/1", b"outweigh.run/9"), "newer than this outweigh"),
        (GOOD.replace(b"outweigh.run/1", b"harbor.trial/1"), "is not one of outweigh.run/1"),
        (GOOD.replace(b'"repeat":1', b'"repeat":-1'), "repeat"),
        (b'{"a": "' + b"x" * RECORD_LINE_LIMIT + b'"}\n', "1,000,000 bytes or longer"),
        (b'{"task_id": "t", "arm": "a", "repeat": 1, "total_cost_usd": -0.1}\n', "total_cost_usd"),
        (b'{"task_id": "t", "arm": "a", "repeat": 1, "success": "yes"}\n', "success"),
        (b'{"task_id": "t", "arm": "", "repeat": 1}\n', "arm"),
    ],
)
def test_an_unreadable_line_is_reported_with_its_place_and_the_rest_is_read(line: bytes, reason: str) -> None:
    second = GOOD.replace(b'"repeat":1', b'"repeat":2')
    lines = (GOOD, line, second) if line.endswith(b"\n") else (GOOD, second, line)

    found, invalid = read(*lines)

    assert len(found) == 2
    assert [(item.source, item.line) for item in invalid] == [("runs.jsonl", lines.index(line) + 1)]
    assert reason in invalid[0].reason


def test_the_strict_reader_refuses_with_place_and_way_out() -> None:
    with pytest.raises(EvidenceError, match=r"runs\.jsonl:2: .*--skip-invalid"):
        list(decode_lines([GOOD, b"{\n"], "runs.jsonl", refuse_invalid))


def test_blank_lines_crlf_and_a_byte_order_mark_are_no_fault() -> None:
    found, invalid = read(b"\xef\xbb\xbf" + GOOD, b"\n", b"  \r\n", GOOD.replace(b"\n", b"\r\n"))

    assert (found, invalid) == ([1, 4], [])


def test_a_last_line_without_a_line_feed_is_read_when_it_is_whole() -> None:
    found, invalid = read(GOOD.rstrip(b"\n"))

    assert (found, invalid) == ([1], [])


def test_lines_are_decoded_one_at_a_time() -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield GOOD

    first = next(decode_lines(endless(), "stream", refuse_invalid))

    assert first.line == 1


def test_a_seed_record_is_recognised_even_when_it_mentions_a_schema_in_its_text() -> None:
    line = msgspec.json.encode({"task_id": '"schema"', "arm": "a", "repeat": 1, "success": True})

    assert read(line) == ([1], [])
