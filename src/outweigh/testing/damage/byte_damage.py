"""A file that a disk, a network or a crash got at: nothing here knows what the bytes mean."""

from random import Random

STRANGE = (
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\r",
    b'"',
    b"{",
    b"]",
    b"\\",
    b"-1",
    b"1e400",
    b"NaN",
    b"\xef\xbb\xbf",
)
"""Pieces that readers trip over: no text, half a character, brackets without a counterpart, numbers without a value."""


def broken_bytes(content: bytes, chance: Random) -> bytes:
    """Torn, flipped, spliced, doubled, or with something strange in it."""
    place = chance.randint(0, len(content))
    match chance.randrange(6):
        case 0:
            return content[:place]
        case 1:
            return content[:place] + chance.choice(STRANGE) + content[place + chance.randrange(8) :]
        case 2:
            return content[:place] + content[chance.randint(0, len(content)) :]
        case 3:
            return content + content[:place]
        case 4 if place < len(content):
            return content[:place] + bytes([content[place] ^ (1 << chance.randrange(8))]) + content[place + 1 :]
        case _:
            return content[place:]
