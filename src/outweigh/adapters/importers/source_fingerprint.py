"""The hash of everything below a path: the same files under the same names, the same fingerprint."""

from hashlib import sha256
from pathlib import Path

from outweigh.adapters.importers.folders import files_below
from outweigh.adapters.importers.source_text import opened

_CHUNK_BYTES = 2**20


def source_sha256(path: Path) -> str:
    """Reads each file once, in memory that does not grow with it. Where the folder stands does not matter."""
    whole = sha256()
    if path.is_dir():
        for file in files_below(path):
            whole.update(file.relative_to(path).as_posix().encode("utf-8", "surrogateescape") + b"\0")
            whole.update(_file_digest(file))
    else:
        whole.update(_file_digest(path))
    return whole.hexdigest()


def _file_digest(path: Path) -> bytes:
    found = sha256()
    with opened(path) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            found.update(chunk)
    return found.digest()
