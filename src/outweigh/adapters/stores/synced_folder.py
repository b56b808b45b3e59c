"""Folder entries that survive a power cut: a file is only found again when its folder was flushed too."""

import os
from pathlib import Path


def make_folder(folder: Path) -> None:
    """Make the folder and what is missing above it, each entry durable."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make the entries of a folder durable: new files, renames, removals."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
