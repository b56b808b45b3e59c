"""An archive has the members that zipfile lists, and their contents are what was put into them."""

import random
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pytest

from outweigh.errors import EvidenceError
from outweigh.store.zip_archive import open_archive

CONTENT = {"header.json": b"{}", "samples/1_epoch_1.json": b"abc" * 1000, "samples/caf\u00e9.json": b"", "sub/": b""}


def made(packing: int = zipfile.ZIP_DEFLATED, **more: bytes) -> bytes:
    stream = BytesIO(more.get("before", b""))
    stream.seek(0, 2)
    with zipfile.ZipFile(stream, "a" if more else "w", packing) as opened:
        for name, content in CONTENT.items():
            opened.writestr(name, content)
        opened.comment = more.get("comment", b"")
    return stream.getvalue()


def with_a_large_member() -> bytes:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as opened:
        for name, content in CONTENT.items():
            with opened.open(name, "w", force_zip64=True) as member:
                member.write(content)
    return stream.getvalue()


def with_an_old_name() -> bytes:
    """A name in the DOS code page, which applies if no flag says otherwise."""
    whole = made(zipfile.ZIP_STORED)
    return whole.replace("caf\u00e9".encode(), b"caf\x82_").replace(struct.pack("<H", 0x800), b"\0\0")


@pytest.mark.parametrize(
    "content",
    [
        made(),
        made(zipfile.ZIP_STORED),
        made(comment=b"a remark"),
        made(before=b"#!/bin/sh\n"),
        with_a_large_member(),
        with_an_old_name(),
    ],
)
def test_members_are_those_that_zipfile_finds(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    with zipfile.ZipFile(path) as known, open_archive(path) as opened:
        assert [*opened.members] == known.namelist()
        for name in known.namelist():
            assert opened.read(name) == known.read(name)
        assert "absent" not in opened.members


def test_an_empty_archive_has_no_members(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w"):
        pass
    with open_archive(tmp_path / "a.zip") as opened:
        assert not opened.members


def test_a_packing_that_is_not_known_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(made(zipfile.ZIP_BZIP2))

    with (
        open_archive(tmp_path / "a.zip") as opened,
        pytest.raises(EvidenceError, match="packed in a way that is not known"),
    ):
        opened.read("header.json")


@pytest.mark.parametrize("place", [14, 26, 40])
def test_a_member_that_was_changed_is_refused(tmp_path: Path, place: int) -> None:
    content = bytearray(made(zipfile.ZIP_STORED))
    content[content.index(b"abc" * 1000) + place] ^= 1
    (tmp_path / "a.zip").write_bytes(content)

    with open_archive(tmp_path / "a.zip") as opened, pytest.raises(EvidenceError, match="is broken"):
        opened.read("samples/1_epoch_1.json")


def damaged(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content))
    ways: list[Callable[[], bytes]] = [
        lambda: content[:place],
        lambda: content[:place] + bytes([rng.randrange(256)]) + content[place + 1 :],
        lambda: content[:place] + b"\xff\xff\xff\xff" + content[place + 4 :],
        lambda: content[:place] + content[place + 1 :],
    ]
    return rng.choice(ways)()


def test_nothing_but_a_sentence_comes_of_a_damaged_archive(tmp_path: Path) -> None:
    rng, path = random.Random(0), tmp_path / "a.zip"
    for _ in range(600):
        path.write_bytes(damaged(made(), rng))
        with suppress(EvidenceError), open_archive(path) as opened:
            for name in opened.members:
                with suppress(EvidenceError):
                    assert opened.read(name) in CONTENT.values()


def test_a_list_of_many_members_is_read_like_one_of_few(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as written:
        for number in range(3000):
            written.writestr(f"samples/{number}.json", b"")

    with open_archive(tmp_path / "a.zip") as opened:
        assert [*opened.members] == [f"samples/{number}.json" for number in range(3000)]
