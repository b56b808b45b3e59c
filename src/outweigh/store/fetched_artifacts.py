"""The artifacts of a store that lies elsewhere, each fetched when it is first asked for."""

import os
from hashlib import sha256
from pathlib import Path

from outweigh.errors import EvidenceError, OutweighError
from outweigh.store.artifact_folder import ARTIFACTS_FOLDER, ArtifactFolder
from outweigh.store.durable_files import make_folder
from outweigh.store.store_cache import StoreCache, read_origin


def artifacts_of(folder: Path) -> ArtifactFolder:
    """What was stored with the runs of a store, wherever it lies."""
    origin = read_origin(folder)
    if origin is None:
        return ArtifactFolder.of_store(folder)
    return FetchedArtifacts(StoreCache.of_user(os.environ).artifacts(origin.address), origin.address)


class FetchedArtifacts(ArtifactFolder):
    """Reads from the cache, and fetches what is not there yet. Nothing is kept here by an engine."""

    def __init__(self, folder: Path, address: str) -> None:
        super().__init__(folder)
        self._cache = folder
        self._address = address

    def exists(self) -> bool:
        """Whether there may be any: they are asked for one by one."""
        return True

    def read(self, digest: str) -> bytes:
        """The content with this hash; one that is missing or no longer matches is refused."""
        path = self._cache / digest[:2] / digest
        name = f"{ARTIFACTS_FOLDER}/{digest[:2]}/{digest}"
        try:
            if not path.is_file():
                self._fetch(name, path)
            content = path.read_bytes()
        except (OSError, OutweighError) as fault:
            raise EvidenceError(f"the artifact {self._address}/{name} cannot be read: {fault}") from fault
        if sha256(content).hexdigest() != digest:
            path.unlink(missing_ok=True)  # so that one that was put right is fetched again
            raise EvidenceError(
                f"the artifact {self._address}/{name} does not match its hash: it was damaged or changed."
            )
        return content

    def _fetch(self, name: str, path: Path) -> None:
        from outweigh.store.remote_location import RemoteLocation  # noqa: PLC0415 - only where one is fetched

        make_folder(path.parent)
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            RemoteLocation(self._address).fetch(name, unfinished)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
