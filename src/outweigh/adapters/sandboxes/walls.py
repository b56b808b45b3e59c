"""What a bubblewrap sandbox is made of, as the arguments that build it.

When the caller is root, the program inside is the host's root without its capabilities: it owns whatever root owns. So
what only root may read in /etc is covered, and everything in /proc that its owner may write is read-only.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from outweigh.ports.sandboxes import SandboxError, SandboxRequest

WORKSPACE = "/ws"
HOME = "/home/agent"
_TEMPORARY_BYTES = 2**30
_ROOT_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_NEVER_BOUND = ("/proc", "/dev", "/sys")
_NAMESPACES = (
    *("--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox"),
    *("--cap-drop", "ALL", "--die-with-parent", "--new-session", "--clearenv"),
)


def base_walls() -> list[str]:
    """What all sandboxes of this machine share; it takes some milliseconds to find out, once."""
    arguments = [*_NAMESPACES, "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc"]
    for name in _ROOT_FOLDERS:
        arguments += _root_folder(Path("/", name))
    arguments += _covers(_private_below(Path("/etc")))
    arguments += ["--proc", "/proc", *_proc_walls(), "--dev", "/dev"]
    for folder in ("/tmp", "/var/tmp", "/run"):
        arguments += ["--perms", "1777", "--size", str(_TEMPORARY_BYTES), "--tmpfs", folder]
    return arguments


def own_walls(request: SandboxRequest, environment: Mapping[str, str]) -> list[str]:
    """What belongs to one sandbox: its folders, its environment."""
    arguments = [word for path in _read_only(request) for word in ("--ro-bind", path, path)]
    arguments += ["--bind", str(request.home), HOME, "--bind", str(request.workspace), WORKSPACE]
    for name, value in environment.items():
        arguments += ["--setenv", name, value]
    return [*arguments, "--remount-ro", "/", "--chdir", WORKSPACE]


def _root_folder(path: Path) -> list[str]:
    if path.is_symlink():
        return ["--symlink", str(path.readlink()), str(path)]
    return ["--ro-bind", str(path), str(path)] if path.is_dir() else []


def _private_below(folder: Path) -> Iterator[Path]:
    """What others than the owner and its group may not read."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink():
            continue
        needed = stat.S_IROTH | (stat.S_IXOTH if entry.is_dir() else 0)
        if entry.stat().st_mode & needed != needed:
            yield Path(entry.path)
        elif entry.is_dir():
            yield from _private_below(Path(entry.path))


def _covers(paths: Iterator[Path]) -> list[str]:
    arguments: list[str] = []
    for path in paths:
        if path.is_dir():
            arguments += ["--tmpfs", str(path), "--remount-ro", str(path)]
        else:
            arguments += ["--ro-bind", "/dev/null", str(path)]
    return arguments


def _proc_walls() -> list[str]:
    arguments: list[str] = []
    for entry in sorted(os.scandir("/proc"), key=lambda entry: entry.name):
        if entry.name.isdigit() or entry.is_symlink():
            continue
        mode = entry.stat().st_mode
        if entry.is_dir():
            arguments += ["--ro-bind", entry.path, entry.path]
        elif mode & 0o222 or not mode & stat.S_IROTH:
            arguments += ["--ro-bind", "/dev/null", entry.path]
    # The first process is bubblewrap itself; its environment holds the name of the trial, which may name the arm.
    for path in ("/proc/1/environ", "/proc/1/task/1/environ"):
        arguments += ["--ro-bind", "/dev/null", path]
    return arguments


def _read_only(request: SandboxRequest) -> Iterator[str]:
    for named in request.read_only:
        path = Path(named).expanduser()
        reason = _why_not(path, (request.workspace, request.home))
        if reason is not None:
            raise SandboxError(f"sandbox.read_only names {named!r}, {reason}.")
        yield str(path)


def _why_not(path: Path, private: tuple[Path, ...]) -> str | None:
    if not path.is_absolute() or not path.exists():
        return "which is not the absolute path of something that exists"
    real = path.resolve()
    if any(own.resolve().is_relative_to(real) for own in private):
        return "which holds the workspaces of all trials; name the folder that is needed, and not one above them"
    if any(real.is_relative_to(forbidden) for forbidden in _NEVER_BOUND):
        return "but /proc, /dev and /sys of the host stay outside"
    return None
