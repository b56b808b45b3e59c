"""Where trials are laid out: a temporary folder that the next engine finds, should this one be killed.

It is not in the store: agents look for settings in the folders above their workspace, and what lies there is the
user's own project as often as not.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir

from outweigh.adapters.workspaces.overlay import mounts_below, unmount
from outweigh.adapters.workspaces.removal import remove
from outweigh.errors import UsageError

NOTE = "scratch"
"""The file of a store that says where its engine lays out trials. Read and written under the store's lock."""

_OURS = re.compile(r"outweigh-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch:
    """Where an engine works, and how it gets rid of what it no longer needs there."""

    folder: Path
    remove: Callable[[Path], None] = remove


@contextmanager
def scratch_folder(store: Path) -> Iterator[Path]:
    """A new folder for this engine alone, noted in the store before it is made."""
    folder = Path(gettempdir()).resolve() / f"outweigh-{token_hex(8)}"
    note = store / NOTE
    try:
        note.write_text(f"{folder}\n")
        folder.mkdir(mode=0o700)
    except OSError as fault:
        raise UsageError(f"{fault.filename} cannot be made: {fault.strerror}. Make room, or set TMPDIR.") from None
    try:
        yield folder
    finally:
        _clear(folder)
        note.unlink(missing_ok=True)


def sweep_scratch(store: Path) -> str | None:
    """Remove the folder of an engine that could not do it itself; says which one it was."""
    note = store / NOTE
    try:
        folder = Path(note.read_text().strip())
    except (OSError, ValueError):
        return None
    # A store can come from anywhere; nothing is removed but what one of our engines made.
    found = bool(_OURS.fullmatch(folder.name)) and folder.is_dir() and not folder.is_symlink()
    if found:
        _clear(folder)
    note.unlink()
    return str(folder) if found else None


def _clear(folder: Path) -> None:
    for mount in mounts_below(folder):
        unmount(mount)
    with suppress(OSError):
        remove(folder)
