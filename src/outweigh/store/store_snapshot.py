"""What a store holds at one moment, artifacts apart: its files in a folder of this machine, with their SHA-256.

The two sides of a copy are compared by it, so nothing here comes from the cache.
"""

from collections.abc import Iterator, Mapping
from hashlib import file_digest
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from outweigh.model.codec import InvalidLine, decode_lines
from outweigh.model.evidence_hash import EvidenceHash
from outweigh.ports.stores import FolderEntries, StoreLocation
from outweigh.store.records import RECORDS_SUFFIX
from outweigh.store.store_files import is_kept_file, only_grows

_CHUNK_BYTES = 2**20


class StoreSnapshot(NamedTuple):
    """The files of a store by their names, each with its SHA-256, and the folder that holds them."""

    folder: Path
    digests: Mapping[str, str]

    def path(self, name: str) -> Path:
        """Where a file is."""
        return self.folder / name

    def size(self, name: str) -> int:
        """How many bytes a file has."""
        return self.path(name).stat().st_size

    def evidence(self) -> EvidenceHash:
        """The hash of every record. Lines that cannot be read are in no hash, and are compared byte by byte."""
        return EvidenceHash.of(digest for name in self.digests for digest in self._record_digests(name))

    def _record_digests(self, name: str) -> Iterator[bytes]:
        if not name.endswith(RECORDS_SUFFIX):
            return
        unread: list[InvalidLine] = []
        with self.path(name).open("rb") as stream:
            for located in decode_lines(stream, name, unread.append):
                yield located.digest


def take_snapshot(location: StoreLocation, entries: FolderEntries, folder: Path) -> StoreSnapshot:
    """Bring the files of a store into an empty folder; of a log that grows meanwhile, what was there before."""
    sizes = {file.name: file.size for file in entries.files if is_kept_file(file.name)}
    for name, size in sizes.items():
        location.fetch(name, folder / name)
        if only_grows(name) and (folder / name).stat().st_size > size:
            _cut(folder / name, size)
    return StoreSnapshot(folder, dict(_digests(folder, sizes)))


def _cut(path: Path, size: int) -> None:
    """Leave the whole lines among the first bytes."""
    with path.open("r+b") as stream:
        content = stream.read(size)
        stream.truncate(content.rfind(b"\n") + 1)


def _digests(folder: Path, names: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    for name in sorted(names):
        with (folder / name).open("rb") as stream:
            yield name, file_digest(stream, "sha256").hexdigest()


def begins_with(longer: Path, shorter: Path) -> bool:
    """Whether a file is the beginning of another."""
    with longer.open("rb") as whole, shorter.open("rb") as start:
        while chunk := start.read(_CHUNK_BYTES):
            if whole.read(len(chunk)) != chunk:
                return False
    return True


def first_difference(one: Path, other: Path) -> int:
    """The number of the first line in which two files differ."""
    with one.open("rb") as first, other.open("rb") as second:
        pairs = enumerate(zip_longest(first, second), start=1)
        return next((number for number, (line, against) in pairs if line != against), 0)
