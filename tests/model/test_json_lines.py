import pytest
from hypothesis import given
from hypothesis import strategies as st

from outweigh.model.json_text import JsonLineDecoder, decode_json

NESTED = b"[" * 200_000


def test_a_line_counts_when_its_line_break_has_come() -> None:
    lines = JsonLineDecoder()
    assert lines.feed(b'{"a": 1}') == []
    assert lines.feed(b'\n{"b"') == [{"a": 1}]
    assert lines.feed(b": 2}\r\n") == [{"b": 2}]
    assert lines.warnings() == ()


def test_a_last_line_without_line_break_is_read_once_it_is_asked_for() -> None:
    lines = JsonLineDecoder()
    lines.feed(b'{"a": 1}')
    assert lines.finish() == [{"a": 1}]
    assert lines.finish() == []
    assert lines.feed(b'\n{"b": 2}\n') == [{"b": 2}]
    assert lines.warnings() == ()


def test_a_torn_last_line_is_told_and_can_still_be_completed() -> None:
    lines = JsonLineDecoder()
    lines.feed(b'{"a": 1')
    assert lines.finish() == []
    assert lines.warnings() == ("the agent's output breaks off in the middle of a line",)
    assert lines.feed(b"}\n") == [{"a": 1}]
    assert lines.warnings() == ()


@pytest.mark.parametrize(
    "noise", [b"Loading...", b"17", b'"text"', b"[1, 2]", b'{"a": 1e', b"{}{}", b"[1%s]" % (b"0" * 5000), NESTED]
)
def test_a_line_that_is_no_object_is_counted_and_skipped(noise: bytes) -> None:
    lines = JsonLineDecoder()
    assert lines.feed(noise + b'\n\n{"a": 1}\n') == [{"a": 1}]
    assert lines.warnings() == ("1 line of the agent's output could not be read as a JSON object",)


def test_several_unreadable_lines_are_told_in_one_sentence() -> None:
    lines = JsonLineDecoder()
    lines.feed(b"x\ny\n")
    assert lines.warnings() == ("2 lines of the agent's output could not be read as a JSON object",)


def test_an_array_of_objects_on_one_line_gives_them_one_by_one() -> None:
    assert JsonLineDecoder().feed(b'[{"a": 1}, {"b": 2}]\n') == [{"a": 1}, {"b": 2}]


def test_an_object_spread_over_lines_is_one_object() -> None:
    lines = JsonLineDecoder()
    document = b'Welcome!\n{\r\n  "a": {\n    "b": 1\n  },\n\n  "c": []\n}\n{"d": 2}\n[\n  {"e": 3}\n]'
    assert lines.feed(document) == [{"a": {"b": 1}, "c": []}, {"d": 2}]
    assert lines.finish() == [{"e": 3}]
    assert lines.warnings() == ("1 line of the agent's output could not be read as a JSON object",)


def test_an_object_spread_over_lines_may_break_off() -> None:
    lines = JsonLineDecoder()
    assert lines.feed(b'{\n  "a": 1\n') == []
    assert lines.finish() == []
    assert lines.torn
    assert lines.feed(b"}\n") == [{"a": 1}]


def test_a_bracket_that_opens_nothing_does_not_swallow_what_follows() -> None:
    lines = JsonLineDecoder()
    assert lines.feed(b'{\n{"a": 1}\n[\nnoise\n{"b": 2}\n') == [{"a": 1}, {"b": 2}]
    assert lines.invalid_count == 3


def test_a_line_beyond_the_limit_is_skipped_in_whatever_pieces_it_comes() -> None:
    for size in (1, 3, 100):
        lines = JsonLineDecoder(line_limit=10)
        content = b'{"a": "far too long"}\n{"b": 2}\n'
        events = [event for at in range(0, len(content), size) for event in lines.feed(content[at : at + size])]
        assert events == [{"b": 2}]
        assert lines.warnings() == ("1 line of the agent's output is too long to read",)


def test_half_a_character_and_nan_do_not_cost_the_line() -> None:
    assert decode_json(rb'{"a": "x\ud83d", "b": "\\ud83d", "c": NaN}') == {"a": "x?", "b": r"\ud83d", "c": None}
    assert decode_json(b'\xef\xbb\xbf{"a": "\xff"}') == {"a": "\N{REPLACEMENT CHARACTER}"}


def test_whole_numbers_are_exact_as_far_as_they_can_be_written_again() -> None:
    read = decode_json(b'{"a": 18446744073709551615, "b": 18446744073709551616, "c": -1%s}' % (b"0" * 300))
    assert read == {"a": 18446744073709551615, "b": 1.8446744073709552e19, "c": -1e300}
    assert isinstance(read["a"], int)
    assert isinstance(read["b"], float)


SPREAD = st.lists(st.sampled_from([b"{", b"}", b"[", b"]", b"\n", b" ", b'"a": 1', b'{"b": 2}', b"x"])).map(b"".join)


@given(st.binary(max_size=200) | SPREAD, st.integers(1, 50))
def test_any_bytes_in_any_pieces_give_the_same(content: bytes, size: int) -> None:
    whole, pieces = JsonLineDecoder(), JsonLineDecoder()
    expected = whole.feed(content) + whole.finish()
    found = [event for at in range(0, len(content), size) for event in pieces.feed(content[at : at + size])]
    assert found + pieces.finish() == expected
    assert pieces.warnings() == whole.warnings()
