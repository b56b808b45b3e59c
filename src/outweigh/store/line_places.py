"""Where the lines of a folder's files are, each as one number, and what they say.

A line is read again only where another one has the same key, so that no content is hashed for it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO

from outweigh.model.codec import Record, decode_lines, encode, refuse_invalid
from outweigh.model.line_seal import unseal

_OFFSET_BITS = 44
"""Files of up to 16 TiB, and half a million of them."""

_OFFSETS = (1 << _OFFSET_BITS) - 1


class LinePlaces:
    """A place is the number of a file, and how many bytes are before the line in it."""

    def __init__(self) -> None:
        self._files: list[Path] = []
        self._reader: tuple[int, BinaryIO] | None = None
        self._new: BinaryIO | None = None
        self._line_start = 0
        self.next_place = 0
        """Where the next line goes, of what is read or written."""

    def of_file(self, path: Path, stream: BinaryIO) -> Iterator[tuple[int, Record]]:
        """The records of a file that is there, with their places."""
        self._begin(path)
        for located in decode_lines(self._counted(stream), str(path), refuse_invalid):
            yield self._line_start, located.record

    @contextmanager
    def of_new_file(self, target: Path, stream: BinaryIO) -> Iterator[None]:
        """Number the lines of a file while it is written, under another name than it gets in the end."""
        self._begin(Path(stream.name))
        self._new = stream
        try:
            yield
        finally:
            self._new = None
            self._files[-1] = target

    def places(self, lengths: Sequence[int]) -> list[int]:
        """The places of the next lines of the new file, which are this long."""
        *found, self.next_place = accumulate(lengths, initial=self.next_place)
        return found

    def says(self, place: int, content: bytes) -> bool:
        """Whether this record, as it is written today and without its checksum, is at a place: in a line of its own, or
        packed into one with others.
        """
        number = place >> _OFFSET_BITS
        line = self._line(number, place & _OFFSETS)
        if unseal(line) == content:
            return True
        found = decode_lines((line,), str(self._files[number]), refuse_invalid)
        return any(encode(located.record) == content for located in found)

    def close(self) -> None:
        """Close the file that was read last."""
        if self._reader is not None:
            self._reader[1].close()
            self._reader = None

    def _line(self, number: int, offset: int) -> bytes:
        if self._new is not None:
            self._new.flush()
        if self._reader is None or self._reader[0] != number:
            self.close()
            self._reader = number, self._files[number].open("rb")
        stream = self._reader[1]
        stream.seek(offset)
        return stream.readline()

    def _begin(self, path: Path) -> None:
        self.next_place = len(self._files) << _OFFSET_BITS
        self._files.append(path)

    def _counted(self, stream: BinaryIO) -> Iterator[bytes]:
        for line in stream:
            self._line_start, self.next_place = self.next_place, self.next_place + len(line)
            yield line
