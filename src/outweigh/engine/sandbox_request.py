"""What a run asks of its sandbox and is held to.

The request built from the suite's settings, egress to allowed hosts (ports and proxy variables), and the disk
quota.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from time import monotonic

import msgspec

from outweigh.engine.task_dependencies import dependency_mounts
from outweigh.model.suite import SandboxSpec
from outweigh.model.task import Task
from outweigh.ports.gateways import HostAccess
from outweigh.ports.sandboxes import ForwardedPort, ReadyImage, Sandbox, SandboxRequest


def limit_to_task(spec: SandboxSpec, task: Task, image: ReadyImage | None) -> SandboxSpec:
    """The settings for a task: where it runs in its own image, the limits that it states hold too."""
    own = task.image
    if own is None or image is None:
        return spec
    return msgspec.structs.replace(
        spec, memory_mb=_least(spec.memory_mb, own.memory_mb), disk_mb=_least(spec.disk_mb, own.storage_mb)
    )


def _least(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)


def build_sandbox_request(
    spec: SandboxSpec,
    *,
    workspace: Path,
    home: Path,
    label: str,
    cancel: Event,
    ports: tuple[ForwardedPort, ...],
    image: ReadyImage | None = None,
    task: Task | None = None,
) -> SandboxRequest:
    """A request for a sandbox over folders that exist already. `image` is that of the task."""
    return SandboxRequest(
        workspace=workspace,
        home=home,
        label=label,
        read_only=tuple(spec.read_only),
        ports=ports,
        image=spec.image if image is None else None,
        memory_mb=spec.memory_mb,
        processes=spec.processes,
        cancel=cancel,
        mounts=() if task is None else dependency_mounts(task),
        disk_mb=spec.disk_mb,
        cpus=None if task is None or task.image is None else task.image.cpus,
        task_image=image,
        writable_system=spec.writable_system and image is not None,
    )


_LOCALHOST = "127.0.0.1"
_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@dataclass(frozen=True, slots=True)
class RunEgress:
    """One run's access to the hosts that the suite allows; none where it allows no hosts."""

    hosts: HostAccess | None

    @property
    def ports(self) -> tuple[ForwardedPort, ...]:
        """The ports that a sandbox must forward."""
        return () if self.hosts is None else (self.hosts.proxy_port(),)

    def variables(self, sandbox: Sandbox) -> dict[str, str]:
        """The proxy variables, in lower and upper case: some programs read only one of them."""
        if self.hosts is None:
            return {}
        proxy = f"http://{_LOCALHOST}:{sandbox.port(self.hosts.proxy_port().name)}"
        # Other forwarded ports, and servers that a program starts itself, are reached directly.
        variables = {**dict.fromkeys(_PROXY_VARIABLES, proxy), "NO_PROXY": f"{_LOCALHOST},localhost"}
        return variables | {name.lower(): value for name, value in variables.items()}

    def refused(self) -> bytes:
        """The hosts that were refused, one per line."""
        return b"" if self.hosts is None else "".join(f"{host}\n" for host in self.hosts.refused()).encode()


_MEBIBYTE = 2**20
_BLOCK_BYTES = 512  # the unit of st_blocks on every file system
_TICK_SECONDS = 0.05
# Measuring a large tree takes a while; at most this share of the time is spent on it.
_SHARE_OF_TIME = 0.05
# The system takes paths of 4,095 bytes, and a name in a folder may have 255.
_LONGEST_PATH = 3800
_UNMEASURED_BYTES = 2**60
"""What a folder counts for whose path is too long to be looked into: more than any limit."""


class DiskQuota:
    """Watches a folder in a thread. `cancel` is set when the limit is exceeded or when the engine cancels.

    What the folder held at the start does not count, nor does what is mounted in it: of an overlay only changes count.
    """

    def __init__(self, folder: Path, limit_mb: int, engine_cancel: Event) -> None:
        self.cancel = Event()
        self._engine_cancel = engine_cancel
        self._folder = folder
        self._limit_mb = limit_mb
        self._before = occupied_bytes(folder)
        self._most = 0
        self._next_look = 0.0
        self._left = Event()

    def exceeded(self) -> str | None:
        """A sentence about the excess, None where there is none; measures once more, so that nothing left is missed."""
        self._look()
        if self._most <= self._limit_mb * _MEBIBYTE:
            return None
        if self._most >= _UNMEASURED_BYTES - self._before:
            return "disk quota: it nested folders so deep that what is in them cannot be measured"
        taken = f"{self._most / _MEBIBYTE:,.0f} MiB in workspace and home"
        return f"disk quota: it took {taken}, and {self._limit_mb:,} MiB is the limit"

    @contextmanager
    def watching(self) -> Iterator["DiskQuota"]:
        """Watch until the context ends."""
        watcher = Thread(target=self._watch, name="disk-quota")
        watcher.start()
        try:
            yield self
        finally:
            self._left.set()
            watcher.join()

    def _watch(self) -> None:
        while not self._left.wait(_TICK_SECONDS):
            if monotonic() >= self._next_look:
                self._look()
            if self._engine_cancel.is_set() or self._most > self._limit_mb * _MEBIBYTE:
                self.cancel.set()
                return

    def _look(self) -> None:
        began = monotonic()
        self._most = max(self._most, occupied_bytes(self._folder) - self._before)
        self._next_look = monotonic() + (monotonic() - began) / _SHARE_OF_TIME


class NoDiskQuota:
    """The quota of a suite without a disk limit."""

    def __init__(self, engine_cancel: Event) -> None:
        self.cancel = engine_cancel

    def exceeded(self) -> None:
        """Never exceeded."""


@contextmanager
def watch_disk_quota(folder: Path, limit_mb: int | None, engine_cancel: Event) -> Iterator[DiskQuota | NoDiskQuota]:
    """Watch a trial's folder, where there is a limit."""
    if limit_mb is None:
        yield NoDiskQuota(engine_cancel)
        return
    with DiskQuota(folder, limit_mb, engine_cancel).watching() as quota:
        yield quota


def occupied_bytes(folder: Path) -> int:
    """Bytes that a tree occupies on its file system: holes are free, and hard links count once.

    A tree that is nested too deep to be measured occupies more than any limit, so that nothing can be hidden in it.
    """
    total, several_names = 0, set[int]()
    device = folder.stat().st_dev
    waiting = [os.fsencode(folder)]
    while waiting:
        inside = waiting.pop()
        if len(inside) > _LONGEST_PATH:
            return _UNMEASURED_BYTES
        for status, path in _entries(inside):
            if status.st_dev != device or status.st_ino in several_names:
                continue
            if stat.S_ISDIR(status.st_mode):
                waiting.append(path)
            elif status.st_nlink > 1:
                several_names.add(status.st_ino)
            total += status.st_blocks * _BLOCK_BYTES
    return total


def _entries(folder: bytes) -> Iterator[tuple[os.stat_result, bytes]]:
    """The entries that can be read; files may vanish meanwhile."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                yield entry.stat(follow_symlinks=False), entry.path
