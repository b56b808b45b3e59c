"""Claims about what a location says of its files."""

from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from outweigh.errors import UsageError
from outweigh.store.remote_location import RemoteLocation


class SizelessFiles(MemoryFileSystem):  # type: ignore[misc]  # it has no type
    """Files whose sizes are not told, as some web servers have them."""

    protocol = "sizeless"

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        return [{**info, "size": None} for info in super().ls(path, detail=True, **options)]


def test_a_file_whose_size_is_not_told_is_refused_and_not_taken_for_an_empty_one() -> None:
    fsspec.register_implementation("sizeless", SizelessFiles, clobber=True)
    files, root = fsspec.core.url_to_fs("sizeless://shelf/store")
    with files.open(f"{root}/runs.jsonl", "wb") as file:
        file.write(b"a record\n")

    with pytest.raises(UsageError, match=r"runs\.jsonl has a size that the location does not tell"):
        RemoteLocation("sizeless://shelf/store").entries("")
