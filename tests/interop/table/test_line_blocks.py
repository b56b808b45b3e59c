"""Blocks of lines hold what a file holds, whatever its lines are like."""

from io import BytesIO
from itertools import chain

import pytest

from outweigh.interop.result_files import LINE_LIMIT
from outweigh.interop.row_batch import BLOCK_BYTES, read_line_blocks


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"a",
        b"a\nb\n",
        b"a\r\n\rb\n\n\x0b\x0c\x85c",
        b"x" * BLOCK_BYTES,
        b"x" * (BLOCK_BYTES - 1) + b"\ny\n",
        b"x" * BLOCK_BYTES + b"\ny",
        b"short\n" * BLOCK_BYTES,
    ],
)
def test_lines_end_at_line_feeds_alone_and_none_is_cut(content: bytes) -> None:
    blocks = [*read_line_blocks(BytesIO(content))]

    assert [*chain(*blocks)] == BytesIO(content).readlines()
    assert all(blocks)


def test_an_endless_line_is_cut_where_it_can_be_refused_and_the_next_one_is_whole() -> None:
    lines = [*chain(*read_line_blocks(BytesIO(b"a\n" + b"x" * (2 * LINE_LIMIT + 5) + b"\nb\n")))]

    assert (lines[0], lines[-1], len(lines)) == (b"a\n", b"b\n", 3)
    assert LINE_LIMIT <= len(lines[1]) < LINE_LIMIT + BLOCK_BYTES
