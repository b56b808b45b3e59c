"""The files of a tree as git knows them: plain files and links, by name, without any repository's own folder."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path


def files_below(root: Path) -> Iterator[tuple[bytes, os.stat_result]]:
    """Every plain file and link with its status; folders that cannot be read are passed over."""
    waiting = [(os.fsencode(root), b"")]
    while waiting:  # a stack of our own: an agent can nest folders deeper than calls can
        folder, name = waiting.pop()
        for entry in _entries(folder):
            if entry.name == b".git":
                continue
            path = name + entry.name
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                waiting.append((entry.path, path + b"/"))
            elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                yield path, status


def _entries(folder: bytes) -> list[os.DirEntry[bytes]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # closed to us, gone, or a path longer than the system takes
        return []
