"""Overlay mounts: a tree of any size laid out in a few milliseconds, with all changes in a folder beside it."""

import ctypes
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

from outweigh.workspace.trash import remove_tree

_MNT_DETACH = 2
_MS_NODEV, _MS_NOSUID = 4, 2
# For root, then for root in a user namespace. Workspaces need not survive a power cut, so `volatile` is safe.
_MOUNT_OPTIONS = ("redirect_dir=on,volatile", "userxattr")
# The kernel writes a space in a path as \\040.
_ESCAPED = re.compile(rb"\\([0-7]{3})")


@contextmanager
def overlay_mounted(lower: Path, target: Path, remove: Callable[[Path], None] = remove_tree) -> Iterator[bool]:
    """Mount `lower` at `target` with a writable layer; yields False, without a mount, where overlays do not work."""
    layers = layers_folder(target)
    with suppress(OSError):
        for folder in (layers, layers / "upper", layers / "work"):
            folder.mkdir()
    try:
        done = any(_mount(lower, layers, target, options) for options in _MOUNT_OPTIONS)
        try:
            yield done
        finally:
            if done:
                unmount(target)
    finally:
        remove(layers)


def layers_folder(target: Path) -> Path:
    """The folder beside a mount that holds its changes."""
    return target.with_name(f"{target.name}.layers")


def unmount(target: Path) -> None:
    """Detach the mount at once, even if it is in use."""
    with suppress(OSError):
        _call("umount2", os.fsencode(target), _MNT_DETACH)


def overlay_mounts_below(folder: Path) -> list[Path]:
    """Overlay mounts in a folder, deepest first."""
    found = []
    root = folder.resolve()
    with suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
            before, _, after = line.partition(b" - ")
            place = Path(os.fsdecode(_ESCAPED.sub(lambda code: bytes([int(code[1], 8)]), before.split()[4])))
            if after.startswith(b"overlay ") and root in place.parents:
                found.append(place)
    return sorted(found, key=lambda path: len(path.parts), reverse=True)


def _mount(lower: Path, layers: Path, target: Path, options: str) -> bool:
    """Mount by descriptors: whoever sees the mount can read its options, which must not tell paths of the host."""
    if os.uname().sysname != "Linux":
        return False
    with ExitStack() as opened:
        try:
            lowest, upper, work = (_open(path, opened) for path in (lower, layers / "upper", layers / "work"))
            settings = f"lowerdir={lowest},upperdir={upper},workdir={work},{options}"
            _call("mount", b"overlay", os.fsencode(target), b"overlay", _MS_NODEV | _MS_NOSUID, settings.encode())
        except OSError:
            return False
    return True


def _open(folder: Path, opened: ExitStack) -> str:
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    opened.callback(os.close, descriptor)
    return f"/proc/self/fd/{descriptor}"


@cache
def _system() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: bytes | int) -> None:
    typed = [ctypes.c_ulong(value) if name == "mount" and isinstance(value, int) else value for value in arguments]
    if getattr(_system(), name)(*typed) != 0:
        fault = ctypes.get_errno()
        raise OSError(fault, os.strerror(fault))
