"""Stores at an address: read and written through fsspec, with whatever package knows the address's scheme.

Credentials are left to those packages, and what they say is shown without passwords and keys.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from outweigh.errors import OutweighError, UsageError, requires_extra
from outweigh.model.redact import find_keys, redact_passwords
from outweigh.ports.stores import FolderEntries, StoredFile
from outweigh.store.store_address import check_address, join_address, scheme_of

REMOTE_EXTRA = "remote"

_TAGS = ("ETag", "etag", "md5Hash", "generation", "version_id")
"""Under these names packages say what changes with the content of a file."""
_TIMES = ("LastModified", "last_modified", "mtime", "updated", "modified", "created")
"""And under these, when it was written last."""
_SETTLED_SECONDS = 3.0
"""Some locations count time in seconds: a file that was written just now may change and keep its time."""
_OBJECT_STORES = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "ossfs", "memory"})
"""Where a file appears when all of it was sent; elsewhere it is sent under another name first."""
_UNSENT = ".{name}.unsent"
_WORKERS = 8
_LONGEST_REASON = 300

_Info = Mapping[str, Any]


class RemoteLocation:
    """A folder at an address."""

    def __init__(self, address: str) -> None:
        self.name = check_address(address)
        self._scheme = scheme_of(self.name)
        with self._explained(self.name):
            self._files, self._root = _connect(self.name, self._scheme)
        self.workers = _WORKERS if getattr(self._files, "async_impl", False) else 1

    def entries(self, folder: str) -> FolderEntries | None:
        """What is in a folder as it is now; None where there is nothing, or a file."""
        path = self._path(folder)
        with self._explained(join_address(self.name, folder)):
            self._files.invalidate_cache()
            try:
                infos = self._files.ls(path, detail=True)
            except (FileNotFoundError, NotADirectoryError):
                return None
        found = [info for info in infos if _path_of(info) != _trimmed(path)]
        if not found:
            return None
        files = tuple(sorted(self._stored(info) for info in found if info["type"] == "file"))
        folders = (_path_of(info).rpartition("/")[2] for info in found if info["type"] == "directory")
        return FolderEntries(files, tuple(sorted(folders)))

    def files_below(self, folder: str) -> Sequence[StoredFile]:
        """Every file in a folder and in those below it."""
        with self._explained(join_address(self.name, folder)):
            self._files.invalidate_cache()
            try:
                infos = self._files.find(self._path(folder), detail=True)
            except FileNotFoundError:
                return ()
        return sorted(self._stored(info) for info in infos.values() if info["type"] == "file")

    def fetch(self, name: str, target: Path) -> None:
        """Download a file."""
        with self._explained(join_address(self.name, name)):
            self._files.get_file(self._path(name), str(target))

    def put(self, name: str, source: Path) -> None:
        """Upload a file."""
        path = self._path(name)
        folder, _, last = path.rpartition("/")
        with self._explained(join_address(self.name, name)):
            if self._scheme in _OBJECT_STORES:
                self._files.put_file(str(source), path)
                return
            unsent = f"{folder}/{_UNSENT.format(name=last)}"
            self._files.makedirs(folder, exist_ok=True)
            self._files.put_file(str(source), unsent)
            self._files.mv(unsent, path)

    def remove(self, name: str) -> None:
        """Remove a file."""
        with self._explained(join_address(self.name, name)):
            self._files.rm_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{_trimmed(self._root)}/{name}" if name else self._root

    def _stored(self, info: _Info) -> StoredFile:
        name = _path_of(info).removeprefix(_trimmed(self._root)).lstrip("/")
        if info["size"] is None:  # 0 would cut the file to nothing
            raise UsageError(
                f"{join_address(self.name, name)} has a size that the location does not tell, so an incomplete copy "
                "would go unnoticed. Copy the store to a folder with another program, and name the folder."
            )
        return StoredFile(name, int(info["size"]), _version(info))

    @contextmanager
    def _explained(self, address: str) -> Iterator[None]:
        """Packages raise what they like, so any failure becomes one paragraph about the address."""
        try:
            yield
        except OutweighError:
            raise
        except FileNotFoundError as fault:
            raise UsageError(f"there is nothing at {address}.") from fault
        except PermissionError as fault:
            raise UsageError(
                f"{address} may not be read or written with these credentials ({_reason(fault)}). outweigh takes them "
                "from where other programs find them: the environment, a profile, or an SSH agent."
            ) from fault
        except Exception as fault:
            raise UsageError(f"{address} cannot be reached: {_reason(fault)}.") from fault


def _connect(address: str, scheme: str) -> tuple[Any, str]:
    """What reads and writes files at an address, and the path that it knows it by."""
    with requires_extra(f"a store at {scheme}://", REMOTE_EXTRA):
        from fsspec.core import url_to_fs  # noqa: PLC0415 - needs the extra
        from fsspec.registry import get_filesystem_class  # noqa: PLC0415
    if scheme in ("sftp", "ssh"):
        return _connect_by_ssh(address)
    try:
        get_filesystem_class(scheme)
    except ImportError as fault:  # names the package that knows the scheme
        raise UsageError(f"{scheme}:// needs a package that is not installed. {str(fault).rstrip('.')}.") from fault
    except ValueError as fault:
        raise UsageError(
            f"{scheme}:// is no scheme that fsspec or an installed package knows. Name a folder, or an address such as "
            "s3://bucket/demo or sftp://host/srv/demo."
        ) from fault
    files, root = url_to_fs(address)
    return files, str(root)


def _connect_by_ssh(address: str) -> tuple[Any, str]:
    with requires_extra("a store at sftp://", REMOTE_EXTRA):
        from outweigh.store.ssh_files import connect_by_ssh  # noqa: PLC0415 - needs the extra

    return connect_by_ssh(address)


def _path_of(info: _Info) -> str:
    return _trimmed(str(info["name"]))


def _trimmed(path: str) -> str:
    return path.rstrip("/")


def _version(info: _Info) -> str:
    """What changes with the content of a file; empty where nothing does that can be relied on."""
    tags = [str(info[key]) for key in _TAGS if info.get(key)]
    if tags:
        return " ".join(tags)
    moment = next((info[key] for key in _TIMES if info.get(key)), None)
    if moment is None:
        return ""
    seconds = moment.timestamp() if isinstance(moment, datetime) else moment
    if isinstance(seconds, int | float) and seconds > time.time() - _SETTLED_SECONDS:
        return ""
    return str(moment)


def _reason(fault: Exception) -> str:
    """What a package says about a failure: one line, without passwords and keys."""
    lines = redact_passwords(str(fault)).strip().splitlines()
    announces = bool(lines) and lines[0].endswith(":")  # the others say what it is about
    first = " ".join(lines if announces else lines[:1])
    said = first.rstrip(".")[:_LONGEST_REASON] or type(fault).__name__
    return type(fault).__name__ if next(find_keys(said.encode(errors="replace"), {}), None) is not None else said
