"""The archive of a bundle: only outweigh's own layout counts as untouched, and links in it are not followed."""

import hashlib
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.bundles import members, small_bundle

from outweigh.store.bundle import open_bundle

SEAL_BYTES = 64
Repack = Callable[[zipfile.ZipInfo], None]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_bundle(tmp_path_factory.mktemp("original"))


def packed_again(bundle: Path, target: Path, change: Repack, before: bytes = b"") -> Path:
    """The same members with changed headers, and the checksum of all bytes recomputed."""
    with zipfile.ZipFile(bundle) as source, target.open("wb") as stream:
        stream.write(before)
        with zipfile.ZipFile(stream, "a" if before else "w") as opened:
            opened.comment = source.comment
            for member in source.infolist():
                content = source.read(member)
                change(member)
                opened.writestr(member, content)
    whole = target.read_bytes()[:-SEAL_BYTES]
    target.write_bytes(whole + hashlib.sha256(whole).hexdigest().encode())
    return target


def archive_faults(path: Path) -> list[str]:
    with open_bundle(path) as opened:
        assert list(opened.content_faults()) == []
        return list(opened.archive_faults())


def later(member: zipfile.ZipInfo) -> None:
    member.date_time = (2026, 1, 1, 0, 0, 0)


def executable(member: zipfile.ZipInfo) -> None:
    member.external_attr = 0o100755 << 16


def commented(member: zipfile.ZipInfo) -> None:
    member.comment = b"see also"


def extended(member: zipfile.ZipInfo) -> None:
    member.extra = b"\xfe\xca\x04\x00more"


def unchanged(member: zipfile.ZipInfo) -> None:
    """Keeps every header."""


def test_an_archive_that_is_packed_in_the_same_way_has_no_fault(bundle: Path, tmp_path: Path) -> None:
    assert archive_faults(bundle) == []
    assert archive_faults(packed_again(bundle, tmp_path / "again.zip", unchanged)) == []


@pytest.mark.parametrize("change", [later, executable, commented, extended])
def test_another_header_is_noticed_although_the_checksum_fits(bundle: Path, tmp_path: Path, change: Repack) -> None:
    faults = archive_faults(packed_again(bundle, tmp_path / "again.zip", change))

    assert faults == ["the archive is not written the way outweigh writes one"]


def test_bytes_before_the_archive_are_noticed_although_the_checksum_fits(bundle: Path, tmp_path: Path) -> None:
    faults = archive_faults(packed_again(bundle, tmp_path / "again.zip", unchanged, before=b"#!/bin/sh\n"))

    assert faults == ["the archive is not written the way outweigh writes one"]


def test_a_link_in_a_bundle_becomes_a_file(bundle: Path, tmp_path: Path) -> None:
    def link(member: zipfile.ZipInfo) -> None:
        member.external_attr = (stat.S_IFLNK | 0o777) << 16

    with open_bundle(packed_again(bundle, tmp_path / "links.zip", link)) as opened:
        opened.unpack(tmp_path / "unpacked", "stores/")

    files = [file for file in (tmp_path / "unpacked").rglob("*") if not file.is_dir()]
    assert len(files) == sum(name.startswith("stores/") for name in members(bundle))
    assert not any(file.is_symlink() for file in files)
