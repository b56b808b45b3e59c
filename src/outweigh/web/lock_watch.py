"""Whether an engine is at work in a store, without ever touching its lock: to try it would be to take it."""

import os
import socket
from pathlib import Path

import msgspec

from outweigh.adapters.stores.store_lock import NAME, Holder

_KERNEL_LOCKS = Path("/proc/locks")


def is_at_work(folder: Path) -> bool:
    """What the kernel says of the lock; elsewhere, whether the process that signed it is alive."""
    try:
        lock = folder / NAME
        inode, holder = lock.stat().st_ino, msgspec.json.decode(lock.read_bytes(), type=Holder)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return False
    try:
        lines = _KERNEL_LOCKS.read_text().splitlines()
    except OSError:
        return holder.host == socket.gethostname() and _lives(holder.pid)
    return any(f":{inode} " in line for line in lines if " FLOCK " in line)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
