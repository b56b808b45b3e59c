"""One writer per store: a lock that the kernel releases when the process that holds it dies."""

import fcntl
import os
import socket
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from outweigh.errors import UsageError
from outweigh.process import is_process_alive

LOCK_FILE = "lock"


class LockHolder(msgspec.Struct, frozen=True, kw_only=True):
    """Who wrote the lock file last; it holds the lock only while the kernel says so."""

    pid: int
    host: str
    started_at: datetime

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} (since {self.started_at:%Y-%m-%d %H:%M:%S} UTC)"


class StoreLock:
    """A held lock. The file stays when it is released: removing it could take a lock away from the next holder."""

    def __init__(self, file: int) -> None:
        self._file = file

    @classmethod
    def take(cls, folder: Path) -> "StoreLock":
        """Take the lock of a folder, or refuse with the name of who holds it."""
        path = folder / LOCK_FILE
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _write_holder(file)
        except BlockingIOError as fault:
            os.close(file)
            raise UsageError(
                f"{folder} is in use by {_read_holder(path)}. "
                "Wait for it to end or stop it, or name another folder for this experiment."
            ) from fault
        except OSError:
            os.close(file)
            raise
        return cls(file)

    def release(self) -> None:
        """Let the next one in."""
        os.close(self._file)


def _write_holder(file: int) -> None:
    holder = LockHolder(pid=os.getpid(), host=socket.gethostname(), started_at=datetime.now(UTC))
    os.ftruncate(file, 0)
    os.pwrite(file, msgspec.json.encode(holder) + b"\n", 0)


def _read_holder(path: Path) -> str:
    try:
        return str(msgspec.json.decode(path.read_bytes(), type=LockHolder))
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        # Between taking the lock and signing it there is a moment without a name.
        return "another process"


_KERNEL_LOCKS = Path("/proc/locks")


def is_engine_running(folder: Path) -> bool:
    """Whether the kernel lists a lock on the store; without that list, whether the process that wrote the lock file is
    alive.
    """
    try:
        lock = folder / LOCK_FILE
        inode, holder = lock.stat().st_ino, msgspec.json.decode(lock.read_bytes(), type=LockHolder)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return False
    try:
        lines = _KERNEL_LOCKS.read_text().splitlines()
    except OSError:
        return holder.host == socket.gethostname() and is_process_alive(holder.pid)
    return any(f":{inode} " in line for line in lines if " FLOCK " in line)
