"""Folders in the temporary folder that say whose they are, so that those of killed processes are found and removed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from outweigh.process import is_process_alive
from outweigh.workspace.trash import remove_tree


@contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """A new folder, which is removed afterwards. What killed processes left of the same purpose is removed first."""
    for _, left in abandoned_folders(purpose):
        remove_tree(left)
    with TemporaryDirectory(prefix=f"{_prefix(purpose)}{os.getpid()}-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def abandoned_folders(purpose: str) -> Iterator[tuple[int, Path]]:
    """The scratch folders of processes that are no more, with their process ids."""
    for folder in Path(gettempdir()).glob(f"{_prefix(purpose)}*"):
        pid = folder.name.removeprefix(_prefix(purpose)).partition("-")[0]
        if pid.isdecimal() and not is_process_alive(int(pid)):
            yield int(pid), folder


def _prefix(purpose: str) -> str:
    return f"outweigh-{purpose}-"
