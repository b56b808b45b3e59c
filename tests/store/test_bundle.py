"""The archive of a bundle: only outweigh's own layout counts as untouched, and links in it are not followed."""

import hashlib
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.cli.bundles import members, small_bundle

from outweigh.errors import UsageError
from outweigh.store.bundle import describe_files, open_bundle, pack_bundle, refuse_oversize
from outweigh.store.zip_archive import ARCHIVE_LIMIT, DIRECTORY_LIMIT, MEMBER_LIMIT

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


def test_a_bundle_of_more_members_than_16_bits_can_count_has_no_fault(bundle: Path, tmp_path: Path) -> None:
    with open_bundle(bundle) as opened:
        manifest = opened.manifest
    folder = tmp_path / "root" / "stores" / manifest.stores[0]
    folder.mkdir(parents=True)
    for number in range(2**16 - 1):
        (folder / str(number)).touch()
    manifest = msgspec.structs.replace(manifest, files=describe_files(tmp_path / "root"))

    pack_bundle(tmp_path / "root", manifest, tmp_path / "large.zip")

    assert len(manifest.files) + 1 == 2**16
    assert archive_faults(tmp_path / "large.zip") == []


def test_a_study_that_a_reader_would_refuse_for_its_size_is_not_packed() -> None:
    largest = {str(number): MEMBER_LIMIT for number in range(ARCHIVE_LIMIT // MEMBER_LIMIT - 1)}

    refuse_oversize(largest)
    with pytest.raises(UsageError, match="16 GiB"):
        refuse_oversize({**largest, "more": 1})
    with pytest.raises(UsageError, match="at most 536,870,912"):
        refuse_oversize({"whole": MEMBER_LIMIT + 1})


def test_a_study_of_more_names_than_a_reader_takes_is_not_packed() -> None:
    longest = DIRECTORY_LIMIT // 2
    refuse_oversize({"a" * (longest - 100): 0, "b" * (longest - 200): 0})
    with pytest.raises(UsageError, match="2 files"):
        refuse_oversize({"a" * (longest - 100): 0, "b" * (longest + 1): 0})


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
