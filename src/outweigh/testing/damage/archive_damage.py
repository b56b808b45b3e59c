"""Archives that were tampered with: names that lead out, members that lie about themselves, bombs."""

import io
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from random import Random

from outweigh.testing.damage.byte_damage import broken_bytes
from outweigh.testing.damage.json_damage import broken_json

BOMB_BYTES = 8 * 2**20
_CENTRAL = b"PK\x01\x02"
_FLAGS, _METHOD, _CHECKSUM, _PACKED, _SIZE, _OFFSET = 8, 10, 16, 20, 24, 42
_STRANGE_NAMES = (
    "../../out.json",
    "/etc/out.json",
    "C:\\out.json",
    "samples/../../x",
    "a\\..\\..\\b",
    "x" * 300,
    "\x01",
)

Change = Callable[[bytes, Random], bytes | None]


def broken_archive(content: bytes, chance: Random) -> bytes | None:
    """A zip archive with one thing wrong; None where there is none to be read."""
    members = unpacked(content)
    if not members:
        return None
    match chance.randrange(8):
        case 0 | 1 | 2:
            return changed_member(content, chance, chance.choice((broken_json, broken_bytes)))
        case 3:
            members.append((chance.choice(_STRANGE_NAMES), b"{}"))
        case 4:
            members.append(chance.choice(members))
        case 5:
            members.append((chance.choice(members)[0], b" " * BOMB_BYTES))
        case 6:
            members.pop(chance.randrange(len(members)))
        case _:
            return _lying(content, chance)
    return packed(members)


def changed_member(content: bytes, chance: Random, change: Change) -> bytes | None:
    """The archive with one of its members changed, packed again without Zstandard."""
    members = unpacked(content)
    if not members:
        return None
    number = chance.randrange(len(members))
    name, held = members[number]
    changed = change(held, chance)
    if changed is None:
        return None
    members[number] = (name, changed)
    return packed(members)


def unpacked(content: bytes) -> list[tuple[str, bytes]]:
    """Names and contents of the members; nothing where they cannot be read."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as opened:
            return [(member.filename, _held(opened, content, member)) for member in opened.infolist()]
    except (zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, EOFError, zlib.error, struct.error):
        return []


def packed(members: list[tuple[str, bytes]]) -> bytes:
    """An archive with these members, also where a name stands twice."""
    target = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as opened:
        warnings.simplefilter("ignore")
        for name, held in members:
            opened.writestr(name, held)
    return target.getvalue()


def _held(opened: zipfile.ZipFile, content: bytes, member: zipfile.ZipInfo) -> bytes:
    if member.compress_type != 93:
        return opened.read(member)
    import zstandard  # noqa: PLC0415 - only for archives that are packed with it

    start = member.header_offset
    name_length, extra_length = struct.unpack_from("<HH", content, start + 26)
    begin = start + 30 + name_length + extra_length
    held: bytes = zstandard.ZstdDecompressor().decompressobj().decompress(content[begin : begin + member.compress_size])
    return held


def _lying(content: bytes, chance: Random) -> bytes:
    """The directory says something about a member that is not so."""
    places = [place for place in range(len(content)) if content.startswith(_CENTRAL, place)]
    changed = bytearray(content)
    if not places:
        return content
    place = chance.choice(places)
    field, layout, value = chance.choice(
        [
            (_FLAGS, "<H", 1),
            (_METHOD, "<H", 99),
            (_METHOD, "<H", 93),
            (_CHECKSUM, "<I", 0),
            (_PACKED, "<I", 0),
            (_SIZE, "<I", 2**31),
            (_SIZE, "<I", 1),
            (_OFFSET, "<I", 2**31 - 1),
        ]
    )
    struct.pack_into(layout, changed, min(place + field, len(changed) - 4), value)
    return bytes(changed)
