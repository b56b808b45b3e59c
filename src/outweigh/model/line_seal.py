"""Checksums of lines, by which a torn or damaged one is recognised.

A record has its checksum inside, as the last key, so that a file of records is JSON Lines:

    {"schema":"outweigh.run/1", … ,"crc32":"1c291ca3"}

It is the CRC-32 of the object without that key, byte for byte. A line of a log has it behind a tab. Earlier releases
wrote records that way too, and such lines are read like any other.
"""

from collections.abc import Sequence
from itertools import chain, repeat
from struct import pack
from zlib import crc32

CHECKSUM_KEY = "crc32"

_INSIDE, _END = b',"crc32":"', b'"}\n'
_INSIDE_BYTES = len(_INSIDE) + 10
SEAL_BYTES = _INSIDE_BYTES
"""How much longer a line is than its record; the line feed takes the place of the brace that comes later."""
_BEHIND = b"\t#crc32:"


def seal(record: bytes) -> bytes:
    """A record, which is one JSON object with at least one key, as a line with its checksum inside."""
    return b'%b%b%08x"}\n' % (record[:-1], _INSIDE, crc32(record))


def seal_all(records: Sequence[bytes]) -> bytes:
    """The lines of many records, each as `seal` writes it."""
    digits = pack(f">{len(records)}I", *map(crc32, records)).hex().encode()
    checksums = [digits[at : at + 8] for at in range(0, len(digits), 8)]
    opened = [record[:-1] for record in records]
    return b"".join(chain.from_iterable(zip(opened, repeat(_INSIDE), checksums, repeat(_END))))


def seal_behind(content: bytes) -> bytes:
    """Any content without line feeds as a line of a log, with its checksum behind it."""
    return b"%b%b%08x\n" % (content, _BEHIND, crc32(content))


def unseal(line: bytes) -> bytes:
    """What was sealed, in either form, or a line that has no checksum; ValueError where the checksum differs."""
    text = line.rstrip(b"\r\n")
    if text[-_INSIDE_BYTES:-10] == _INSIDE:
        content = text[:-_INSIDE_BYTES] + b"}"
        checksum = text[-10:-2] if text.endswith(b'"}') else b""
    else:
        # JSON holds no raw tab, so the mark is unambiguous.
        content, mark, checksum = text.rpartition(_BEHIND)
        if not mark:
            return text
    if b"%08x" % crc32(content) != checksum:
        raise ValueError("the line does not match its checksum: it was damaged or changed")
    return content


def is_sealed(line: bytes) -> bool:
    """Whether the line has a checksum in either form and is as it was written, whatever it says."""
    try:
        content = unseal(line)
    except ValueError:
        return False
    return line in (seal(content), seal_behind(content))
