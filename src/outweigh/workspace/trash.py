"""Removes trees, also those that an agent made hard to remove.

`Trash` moves them away at once and deletes them in the background, so that no trial waits for a disk.
"""

import os
import shutil
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Self

from outweigh.process import run_process


def remove_tree(folder: Path) -> None:
    """Remove a tree, whatever it contains; it is fine if there is none.

    What cannot be removed is left for the sweep of the next engine: a run's result does not depend on it.
    """
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        with suppress(OSError):
            _remove_by_force(folder)


def _remove_by_force(folder: Path) -> None:
    """Remove it with `rm`, which handles any depth of nesting; slower, because it takes a process."""
    if os.path.lexists(folder):
        _run("rm", "-rf", folder)
    if os.path.lexists(folder):
        _run("chmod", "-R", folder, "u+rwX")
        _run("rm", "-rf", folder)


def _run(program: str, option: str, folder: Path, *operands: str) -> None:
    run_process([program, option, *operands, "--", str(folder)])


_PAUSE_SECONDS = 0.1
# Far below the system's limit for the arguments of one command.
_BATCH_SIZE = 1000


class Trash:
    """A folder that is emptied in the background, and is empty when the context ends.

    It lies in the engine's scratch folder, so that the next engine finds what a killed one left in it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names = count(1)
        self._closing = Event()
        self._worker = Thread(target=self._keep_emptying, name="trash")

    def __enter__(self) -> Self:
        self._folder.mkdir()
        self._worker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._worker.join()
        with suppress(OSError):  # what could not be removed is removed, or reported, with the scratch folder
            self._folder.rmdir()

    def remove(self, tree: Path) -> None:
        """Move a tree away, whatever it contains, so that its name is free at once; it is fine if there is none."""
        try:
            tree.rename(self._folder / str(next(self._names)))
        except FileNotFoundError:
            return
        except OSError:  # it contains a mount, or is on another file system
            remove_tree(tree)

    def _keep_emptying(self) -> None:
        while not self._closing.wait(_PAUSE_SECONDS):
            self._empty()
        self._empty()

    def _empty(self) -> None:
        """Remove everything with one process, so that the engine's own threads do not spend time on it."""
        trees = list(self._folder.iterdir())
        for first in range(0, len(trees), _BATCH_SIZE):
            some = trees[first : first + _BATCH_SIZE]
            with suppress(OSError):
                run_process(["rm", "-rf", "--", *map(str, some)])
            for tree in some:
                if os.path.lexists(tree):
                    remove_tree(tree)
