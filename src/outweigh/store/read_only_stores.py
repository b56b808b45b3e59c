"""Stores that are only read, refused wherever something would be written to one."""

from pathlib import Path

from outweigh.errors import UsageError
from outweigh.store.bundled_stores import refuse_bundle
from outweigh.store.dataset_manifest import refuse_dataset
from outweigh.store.store_address import check_address, is_address, refuse_address
from outweigh.store.store_cache import read_origin
from outweigh.store.unfinished_copy import refuse_unfinished_copy


def refuse_read_only(path: Path) -> None:
    """Refuse to write to a bundle, a store elsewhere or a copy that is not finished; a file goes by its folder."""
    refuse_address(path, "the store")
    refuse_bundle(path)
    for folder in (path, path.parent):
        if (origin := read_origin(folder)) is not None:
            raise _read_only(origin.address)
    refuse_unfinished_copy(path, str(path))


def require_local_store(name: str) -> Path:
    """The path of a store that is written to; UsageError where it is an address or a dataset."""
    if is_address(name):
        raise _read_only(check_address(name))
    refuse_dataset(Path(name))
    return Path(name)


def _read_only(address: str) -> UsageError:
    return UsageError(
        f"{address} is a store elsewhere, which is only read. Copy it to this machine with `outweigh store copy "
        f"{address} FOLDER`, continue there, and copy it back."
    )
