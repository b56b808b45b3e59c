"""Events are found however the bytes are cut into pieces, and nothing is lost on the way."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outweigh.gateway.response_readers import EventStreamParser, ServerSentEvent

STREAM = (
    b'event: message_start\ndata: {"a": 1}\n\n: a comment\n\ndata: one\ndata: two\n\r\n'
    b"event: ping\r\ndata:{}\r\n\r\nid: 7\n\ndata: [DONE]\n\n"
)
DATA = [b'{"a": 1}', b"", b"one\ntwo", b"{}", b"", b"[DONE]"]


def _events(chunks: list[bytes], stream: EventStreamParser) -> list[ServerSentEvent]:
    events = [event for chunk in chunks for event in stream.feed(chunk)]
    return [*events, *stream.finish()]


def test_events_carry_their_data() -> None:
    assert [event.data for event in _events([STREAM], EventStreamParser())] == DATA


@given(st.lists(st.integers(0, len(STREAM)), max_size=30))
def test_it_is_no_matter_how_a_stream_is_cut(cuts: list[int]) -> None:
    places = sorted({0, *cuts, len(STREAM)})
    events = _events([STREAM[start:end] for start, end in pairwise(places)], EventStreamParser())

    assert b"".join(event.raw for event in events) == STREAM
    assert [event.data for event in events if event.data] == [data for data in DATA if data]


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_whatever_comes_is_passed_on_unchanged(chunks: list[bytes]) -> None:
    events = _events(chunks, EventStreamParser(largest_bytes=16))

    assert b"".join(event.raw for event in events) == b"".join(chunks)


def test_an_event_that_nothing_follows_is_heard_too() -> None:
    assert [event.data for event in _events([b"data: last\n"], EventStreamParser())] == [b"last"]


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_an_event_beyond_the_limit_is_passed_on_unread_and_the_next_one_is_read(piece: int) -> None:
    content = b"data: " + b"x" * 500 + b"\n\n" + b"data: next\n\n"
    chunks = [content[start : start + piece] for start in range(0, len(content), piece)]
    events = _events(chunks, EventStreamParser(largest_bytes=100))

    assert b"".join(event.raw for event in events) == content
    if piece < 100:  # in one piece, it was there anyway
        assert [event.data for event in events if event.data] == [b"next"]
