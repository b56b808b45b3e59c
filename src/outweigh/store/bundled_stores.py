"""Read the stores of a bundle wherever a store is read: `study.outweigh.zip`, or `study.outweigh.zip/NAME` for one of
several.

They are unpacked into a private temporary folder, once in a process, which is removed when the process ends. Nothing
is written beside the bundle.
"""

import os
from pathlib import Path
from typing import NamedTuple

from outweigh.errors import UsageError, quote_names

BUNDLE_SUFFIX = ".zip"
STORES_FOLDER = "stores"


class UnpackedBundle(NamedTuple):
    """The folder that holds the stores of a bundle, and their names."""

    folder: Path
    names: tuple[str, ...]


_FileState = tuple[str, int, int]
_unpacked: dict[_FileState, UnpackedBundle] = {}
"""By path, time and size of the bundle: one that was replaced is read again."""


def split_bundle_path(path: str | os.PathLike[str]) -> tuple[Path, str | None] | None:
    """The bundle that a path names, and the store in it where it names one; None where it is no path of a bundle."""
    named = Path(path)
    if BUNDLE_SUFFIX not in str(named).lower():
        return None
    if _is_bundle(named):
        return named, None
    return (named.parent, named.name) if _is_bundle(named.parent) else None


def _is_bundle(path: Path) -> bool:
    try:
        return path.suffix.lower() == BUNDLE_SUFFIX and path.is_file()
    except (OSError, ValueError):  # the system refuses the path: whoever reads it says why
        return False


def name_beside_bundle(path: str | os.PathLike[str]) -> str | None:
    """How the names of files about a bundle, or one store of it, begin beside it; None for no path of a bundle."""
    found = split_bundle_path(path)
    if found is None:
        return None
    bundle, name = found
    stem = bundle.stem.removesuffix(".outweigh") or "bundle"
    return str(bundle.with_name(stem if name is None else f"{stem}-{name}"))


def expand_bundle(path: str | os.PathLike[str]) -> list[str]:
    """The path itself; a bundle of several stores stands for each of them."""
    found = split_bundle_path(path)
    if found is None or found[1] is not None:
        return [os.fspath(path)]
    names = unpack_bundle(found[0]).names
    return [os.fspath(path)] if len(names) == 1 else [os.path.join(path, name) for name in names]  # noqa: PTH118


def find_bundled_store(path: str | os.PathLike[str]) -> Path | None:
    """The unpacked folder of the store that a path names; None where the path is none of a bundle."""
    found = split_bundle_path(path)
    if found is None:
        return None
    bundle, name = found
    unpacked = unpack_bundle(bundle)
    if name is None and len(unpacked.names) > 1:
        raise UsageError(
            f"{bundle} holds {len(unpacked.names)} stores, {quote_names(unpacked.names)}; name one of them, as in "
            f"{bundle / unpacked.names[0]}."
        )
    chosen = name or unpacked.names[0]
    if chosen not in unpacked.names:
        raise UsageError(f"{bundle} holds no store {chosen!r}; it holds {quote_names(unpacked.names)}.")
    return unpacked.folder / chosen


def unpack_bundle(path: Path) -> UnpackedBundle:
    """Unpack the stores of a bundle, every file checked by its hash."""
    found = path.stat()
    state = os.path.realpath(path), found.st_mtime_ns, found.st_size
    if state not in _unpacked:
        import atexit  # noqa: PLC0415 - only where a bundle is read
        import shutil  # noqa: PLC0415
        import tempfile  # noqa: PLC0415

        from outweigh.store.bundle import open_bundle  # noqa: PLC0415

        with open_bundle(path) as bundle:
            folder = tempfile.mkdtemp(prefix="outweigh-bundle-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            bundle.unpack(Path(folder), f"{STORES_FOLDER}/")
            _unpacked[state] = UnpackedBundle(Path(folder) / STORES_FOLDER, bundle.manifest.stores)
    return _unpacked[state]


def refuse_bundle(path: Path) -> None:
    """Refuse to write to a bundle."""
    found = split_bundle_path(path)
    if found is not None or is_unpacked(path):
        bundle = "this" if found is None else str(found[0])
        raise UsageError(
            f"{bundle} is a bundle, which is only read. Unpack it with `unzip`, and name one of its folders in "
            f"{STORES_FOLDER}/ to continue with a copy."
        )


def is_unpacked(path: Path) -> bool:
    """Whether a folder holds what was unpacked for reading, where nothing that is written stays."""
    return any(path.is_relative_to(unpacked.folder) for unpacked in _unpacked.values())
