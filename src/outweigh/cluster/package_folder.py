"""The packages of suites on a host's disk, each under its hash."""

from hashlib import sha256
from pathlib import Path

from outweigh.cluster.messages import SuitePackage


class PackageFolder:
    """A folder of packages. They come in parts, one after the other, and run code: none is there that is not whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, digest: str) -> Path:
        """Where the package with this hash is, or goes."""
        return self._folder / f"{digest}.tar"

    def has(self, package: SuitePackage) -> bool:
        """Whether it is here; whether it is what its name says is looked at before it is opened."""
        return self.path(package.sha256).is_file()

    def take_part(self, digest: str, offset: int, content: bytes, size: int) -> bool:
        """Take a part of a package; whether the whole of it is here now."""
        path = self.path(digest)
        if path.is_file():
            return True
        path.parent.mkdir(exist_ok=True)
        part = path.with_suffix(".part")
        with part.open("r+b" if offset else "wb") as stream:
            stream.seek(offset)
            stream.write(content)
        if offset + len(content) < size:
            return False
        if sha256(part.read_bytes()).hexdigest() != digest:
            part.unlink()
            return False
        part.replace(path)
        return True

    def remove_if_changed(self, digest: str) -> bool:
        """Remove a package that is not what its name says; whether it was one."""
        path = self.path(digest)
        if sha256(path.read_bytes()).hexdigest() == digest:
            return False
        path.unlink()
        return True
