"""Lines of a large file, many at a time: a call for every line would take longer than what is done with most."""

from collections.abc import Iterator
from io import BytesIO
from typing import BinaryIO

from outweigh.adapters.importers.source_text import LINE_LIMIT

BLOCK_BYTES = 2**17
"""Large enough that what is done once per block counts for nothing, small enough for a processor's cache."""


def line_blocks(stream: BinaryIO) -> Iterator[list[bytes]]:
    """All lines in order, with their ends; of an endless line only as much is kept as it takes to refuse it."""
    while chunk := stream.read(BLOCK_BYTES):
        end = b"" if chunk.endswith(b"\n") else stream.readline(LINE_LIMIT)
        yield BytesIO(chunk + end).readlines()
        while len(end) == LINE_LIMIT and not end.endswith(b"\n"):
            end = stream.readline(LINE_LIMIT)
