"""One writer per store."""

import os
import resource
from pathlib import Path

import pytest

from outweigh.errors import UsageError
from outweigh.store.run_store import FolderRunStore
from outweigh.store.store_lock import LOCK_FILE, StoreLock

OPEN_FILES = Path("/proc/self/fd")


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="open files are listed on Linux only")
def test_whoever_is_refused_the_lock_holds_no_file_open(tmp_path: Path) -> None:
    held = StoreLock.take(tmp_path)
    before = set(OPEN_FILES.iterdir())

    with pytest.raises(UsageError, match="is in use by process"):
        StoreLock.take(tmp_path)

    assert set(OPEN_FILES.iterdir()) == before
    held.release()


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="open files are listed on Linux only")
def test_whoever_cannot_sign_the_lock_holds_no_file_open(tmp_path: Path) -> None:
    before = set(OPEN_FILES.iterdir())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            StoreLock.take(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert set(OPEN_FILES.iterdir()) == before


def test_the_holder_is_named_where_the_one_before_left_a_longer_name(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).write_bytes(b"x" * 1000)
    held = StoreLock.take(tmp_path)

    with pytest.raises(UsageError, match=f"is in use by process {os.getpid()} "):
        StoreLock.take(tmp_path)

    held.release()


def test_a_store_that_could_not_be_opened_is_free_for_the_next(tmp_path: Path) -> None:
    in_the_way = tmp_path / "runs-engine.jsonl"
    in_the_way.mkdir()

    with pytest.raises(UsageError, match="cannot be used for runs"):
        FolderRunStore.open(tmp_path)

    in_the_way.rmdir()
    FolderRunStore.open(tmp_path).close()
