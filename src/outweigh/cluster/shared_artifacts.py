"""The place that lead and hosts of a cluster share for large artifacts: a folder that all have mounted, or an address.

Files lie below the random name of the experiment, and each belongs to one attempt: what is removed of one takes nothing
from another with the same content. The hosts put, the lead fetches and removes. A host keeps its own copy until the
lead has stored the record, so whatever happens here loses nothing.
"""

from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import BoundedSemaphore

from outweigh.cluster.messages import AttemptKey
from outweigh.errors import OutweighError, UsageError, quote_value
from outweigh.store.local_location import LocalLocation
from outweigh.store.remote_location import RemoteLocation
from outweigh.store.store_address import check_address, is_address

Location = LocalLocation | RemoteLocation


def open_place(place: str) -> Location:
    """The place that a suite or a cluster's file names; UsageError where it cannot be one."""
    if is_address(place):
        return RemoteLocation(check_address(place))
    folder = Path(place)
    if not folder.is_absolute():
        raise UsageError(
            f"cluster.artifacts is {quote_value(place)}; name a folder by the whole path that it has on all machines, "
            "or an address such as s3://bucket/artifacts."
        )
    return LocalLocation(folder)


class SharedArtifacts:
    """The files of one experiment. Every method may be called by any thread, and raises OutweighError."""

    def __init__(self, location: Location, experiment: str) -> None:
        self._location = location
        self._experiment = experiment
        self._turn = BoundedSemaphore(location.workers)

    @property
    def name(self) -> str:
        """What people know the place by."""
        return f"{self._location.name}/{self._experiment}"

    def put(self, key: AttemptKey, digest: str, content: Path) -> None:
        """Make an artifact available; when this returns, all of it is there."""
        with self._turn:
            self._location.put(self._file(key, digest), content)

    def fetch(self, key: AttemptKey, digest: str) -> bytes:
        """An artifact that a host has put; UsageError where it is missing, and where it is not what it was."""
        with TemporaryDirectory(prefix="outweigh-artifact-") as folder:
            target = Path(folder) / "content"
            with self._turn:
                self._location.fetch(self._file(key, digest), target)
            content = target.read_bytes()
        if sha256(content).hexdigest() != digest:
            raise UsageError(f"{self.name}/{self._file(key, digest)} does not match its hash.")
        return content

    def remove(self, key: AttemptKey, digests: Iterable[str]) -> None:
        """The artifacts of an attempt are stored, or nobody wants them. What cannot be removed is left to `sweep`."""
        for digest in digests:
            with suppress(OutweighError), self._turn:
                self._location.remove(self._file(key, digest))

    def sweep(self) -> int:
        """Remove everything of this experiment; how many files there were."""
        files = self._location.files_below(self._experiment)
        for file in files:
            self._location.remove(file.name)
        if isinstance(self._location, LocalLocation):
            with suppress(OSError):
                (self._location.folder / self._experiment).rmdir()
        return len(files)

    def _file(self, key: AttemptKey, digest: str) -> str:
        attempt = sha256(f"{key[0]}\n{key[1]}".encode()).hexdigest()[:32]
        return f"{self._experiment}/{attempt}-{digest}"
