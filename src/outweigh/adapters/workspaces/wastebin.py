"""Trees that nobody needs any more: out of the way at once, gone a moment later, so that no trial waits for a disk."""

from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Self

from outweigh.adapters.workspaces.removal import remove
from outweigh.apart import run_apart

_PAUSE_SECONDS = 0.1
# Far below what the system takes as the words of one command.
_MOST_AT_ONCE = 1000


class Wastebin:
    """A folder that is emptied in the background, and empty when it is left.

    It lies in the engine's own scratch folder: what a killed engine leaves in it is found like everything else.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names = count(1)
        self._closing = Event()
        self._emptier = Thread(target=self._keep_emptying, name="wastebin")

    def __enter__(self) -> Self:
        self._folder.mkdir()
        self._emptier.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._emptier.join()
        with suppress(OSError):  # what could not be removed goes with the scratch folder, or is reported there
            self._folder.rmdir()

    def remove(self, tree: Path) -> None:
        """Take a tree away, whatever is in it; when this returns, its name is free. Nothing there is fine."""
        try:
            tree.rename(self._folder / str(next(self._names)))
        except FileNotFoundError:
            return
        except OSError:  # a mount is in it, or it lies on another disk
            remove(tree)

    def _keep_emptying(self) -> None:
        while not self._closing.wait(_PAUSE_SECONDS):
            self._empty()
        self._empty()

    def _empty(self) -> None:
        """One process for all that has gathered: it works beside the engine, not in its stead."""
        trees = list(self._folder.iterdir())
        for first in range(0, len(trees), _MOST_AT_ONCE):
            some = trees[first : first + _MOST_AT_ONCE]
            with suppress(OSError):
                run_apart(["rm", "-rf", "--", *map(str, some)])
            for tree in some:
                if tree.exists():
                    remove(tree)
