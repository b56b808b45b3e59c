"""Transcripts, diffs and outputs by their hash: `artifacts/ab/ab12…`, each complete or absent."""

import os
from contextlib import suppress
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Self

from outweigh.errors import EvidenceError
from outweigh.store.durable_files import make_folder, sync_folder

ARTIFACTS_FOLDER = "artifacts"
_UNFINISHED = "unfinished"


class ArtifactFolder:
    """Keeps each content once. Only one process may write, as the store's lock sees to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count(1)
        self._kept_again: set[str] = set()

    @classmethod
    def of_store(cls, folder: Path) -> Self:
        """The artifacts of the store in this folder."""
        return cls(folder / ARTIFACTS_FOLDER)

    def exists(self) -> bool:
        """Whether anything was ever kept here."""
        return self._folder.is_dir()

    def keep(self, content: bytes) -> str:
        """Make the content durable, unless it is there already, and return its hash."""
        digest = sha256(content).hexdigest()
        target = self._path(digest)
        if digest in self._kept_again:
            return digest
        if _holds(target, content):
            # Another thread may have renamed it a moment ago, or a killed process: the entry may not be durable yet.
            sync_folder(target.parent)
            self._kept_again.add(digest)
        else:
            self._write(target, content)
        return digest

    def read(self, digest: str) -> bytes:
        """The content with this hash; one that is missing or no longer matches is refused."""
        path = self._path(digest)
        try:
            content = path.read_bytes()
        except OSError as fault:
            raise EvidenceError(f"the artifact {path} cannot be read: {fault.strerror}.") from fault
        if sha256(content).hexdigest() != digest:
            raise EvidenceError(f"the artifact {path} does not match its hash: it was damaged or changed.")
        return content

    def sweep(self) -> None:
        """Remove what a killed writer left unfinished."""
        unfinished = self._folder / _UNFINISHED
        for path in unfinished.iterdir() if unfinished.is_dir() else ():
            path.unlink()

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest

    def _write(self, target: Path, content: bytes) -> None:
        make_folder(target.parent)
        make_folder(self._folder / _UNFINISHED)
        unfinished = self._folder / _UNFINISHED / f"{os.getpid()}-{next(self._numbers)}"
        try:
            with unfinished.open("xb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            unfinished.replace(target)
            sync_folder(target.parent)
        finally:
            with suppress(OSError):
                unfinished.unlink()


def _holds(path: Path, content: bytes) -> bool:
    """Whether exactly this is there; a damaged file is written again."""
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except FileNotFoundError:
        return False
