"""A new session keyring for what a sandbox starts. Keys that the kernel holds for the caller's session (of Kerberos,
or of encrypted folders) are used by the kernel for every process of that session, whether or not it may list them.
"""

import ctypes
import errno
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from outweigh.ports.sandboxes import SandboxError
from outweigh.sandbox.seccomp import machine_architecture

_KEYCTL_NUMBERS = {"x86_64": 250, "aarch64": 219}
_JOIN_SESSION_KEYRING = 1
# A kernel without keys, or one that lets this process have none.
_NO_KEYS = (errno.ENOSYS, errno.EPERM, errno.EACCES, errno.EOPNOTSUPP)

T = TypeVar("T")


def run_with_new_keyring(work: Callable[[], T], interrupt: Callable[[], None]) -> T:
    """Do something in a thread that has an empty session keyring; processes that it starts inherit that one.

    The thread is new, because a thread cannot return to the keyring that it left, and lasts until the work is done:
    a sandbox that dies with its parent dies with the thread that started it. `interrupt` must make the work end; it is
    called when waiting for it is interrupted (Ctrl-C).
    """

    def join_and_work() -> T:
        _join_new_keyring()
        return work()

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="sandbox") as thread:
        doing = thread.submit(join_and_work)
        try:
            return doing.result()
        except BaseException:
            if not doing.done():
                interrupt()
            raise


def _join_new_keyring() -> None:
    architecture = machine_architecture()
    if architecture is None:
        return
    number = _KEYCTL_NUMBERS[architecture.name]
    if _system().syscall(ctypes.c_long(number), ctypes.c_long(_JOIN_SESSION_KEYRING), None) >= 0:
        return
    fault = ctypes.get_errno()
    if fault not in _NO_KEYS:
        raise SandboxError(f"the sandbox cannot be given its own session keyring: {os.strerror(fault)}.")


@cache
def _system() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
