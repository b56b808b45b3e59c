"""A bundle: the stores of a study, what was derived from them and how, in one zip archive that anybody can check.

`bundle.json` comes first and lists the SHA-256 of every other member. The comment of the archive has the SHA-256 of
all bytes before it, so that no byte can change unnoticed, those that no member owns included. The same files make the
same bytes: members are in order, dated 1980, and packed at one level.
"""

import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import BinaryIO

import msgspec

from outweigh.errors import EvidenceError, UsageError
from outweigh.store.zip_archive import (
    ARCHIVE_LIMIT,
    DIRECTORY_LIMIT,
    MEMBER_LIMIT,
    RATIO_LIMIT,
    ZipArchive,
    open_archive,
)
from outweigh.version import __version__

MANIFEST_NAME = "bundle.json"
DERIVED_FOLDER = "derived"
PRICES_NAME = "prices.toml"

SCHEMA_NAME, SCHEMA_VERSION = "outweigh.bundle", 1
_DATE = (1980, 1, 1, 0, 0, 0)
_PLAIN_FILE = 0o100644 << 16
_UNIX = 3
_LEVEL = 6
_SEAL = re.compile(rb"outweigh bundle, sha256 of all bytes before: ([0-9a-f]{64})")
_DIGEST_BYTES = 64
_CHUNK_BYTES = 2**20
_LOCAL_HEADER_BYTES, _ENTRY_BYTES, _END_BYTES = 30, 46, 22
_ZIP64_END_BYTES = 76
"""More at the end of an archive whose members or size do not fit into the usual end."""
_ZIP64_OFFSET = struct.Struct("<HHQ")
"""More in the entry of a member that begins beyond 2 GiB."""


class BundledFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A member of the archive, except the manifest itself."""

    path: str
    bytes: int
    sha256: str


class DerivedFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table or page, the stores that it is about, and the command that makes it again in the unpacked bundle.

    A path that ends in a slash is a folder of files that one command makes.
    `refused` is why the command gives none about these stores; then there is no such file.
    """

    path: str
    stores: tuple[str, ...]
    command: str
    refused: str | None = None


class BundleManifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is in a bundle. `versions` are those of the programs and schemas that the derived files depend on.

    `baseline` is the arm that the user named for them. Without `artifacts`, transcripts and diffs were left out, and
    runs name some that are not here.
    """

    schema: str
    versions: dict[str, str]
    stores: tuple[str, ...]
    artifacts: bool
    baseline: str | None
    derived: tuple[DerivedFile, ...]
    files: tuple[BundledFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """An open bundle whose list of members passed every check of an archive."""

    path: Path
    manifest: BundleManifest
    archive: ZipArchive

    def content_faults(self) -> Iterator[str]:
        """Every member that the manifest does not list, or that is missing, or whose content is not what it lists."""
        listed = {file.path: file for file in self.manifest.files}
        if len(listed) < len(self.manifest.files):
            yield f"{MANIFEST_NAME} lists a file twice"
        for name in self.archive.members:
            if name not in listed and name != MANIFEST_NAME:
                yield f"{name} is not in the manifest"
        for name, file in listed.items():
            if name not in self.archive.members:
                yield f"{name} is missing"
                continue
            try:
                self._read(file)
            except EvidenceError as fault:
                yield str(fault).removeprefix(f"{self.path}: ").removesuffix(".")

    def _read(self, file: BundledFile) -> bytes:
        """The content of a member; EvidenceError where it is not what the manifest lists."""
        content = self.archive.read(file.path)
        if len(content) != file.bytes or sha256(content).hexdigest() != file.sha256:
            raise EvidenceError(f"{self.path}: {file.path} is not what the manifest lists: its SHA-256 differs.")
        return content

    def archive_faults(self) -> Iterator[str]:
        """What is unusual about the archive itself: bytes that changed, or a program that packed it again."""
        seal = _read_seal(self.archive.stream)
        if seal is None:
            yield "the archive has no checksum of its bytes: another program packed it again"
        elif seal != _digest_before_seal(self.archive.stream):
            yield "the archive does not match the checksum of its bytes: it was damaged or changed"
        if not _is_plain(self.archive):
            yield "the archive is not written the way outweigh writes one"

    def unpack(self, folder: Path, below: str) -> None:
        """Write the members whose names begin so, each checked; EvidenceError for the first that is wrong."""
        wanted = {file.path: file for file in self.manifest.files if file.path.startswith(below)}
        present = {name for name in self.archive.members if name.startswith(below) and name != MANIFEST_NAME}
        if odd := sorted(present ^ wanted.keys()):
            state = "is not in the manifest" if odd[0] in present else "is missing"
            raise EvidenceError(f"{self.path}: {odd[0]} {state}; see `outweigh store verify {quote(str(self.path))}`.")
        for name, file in wanted.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(self._read(file))


@contextmanager
def open_bundle(path: Path) -> Iterator[Bundle]:
    """Open a bundle; EvidenceError where it is none, looks hostile, or was made by a later release."""
    if not path.exists():
        raise UsageError(f"there is no {path}; name a bundle that `outweigh store bundle` wrote.")
    if not path.is_file():
        raise UsageError(f"{path} is not a file; name a bundle that `outweigh store bundle` wrote.")
    with open_archive(path) as archive:
        if MANIFEST_NAME not in archive.members:
            raise EvidenceError(f"{path} is not a bundle of outweigh: it has no {MANIFEST_NAME}.")
        yield Bundle(path=path, manifest=_read_manifest(path, archive), archive=archive)


class _AnySchema(msgspec.Struct, frozen=True):
    """The first thing to know of a manifest."""

    schema: str


def _read_manifest(path: Path, archive: ZipArchive) -> BundleManifest:
    content = archive.read(MANIFEST_NAME)
    try:
        kind, _, version = msgspec.json.decode(content, type=_AnySchema).schema.rpartition("/")
        if kind == SCHEMA_NAME and version.isdecimal() and int(version) > SCHEMA_VERSION:
            raise EvidenceError(
                f"{path} is of the schema {kind}/{version}, and this outweigh reads up to "
                f"{SCHEMA_NAME}/{SCHEMA_VERSION}: upgrade it."
            )
        manifest = msgspec.json.decode(content, type=BundleManifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as fault:
        raise EvidenceError(f"{path}: {MANIFEST_NAME} cannot be read: {fault}.") from fault
    if manifest.schema != f"{SCHEMA_NAME}/{SCHEMA_VERSION}":
        raise EvidenceError(f"{path}: {MANIFEST_NAME} has the schema {manifest.schema!r}, which is none of a bundle.")
    kept = {file.path.split("/")[1] for file in manifest.files if file.path.count("/") > 1}
    if not manifest.stores or not kept.issuperset(manifest.stores):
        raise EvidenceError(f"{path}: {MANIFEST_NAME} names no store, or one that is not in the bundle.")
    return manifest


def _read_seal(stream: BinaryIO) -> bytes | None:
    stream.seek(0, 2)
    stream.seek(max(0, stream.tell() - _SEALED_COMMENT_BYTES))
    found = _SEAL.fullmatch(stream.read())
    return None if found is None else found[1]


_SEALED_COMMENT_BYTES = len(_SEAL.pattern) - len(b"([0-9a-f]{64})") + _DIGEST_BYTES


def _digest_before_seal(stream: BinaryIO) -> bytes:
    stream.seek(0, 2)
    left, digest = stream.tell() - _DIGEST_BYTES, sha256()
    stream.seek(0)
    while left > 0 and (chunk := stream.read(min(left, _CHUNK_BYTES))):
        digest.update(chunk)
        left -= len(chunk)
    return digest.hexdigest().encode()


def _is_plain(archive: ZipArchive) -> bool:
    """Whether members follow each other without gaps, in order, with the same date, mode and packing everywhere."""
    names = [*archive.members]
    if names != [MANIFEST_NAME, *sorted(names[1:])]:
        return False
    offset = entries = 0
    for name, member in archive.members.items():
        extra = _ZIP64_OFFSET.pack(1, 8, offset) if offset > zipfile.ZIP64_LIMIT else b""
        header = (member.header_offset, member.extra, member.comment) == (offset, extra, b"")
        kind = (member.date_time, member.external_attr, member.create_system) == (_DATE, _PLAIN_FILE, _UNIX)
        if not (header and kind and member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)):
            return False
        offset += _LOCAL_HEADER_BYTES + len(name.encode()) + member.compress_size
        entries += _ENTRY_BYTES + len(name.encode()) + len(extra)
    is_large = len(names) > zipfile.ZIP_FILECOUNT_LIMIT or offset > zipfile.ZIP64_LIMIT
    end = _END_BYTES + (_ZIP64_END_BYTES if is_large else 0)
    archive.stream.seek(0, 2)
    return archive.stream.tell() == offset + entries + end + _SEALED_COMMENT_BYTES


def describe_files(root: Path) -> tuple[BundledFile, ...]:
    """Every file below a folder, in order."""
    files = sorted((file.relative_to(root).as_posix(), file) for file in root.rglob("*") if file.is_file())
    refuse_oversize({name: file.stat().st_size for name, file in files})
    return tuple(_describe(name, file.read_bytes()) for name, file in files)


def refuse_oversize(sizes: Mapping[str, int]) -> None:
    """Refuse files, by name in the bundle, that nobody could read again; room for the manifest is left."""
    fewer = "Bundle fewer stores, or leave out transcripts and diffs with --without-artifacts."
    for name, size in sizes.items():
        if size > MEMBER_LIMIT:
            raise UsageError(f"{name} has {size:,} bytes; a file of a bundle has at most {MEMBER_LIMIT:,}.")
    total = sum(sizes.values())
    if total > ARCHIVE_LIMIT - MEMBER_LIMIT:
        raise UsageError(
            f"the files of the bundle would have {total:,} bytes; with its manifest, a bundle has at most "
            f"{ARCHIVE_LIMIT // 2**30} GiB. {fewer}"
        )
    listed = sum(_ENTRY_BYTES + _ZIP64_OFFSET.size + len(name.encode()) for name in (MANIFEST_NAME, *sizes))
    if listed > DIRECTORY_LIMIT:
        raise UsageError(
            f"the bundle would have {len(sizes):,} files, and the list of their names {listed:,} bytes; a bundle has "
            f"a list of at most {DIRECTORY_LIMIT:,} bytes. {fewer}"
        )


def _describe(name: str, content: bytes) -> BundledFile:
    return BundledFile(path=name, bytes=len(content), sha256=sha256(content).hexdigest())


def pack_bundle(root: Path, manifest: BundleManifest, target: Path) -> None:
    """Write the archive of a manifest and of the files that it lists."""
    with zipfile.ZipFile(target, "w") as opened:
        opened.comment = _SEAL.pattern.replace(b"([0-9a-f]{64})", b"0" * _DIGEST_BYTES)
        _add_member(opened, MANIFEST_NAME, msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
        for file in manifest.files:
            _add_member(opened, file.path, (root / file.path).read_bytes())
    with target.open("r+b") as stream:
        digest = _digest_before_seal(stream)
        stream.seek(-_DIGEST_BYTES, 2)
        stream.write(digest)


def program_versions() -> Iterator[tuple[str, str]]:
    """The versions of the programs that the bytes of a bundle depend on."""
    yield "outweigh", __version__
    yield "python", ".".join(map(str, sys.version_info[:3]))
    yield "zlib", zlib.ZLIB_RUNTIME_VERSION


def _add_member(opened: zipfile.ZipFile, name: str, content: bytes) -> None:
    member = zipfile.ZipInfo(name, _DATE)
    member.create_system, member.external_attr = _UNIX, _PLAIN_FILE
    # A large file that shrinks as only zip bombs do is kept as it is: the archive must be readable again.
    is_bomb = len(content) > 1000 * RATIO_LIMIT and len(zlib.compress(content, _LEVEL)) * RATIO_LIMIT < 2 * len(content)
    member.compress_type = zipfile.ZIP_STORED if is_bomb else zipfile.ZIP_DEFLATED
    opened.writestr(member, content, compresslevel=_LEVEL)
