"""Whatever is read from a broken archive is what the standard library reads."""

import os
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outweigh.errors import EvidenceError
from outweigh.store.zip_archive import MEMBER_LIMIT, ZipArchive, open_archive
from outweigh.testing.corrupt_content import corrupt_bytes
from outweigh.testing.corrupt_source import corrupt_archive, pack_zip

MEMBERS = [
    ("_journal/start.json", b'{"eval": {}}'),
    ("samples/1_epoch_1.json", b'{"id": 1, "epoch": 1}' * 20),
    ("samples/größe_epoch_1.json", b"{}"),
    ("header.json", b"{}"),
]
Contents = dict[str, bytes | None]


def ours(path: Path) -> Contents | None:
    """Names and contents, None for a refused member; None for a refused archive."""
    try:
        with open_archive(path) as opened:
            return {name: _ours(opened, name) for name in opened.members}
    except EvidenceError:
        return None


def _ours(opened: ZipArchive, name: str) -> bytes | None:
    try:
        return opened.read(name)
    except EvidenceError:
        return None


def theirs(path: Path) -> Contents:
    with zipfile.ZipFile(path) as opened:
        return {member.filename: _theirs(opened, member) for member in opened.infolist()}


def _theirs(opened: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes | None:
    try:
        return opened.read(member)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError, OSError, ValueError):
        return None


@settings(max_examples=5000 if os.environ.get("HYPOTHESIS_PROFILE") == "search" else 150)
@given(rng=st.randoms(use_true_random=False))
def test_what_is_read_of_a_broken_archive_is_what_zipfile_reads(rng: Random) -> None:
    whole = pack_zip(MEMBERS)
    damaged = corrupt_archive(whole, rng) if rng.random() < 0.5 else corrupt_bytes(whole, rng)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.eval"
        path.write_bytes(damaged or b"")
        found = ours(path) or {}
        # zipfile also refuses unknown versions and flags; whatever both read must be the same.
        with suppress(NotImplementedError):
            expected = theirs(path) if found else {}
            assert found.keys() == expected.keys()
            both = [name for name in found if None not in (found[name], expected[name])]
            assert [found[name] for name in both] == [expected[name] for name in both]


def test_a_member_under_another_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(pack_zip(MEMBERS).replace(b"header.json", b"hEader.json", 1))

    with open_archive(path) as opened, pytest.raises(EvidenceError, match="it does not begin where the archive says"):
        opened.read("header.json")


def test_a_member_that_claims_to_be_packed_into_more_than_is_held_is_refused(tmp_path: Path) -> None:
    content = bytearray(pack_zip(MEMBERS))
    place = content.index(b"PK\x01\x02") + 20
    content[place : place + 4] = (MEMBER_LIMIT + 1).to_bytes(4, "little")
    path = tmp_path / "log.eval"
    path.write_bytes(bytes(content))

    with pytest.raises(EvidenceError, match="would unpack to 536,870,913 bytes"), open_archive(path):
        pass
