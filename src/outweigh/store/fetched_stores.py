"""Read stores that lie elsewhere: what a reader needs of one is fetched into the cache, and read there.

That is everything that makes a store what it is, without artifacts: those are fetched one by one when they are asked
for. A reader works on one folder of the cache, so what it reads belongs together. Nothing is ever written to an
address here.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree
from typing import NamedTuple

from outweigh.errors import EvidenceError, OutweighError, UsageError, quote_names
from outweigh.ports.stores import FolderEntries, StoredFile, StoreLocation
from outweigh.store.find_stores import MAX_FOLDER_DEPTH, SKIPPED_FOLDERS, is_store_file
from outweigh.store.parallel_calls import call_all
from outweigh.store.records import RECORDS_SUFFIX
from outweigh.store.remote_location import RemoteLocation
from outweigh.store.store_address import check_address, join_address, split_address
from outweigh.store.store_cache import FetchedOrigin, StoreCache
from outweigh.store.store_files import is_kept_file, only_grows
from outweigh.store.unfinished_copy import UNFINISHED_COPY_FILE

_ATTEMPTS = 3
"""How often a store is fetched anew because it changed on the way."""

_LISTED = 10


class FetchedStore(NamedTuple):
    """A store elsewhere, and the folder of the cache with what was fetched of it."""

    address: str
    folder: Path


OnFault = Callable[[str, OutweighError], None]
"""Told of a store that cannot be fetched, by its address."""


def fetch_named(address: str) -> Path:
    """The folder, or the single file of records, that stands for an address, as it is now."""
    address = check_address(address)
    return _fetch_file(address) if address.endswith(RECORDS_SUFFIX) else _fetch_only(address)


def find_only_store(address: str) -> str:
    """The address of the store that an address stands for: itself, or the only store below it.

    A single file of records stands for itself.
    """
    if address.endswith(RECORDS_SUFFIX):
        return check_address(address)
    location = RemoteLocation(address)
    found = find_stores_in(location)
    if len(found) > 1:
        shown = "".join(f"\n  {join_address(location.name, each)}" for each in found[:_LISTED])
        more = f"\n  and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
        raise UsageError(f"{location.name} holds {len(found)} stores. Name one:{shown}{more}")
    if not found:
        raise UsageError(f"there is no store at {location.name}.")
    return join_address(location.name, found[0])


def fetch_stores(address: str, on_fault: OnFault) -> list[FetchedStore]:
    """Every store at or below an address as it is now, in order of their addresses."""
    location = RemoteLocation(address)
    found = find_stores_in(location)
    if not found:
        raise UsageError(f"there is no store at {location.name}.")

    def fetch(name: str) -> FetchedStore | OutweighError:
        try:
            return FetchedStore(join_address(location.name, name), fetch_store(location, name))
        except OutweighError as fault:
            return fault

    stores = []
    for name, fetched in zip(found, call_all(location.workers, fetch, found), strict=True):
        if isinstance(fetched, OutweighError):
            on_fault(join_address(location.name, name), fetched)
        else:
            stores.append(fetched)
    return stores


def find_stores_in(location: StoreLocation) -> list[str]:
    """The names of the folders of a location that are stores, in order; empty for the location itself."""
    level, found = [""], []
    for _ in range(MAX_FOLDER_DEPTH + 1):
        below = []
        for folder, entries in zip(level, call_all(location.workers, location.entries, level), strict=True):
            if entries is not None and any(is_store_file(_last(file.name)) for file in entries.files):
                found.append(folder)
            elif entries is not None:
                names = (each for each in entries.folders if each not in SKIPPED_FOLDERS)
                below += [f"{folder}/{each}" if folder else each for each in names]
        level = below
    return sorted(found)


def fetch_store(location: StoreLocation, name: str) -> Path:
    """The files of a store as they are now; one that is written to meanwhile as it was at one moment."""
    address = join_address(location.name, name)
    cache = StoreCache.of_user(os.environ)
    before = _kept_files(location.entries(name), address)
    for _ in range(_ATTEMPTS):
        moment = datetime.now(UTC)
        if (known := cache.find(address, before)) is not None:
            return known
        with ExitStack() as unkept:
            draft = cache.draft(address)
            unkept.callback(rmtree, draft, ignore_errors=True)
            _fill(draft, location, name, address, before)
            after = _kept_files(location.entries(name), address)
            if after == before:
                return cache.keep(draft, FetchedOrigin(address=address, files=before))
            if _has_grown(before, after) and _holds(draft, before):
                _cut(draft, before, after)
                said = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
                return cache.keep(draft, FetchedOrigin(address=address, files=before, changing_at=said))
        before = after
    raise EvidenceError(
        f"{address} changes faster than it can be read: files were replaced while they were fetched, {_ATTEMPTS} "
        "times. Try again when nothing is copied to it."
    )


def _fetch_only(address: str) -> Path:
    location = RemoteLocation(address)
    entries = location.entries("")
    if entries is None:
        raise UsageError(f"there is no store at {address}.")
    if any(is_store_file(file.name) for file in entries.files):
        return fetch_store(location, "")
    below = find_stores_in(location)
    stores = f" It holds the stores {quote_names(below)}; name one of them." if below else ""
    raise UsageError(f"there is no store at {address}.{stores}")


def _fetch_file(address: str) -> Path:
    """A single file of records, among the other files of its store."""
    folder, name = split_address(address)
    file = fetch_store(RemoteLocation(folder), "") / name
    if not file.is_file():
        raise UsageError(f"there is no {address}; name a {RECORDS_SUFFIX} file of run records, or a store.")
    return file


def _kept_files(entries: FolderEntries | None, address: str) -> tuple[StoredFile, ...]:
    """What makes a store what it is, by the files' names in it."""
    if entries is None:
        raise UsageError(f"there is no store at {address}.")
    files = (file._replace(name=_last(file.name)) for file in entries.files)
    return tuple(file for file in files if is_kept_file(file.name) or file.name == UNFINISHED_COPY_FILE)


def _fill(draft: Path, location: StoreLocation, name: str, address: str, files: Sequence[StoredFile]) -> None:
    cache = StoreCache.of_user(os.environ)

    def bring(file: StoredFile) -> None:
        target = draft / file.name
        if not cache.link_known(address, file, target):
            location.fetch(f"{name}/{file.name}" if name else file.name, target)

    for _ in call_all(location.workers, bring, files):
        pass


def _has_grown(before: Iterable[StoredFile], after: Iterable[StoredFile]) -> bool:
    """Whether nothing happened to a store but that logs became longer, and new files came."""
    now = {file.name: file for file in after}
    return all(
        now.get(file.name) == file or (only_grows(file.name) and file.name in now and now[file.name].size >= file.size)
        for file in before
    )


def _holds(draft: Path, files: Iterable[StoredFile]) -> bool:
    return all((draft / file.name).stat().st_size >= file.size for file in files)


def _cut(draft: Path, before: Iterable[StoredFile], after: Sequence[StoredFile]) -> None:
    """Leave of each log what was there before, up to its last whole line."""
    for file in before:
        if file in after:
            continue
        path = draft / file.name
        content = path.read_bytes()[: file.size]
        path.unlink()
        path.write_bytes(content[: content.rfind(b"\n") + 1])


def _last(name: str) -> str:
    return name.rpartition("/")[2]
