"""One writer per store."""

import os
from pathlib import Path

import pytest

from outweigh.errors import UsageError
from outweigh.store.store_lock import StoreLock

OPEN_FILES = Path("/proc/self/fd")


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="open files are listed on Linux only")
def test_whoever_is_refused_the_lock_holds_no_file_open(tmp_path: Path) -> None:
    held = StoreLock.take(tmp_path)
    before = set(os.listdir(OPEN_FILES))

    with pytest.raises(UsageError, match="is in use by process"):
        StoreLock.take(tmp_path)

    assert set(os.listdir(OPEN_FILES)) == before
    held.release()
