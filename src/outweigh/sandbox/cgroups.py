"""Control groups, where the kernel lets us create them: killing a whole process tree, limits on memory and processes,
and the shell prefix by which a command enters its groups. A group is created only below that of this process, so that
limits on this process apply to the sandbox, too.
"""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import quote

DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"

# In every kind of sandbox, a missing command exits with 127 and one that cannot be executed with 126.
EXEC_PREFIX = ("/bin/sh", "-c", 'exec "$@"', "sh")

# The shell enters the control groups and then executes the command, so that nothing starts outside of them.
_ENTER_SCRIPT = 'while [ "$1" != -- ]; do { echo $$ >"$1"; } 2>/dev/null; shift; done; shift; '
_SHELL_COMMAND = ["sh", "-c"]


def enter_cgroups(entrances: Sequence[str], command: Sequence[str]) -> list[str]:
    """The command, started inside control groups. An `sh -c` command continues in the shell that entered them."""
    if not entrances:
        return list(command)
    is_shell_line = len(command) == 3 and list(command[:2]) == _SHELL_COMMAND
    script, words = (command[2], []) if is_shell_line else ('exec "$@"', list(command))
    return ["/bin/sh", "-c", f"{_ENTER_SCRIPT}{script}", "sh", *entrances, "--", *words]


_MAX_NAME_BYTES = 180
_END_SECONDS = 5.0
_PAUSE_SECONDS = 0.002
_MEBIBYTE = 2**20


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """The control groups of one sandbox, one folder per hierarchy."""

    folders: tuple[Path, ...]

    @property
    def entrances(self) -> list[str]:
        """The files that a process writes its id to in order to enter."""
        return [str(folder / "cgroup.procs") for folder in self.folders]

    @property
    def holds_all(self) -> bool:
        """Whether every process started inside can be found and killed through the groups."""
        return bool(self.folders)

    def kill(self) -> None:
        """Kill every process inside; returns when the groups are empty, or after five seconds."""
        for folder in self.folders:
            _kill_members(folder)


@contextmanager
def control_group(kind: str, label: str, token: str, limits: "CgroupLimits") -> Iterator[ControlGroup]:
    """Create the groups of a sandbox; leaving the context kills what is in them and removes them."""
    name = f"{_group_name(kind, label)}.{token}"
    folders = tuple(_create_folders(name, limits))
    try:
        yield ControlGroup(folders)
    finally:
        for folder in folders:
            _remove(folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupLimits:
    """Limits of a sandbox; None means no limit."""

    memory_mb: int | None
    processes: int | None


def explain_missing_limits(limits: CgroupLimits) -> str | None:
    """Which of these limits cannot be enforced here; None when all can."""
    wanted = {"memory": limits.memory_mb, "pids": limits.processes}
    missing = [name for name, value in wanted.items() if value is not None and _limiting_parent(name) is None]
    if not missing:
        return None
    return (
        f"this process may not make control groups with the {' and '.join(missing)} controller, so that limit is not "
        "kept; run as root in a group that hands its controllers down, or use the container sandbox."
    )


def sweep_groups(kind: str, label_prefix: str) -> list[str]:
    """Kill and remove the groups that a killed engine left behind; returns their names."""
    found = []
    for parent in {path for path in map(_own_folder, ("", "memory", "pids")) if path is not None}:
        for folder in parent.glob(f"{_group_name(kind, label_prefix)}*"):
            _remove(folder)
            found.append(folder.name)
    return sorted(set(found))


def _create_folders(name: str, limits: CgroupLimits) -> Iterator[Path]:
    parents: dict[Path, dict[str, str]] = {}
    killer = _own_folder("")
    if killer is not None:
        parents[killer] = {}
    for controller, settings in _settings(limits).items():
        parent = _limiting_parent(controller)
        if parent is not None:
            parents.setdefault(parent, {}).update(settings)
    for parent, settings in parents.items():
        with suppress(OSError):
            folder = parent / name
            folder.mkdir()
            for file, value in settings.items():
                with suppress(FileNotFoundError):  # the names of both versions are tried
                    _write_setting(folder / file, value)
            yield folder


def _settings(limits: CgroupLimits) -> dict[str, dict[str, str]]:
    wanted: dict[str, dict[str, str]] = {}
    if limits.memory_mb is not None:
        bound = str(limits.memory_mb * _MEBIBYTE)
        version_1 = {"memory.limit_in_bytes": bound, "memory.memsw.limit_in_bytes": bound}
        wanted["memory"] = {**version_1, "memory.max": bound, "memory.swap.max": "0"}
    if limits.processes is not None:
        wanted["pids"] = {"pids.max": str(limits.processes)}
    return wanted


def _write_setting(file: Path, value: str) -> None:
    # Without O_CREAT: in a folder that is not a control group, writing would create a regular file.
    opened = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(opened, value.encode())
    finally:
        os.close(opened)


def _limiting_parent(controller: str) -> Path | None:
    """Where a child group gets this controller: its own hierarchy in version 1, a parent that delegates it in 2."""
    legacy = _own_folder(controller)
    if legacy is not None:
        return legacy
    unified = _own_folder("")
    if unified is None:
        return None
    with suppress(OSError):
        if controller in (unified / "cgroup.subtree_control").read_text().split():
            return unified
    return None


@cache
def _own_folder(controller: str) -> Path | None:
    """The folder of this process's group in a hierarchy ('' is version 2), if groups can be created in it.

    Cached, because sandboxes are opened twice per trial; moving this process later does not move existing groups.
    """
    path = _memberships().get(controller)
    if path is None:
        return None
    roots = (Path("/sys/fs/cgroup", controller),) if controller else _unified_roots()
    for root in roots:
        folder = root / path.lstrip("/")
        if os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK):
            return folder
    return None


def _unified_roots() -> tuple[Path, ...]:
    roots = Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")
    return tuple(root for root in roots if (root / "cgroup.controllers").exists())


def _memberships() -> dict[str, str]:
    found = {}
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            found.update(dict.fromkeys(controllers.split(","), path))
    return found


def _group_name(kind: str, label: str) -> str:
    return f"outweigh.{kind}.{quote(label, safe='')}"[:_MAX_NAME_BYTES]


def _kill_members(folder: Path) -> None:
    deadline = monotonic() + _END_SECONDS
    while (alive := _members(folder)) and monotonic() < deadline:
        try:
            _write_setting(folder / "cgroup.kill", "1")
        except OSError:
            for process in alive:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)
        sleep(_PAUSE_SECONDS)


def _members(folder: Path) -> list[int]:
    try:
        return [int(line) for line in (folder / "cgroup.procs").read_text().split()]
    except OSError:
        return []


def _remove(folder: Path) -> None:
    with suppress(OSError):  # usually it is already empty
        folder.rmdir()
        return
    _kill_members(folder)
    deadline = monotonic() + _END_SECONDS
    while folder.exists() and monotonic() < deadline:
        try:
            folder.rmdir()
        except OSError:  # the last process is dead but still listed
            sleep(_PAUSE_SECONDS)
