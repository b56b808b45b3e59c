"""The cache of stores that lie elsewhere: what was fetched of each, by its address and the versions of its files.

    ADDRESS/STATE/    the files of a store as they were once, never changed; unchanged files are shared by hard links
    ADDRESS/artifacts/   artifacts that somebody asked for

A reader works on one such folder for as long as it takes. Folders that were not used for longest are removed where the
cache is larger than its limit, and those that a later state replaced, both only when nobody used them for an hour.
"""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from outweigh.errors import UsageError
from outweigh.ports.stores import StoredFile
from outweigh.store.artifact_folder import ARTIFACTS_FOLDER

CACHE_VARIABLE = "XDG_CACHE_HOME"
CACHE_LIMIT = 10 * 2**30
"""How many bytes the cache may have before what was not used for longest is removed."""

ORIGIN_FILE = ".origin.json"
"""Where a folder of the cache says what it is a copy of."""

_IN_USE_SECONDS = 3600.0
_KEY_DIGITS = 24
_UNFINISHED = "unfinished-"


class FetchedOrigin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a folder of the cache is a copy of.

    `changing_at` is set where the store was being written to: everything that was there at that moment is in the copy.
    """

    schema: Literal["outweigh.origin/1"] = "outweigh.origin/1"
    address: str
    files: tuple[StoredFile, ...]
    changing_at: str | None = None


def read_origin(folder: Path) -> FetchedOrigin | None:
    """What a folder is a copy of; None for every folder outside the cache."""
    try:
        return msgspec.json.decode((folder / ORIGIN_FILE).read_bytes(), type=FetchedOrigin)
    except (OSError, ValueError, msgspec.MsgspecError):  # no folder at all, or no such file
        return None


class StoreCache:
    """The folder of the cache."""

    def __init__(self, folder: Path, limit: int = CACHE_LIMIT) -> None:
        self.folder = folder
        self._limit = limit

    @classmethod
    def of_user(cls, environment: Mapping[str, str]) -> "StoreCache":
        """Where the user's programs keep what can be fetched again."""
        named = environment.get(CACHE_VARIABLE, "")
        try:
            base = Path(named) if named.startswith("/") else Path.home() / ".cache"
        except RuntimeError as fault:
            raise UsageError(f"there is no home folder for a cache; set {CACHE_VARIABLE}.") from fault
        return cls(base / "outweigh" / "stores")

    def find(self, address: str, files: Iterable[StoredFile]) -> Path | None:
        """The copy of a store in this state; None where there is none, or where nothing says what state it is in."""
        path = self._place(address, files)
        if path is None or not (path / ORIGIN_FILE).is_file():
            return None
        os.utime(path)
        return path

    def draft(self, address: str) -> Path:
        """A new folder for a copy, which nobody reads before it is kept."""
        path = self._of(address) / f"{_UNFINISHED}{os.getpid()}-{os.urandom(4).hex()}"
        try:
            path.mkdir(parents=True, mode=0o700)
        except OSError as fault:
            raise UsageError(
                f"the cache {self.folder} cannot be written to: {fault.strerror}. Set {CACHE_VARIABLE} to a folder "
                "where it can be."
            ) from fault
        return path

    def keep(self, draft: Path, origin: FetchedOrigin) -> Path:
        """Make a draft the copy of its state, and remove what is too much."""
        (draft / ORIGIN_FILE).write_bytes(msgspec.json.encode(origin))
        settled = origin.changing_at is None
        path = (self._place(origin.address, origin.files) if settled else None) or draft.with_name(
            f"once-{os.urandom(8).hex()}"
        )
        try:
            draft.rename(path)
        except OSError:  # another process was faster, with the same files
            if not (path / ORIGIN_FILE).is_file():
                raise
            _remove(draft)
        self._evict(path)
        return path

    def link_known(self, address: str, file: StoredFile, target: Path) -> bool:
        """Share a file with an earlier copy of the same store, where the store has the same version of it."""
        if not file.version:
            return False
        for folder in _newest_first(self._of(address)):
            origin = read_origin(folder)
            if origin is not None and origin.changing_at is None and file in origin.files:
                try:
                    target.hardlink_to(folder / file.name)
                except OSError:
                    continue
                return True
        return False

    def artifacts(self, address: str) -> Path:
        """Where the artifacts of a store are."""
        return self._of(address) / ARTIFACTS_FOLDER

    def _of(self, address: str) -> Path:
        return self.folder / _key(address.encode())

    def _place(self, address: str, files: Iterable[StoredFile]) -> Path | None:
        files = tuple(files)
        known = all(file.version for file in files)
        return self._of(address) / _key(msgspec.json.encode(sorted(files))) if known else None

    def _evict(self, kept: Path) -> None:
        copies = [folder for address in _folders(self.folder) for folder in _folders(address)]
        idle = [folder for folder in copies if folder != kept and _idle_seconds(folder) > _IN_USE_SECONDS]
        replaced = [folder for folder in idle if folder.parent == kept.parent and folder.name != ARTIFACTS_FOLDER]
        for folder in replaced:
            _remove(folder)
        sizes = {folder: _size(folder) for folder in copies if folder not in replaced}
        over = sum(sizes.values()) - self._limit
        for folder in sorted(sizes.keys() & set(idle), key=_idle_seconds, reverse=True):
            if over <= 0:
                return
            _remove(folder)
            over -= sizes[folder]


def _remove(folder: Path) -> None:
    from shutil import rmtree  # noqa: PLC0415 - every verdict loads this module, and few remove anything

    rmtree(folder, ignore_errors=True)


def _key(content: bytes) -> str:
    return sha256(content).hexdigest()[:_KEY_DIGITS]


def _folders(folder: Path) -> Iterator[Path]:
    try:
        found = sorted(folder.iterdir())
    except OSError:
        return
    yield from (entry for entry in found if entry.is_dir())


def _newest_first(folder: Path) -> list[Path]:
    copies = (each for each in _folders(folder) if not each.name.startswith(_UNFINISHED))
    return sorted(copies, key=_idle_seconds)


def _idle_seconds(folder: Path) -> float:
    try:
        return time.time() - folder.stat().st_mtime
    except OSError:
        return 0.0


def _size(folder: Path) -> int:
    """Bytes on the disk; a file that several copies share counts once among them.

    Other threads and processes make and rename folders meanwhile: what is gone counts for nothing.
    """
    files = (Path(parent, name) for parent, _, names in os.walk(folder) for name in names)
    return sum(_share(file) for file in files)


def _share(file: Path) -> int:
    try:
        found = file.stat()
    except OSError:
        return 0
    return found.st_size // max(1, found.st_nlink)
