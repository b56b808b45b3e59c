"""The bubblewrap sandbox: Linux namespaces with a read-only system, its own processes, no network, and nothing
writable but the workspace and the home folder.

Disk space is the host's. Limits on memory and processes hold where control groups can be created. When the caller is
root, the program inside is the host's root without its capabilities, and owns whatever root owns. Files in /etc that
only root may read are therefore covered, and files in /proc that their owner may write are read-only.
"""

import os
import platform
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from secrets import token_hex
from subprocess import TimeoutExpired

from outweigh.ports.sandboxes import CommandEnding, CompletedCommand, Sandbox, SandboxError, SandboxRequest
from outweigh.process import run_process
from outweigh.sandbox.base_sandbox import (
    HOME,
    TEMPORARY_FOLDERS,
    WORKSPACE,
    BaseSandbox,
    hidden_paths,
    sweep_host_sandboxes,
    temporary_bytes,
)
from outweigh.sandbox.bubblewrap_status import BubblewrapStatus, StartBarrier
from outweigh.sandbox.cgroups import (
    DEFAULT_PATH,
    EXEC_PREFIX,
    CgroupLimits,
    ControlGroup,
    control_group,
    enter_cgroups,
    explain_missing_limits,
)
from outweigh.sandbox.confine_program import confine_program, landlock_missing
from outweigh.sandbox.hidden_paths import hide_paths
from outweigh.sandbox.leftover_processes import SANDBOX_MARK
from outweigh.sandbox.process_tree import SandboxCommand, run_process_tree
from outweigh.sandbox.sandbox_ports import assign_ports
from outweigh.sandbox.seccomp import ARCHITECTURES, filter_program, machine_architecture
from outweigh.sandbox.session_keyring import run_with_new_keyring

_ROOT_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
# Everybody may read them, but they name the keys that the host's kernel holds for the caller.
_KEY_LISTS = ("keys", "key-users")
_NEVER_BOUND = ("/proc", "/dev", "/sys")
_NAMESPACE_ARGUMENTS = (
    *("--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox"),
    *("--cap-drop", "ALL", "--die-with-parent", "--new-session", "--clearenv"),
)


def base_arguments() -> list[str]:
    """The arguments that all sandboxes of this machine share; computing them takes some milliseconds."""
    arguments = [*_NAMESPACE_ARGUMENTS, "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc"]
    for name in _ROOT_FOLDERS:
        arguments += _root_folder_arguments(Path("/", name))
    for path in _find_private_paths(Path("/etc")):
        arguments += _cover_arguments(path.is_dir(), str(path))
    # Read-only, because otherwise a program can write to the memory of another through /proc/PID/mem.
    arguments += ["--proc", "/proc", *_proc_arguments(), "--remount-ro", "/proc"]
    return [*arguments, "--dev", "/dev", "--remount-ro", "/dev"]


def request_arguments(request: SandboxRequest, environment: Mapping[str, str]) -> list[str]:
    """The arguments of one sandbox: its folders and its environment."""
    arguments = []
    for folder in TEMPORARY_FOLDERS:
        arguments += ["--perms", "1777", "--size", str(temporary_bytes(request.disk_mb)), "--tmpfs", folder]
    arguments += [word for path in _read_only_paths(request) for word in ("--ro-bind", path, path)]
    arguments += ["--bind", str(request.home), HOME, "--bind", str(request.workspace), WORKSPACE]
    for mount in request.mounts:
        arguments += ["--bind" if mount.writable else "--ro-bind", str(mount.source), mount.target]
        for path, inside in hidden_paths(mount):
            arguments += _cover_arguments(path.is_dir(), inside)
    for name, value in environment.items():
        arguments += ["--setenv", name, value]
    return [*arguments, "--remount-ro", "/", "--chdir", WORKSPACE]


def _root_folder_arguments(path: Path) -> list[str]:
    if path.is_symlink():
        return ["--symlink", str(path.readlink()), str(path)]
    return ["--ro-bind", str(path), str(path)] if path.is_dir() else []


def _find_private_paths(folder: Path) -> Iterator[Path]:
    """Paths that only the owner or its group may read."""
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
            yield from _find_private_paths(Path(entry.path))


def _cover_arguments(is_folder: bool, path: str) -> list[str]:
    return ["--tmpfs", path, "--remount-ro", path] if is_folder else ["--ro-bind", "/dev/null", path]


def _proc_arguments() -> list[str]:
    arguments: list[str] = []
    for entry in sorted(os.scandir("/proc"), key=lambda entry: entry.name):
        if entry.name.isdigit() or entry.is_symlink():
            continue
        mode = entry.stat().st_mode
        if entry.is_dir():
            arguments += ["--ro-bind", entry.path, entry.path]
        elif mode & 0o222 or not mode & stat.S_IROTH or entry.name in _KEY_LISTS:
            arguments += ["--ro-bind", "/dev/null", entry.path]
    # The first process is bubblewrap itself; its environment contains the trial's label, which may name the arm.
    for path in ("/proc/1/environ", "/proc/1/task/1/environ"):
        arguments += ["--ro-bind", "/dev/null", path]
    return arguments


def _read_only_paths(request: SandboxRequest) -> Iterator[str]:
    for named in request.read_only:
        path = Path(named).expanduser()
        reason = _path_error(path, (request.workspace, request.home))
        if reason is not None:
            raise SandboxError(f"sandbox.read_only names {named!r}, {reason}.")
        yield str(path)


def _path_error(path: Path, private: tuple[Path, ...]) -> str | None:
    if not path.is_absolute() or not path.exists():
        return "which is not the absolute path of something that exists"
    real = path.resolve()
    if any(own.resolve().is_relative_to(real) for own in private):
        return "which holds the workspaces of all trials; name the folder that is needed, and not one above them"
    if any(real.is_relative_to(forbidden) for forbidden in _NEVER_BOUND):
        return "but /proc, /dev and /sys of the host stay outside"
    return None


_KIND = "bubblewrap"
_CONFINE = "/sandbox/confine"
_PROBE_SECONDS = 20.0
# Without nested user namespaces, a program inside reaches less of the kernel.
_NO_NESTED_NAMESPACES = "--disable-userns"


class BubblewrapSandboxProvider:
    """Opens sandboxes with `bwrap`, as root or as any other user."""

    @property
    def name(self) -> str:
        """The name that a suite uses."""
        return _KIND

    def missing(self) -> str | None:
        """Why `bwrap` cannot be used, tried once per process; None when it works."""
        return _probe().missing

    def limits_missing(self, memory_mb: int | None, processes: int | None) -> str | None:
        """Which of these limits cannot be enforced on this machine; None when all can."""
        return explain_missing_limits(CgroupLimits(memory_mb=memory_mb, processes=processes))

    def protection_missing(self) -> str | None:
        """Why a program that a check starts is not kept from the process that checks it; None when it is."""
        return landlock_missing()

    @contextmanager
    def open(self, request: SandboxRequest) -> Iterator[Sandbox]:
        """Run every command in a new namespace over the same workspace and home; its processes end with it."""
        _check_request(request)
        token = token_hex(8)
        with _limits_group(request, token) as group:
            yield _BubblewrapSandbox(request, group, f"{_KIND}/{request.label}#{token}")

    def sweep(self, label_prefix: str) -> list[str]:
        """Remove what a killed engine left running; usually bubblewrap has died with the engine."""
        return sweep_host_sandboxes(_KIND, label_prefix)


class _BubblewrapSandbox(BaseSandbox):
    def __init__(self, request: SandboxRequest, group: ControlGroup, mark: str) -> None:
        super().__init__(request, workspace=WORKSPACE, home=HOME, ports=assign_ports(request.ports))
        self._group = group
        self._mark = mark

    @property
    def confine(self) -> str | None:
        """The path of the program that confines others."""
        return _CONFINE if _probe().confine else None

    def _run(self, wanted: SandboxCommand) -> CompletedCommand:
        return run_with_new_keyring(lambda: self._run_bubblewrap(wanted), self._request.cancel.set)

    def _run_bubblewrap(self, wanted: SandboxCommand) -> CompletedCommand:
        environment = {"PATH": DEFAULT_PATH, "HOME": HOME, **wanted.environment}
        with (
            _memory_file(_probe().filter) as filter_file,
            _memory_file(_probe().confine) as confine_file,
            _memory_file(_joined(self._arguments(environment, confine_file))) as argument_file,
            BubblewrapStatus() as status,
            StartBarrier(self._request.ports) as barrier,
        ):
            bubblewrap = [_probe().program, "--args", str(argument_file), "--json-status-fd", str(status.writer)]
            confined = [*bubblewrap, *_filter_arguments(filter_file), *barrier.arguments]
            command = [*confined, "--", *EXEC_PREFIX, *wanted.command]
            job = replace(
                wanted,
                command=enter_cgroups(self._group.entrances, hide_paths(self._request, command)),
                environment={SANDBOX_MARK: self._mark},
                folder=Path("/"),
                descriptors=(argument_file, filter_file, confine_file, status.writer, *barrier.descriptors),
            )
            done = run_process_tree(job, status, lambda: _serve_ports_and_start(status, barrier))
            if done.ending is CommandEnding.EXITED and not status.was_entered:
                error = done.stderr.decode(errors="replace").strip()
                raise SandboxError(f"bubblewrap could not build the sandbox: {error or f'exit code {done.exit_code}'}.")
            return done

    def _arguments(self, environment: Mapping[str, str], confine_file: int) -> list[str]:
        # In a folder that nobody inside can write to: the program must not be replaced.
        shown = ["--perms", "0555", "--ro-bind-data", str(confine_file), _CONFINE] if self.confine else []
        return [*_probe().arguments, *shown, *request_arguments(self._request, environment)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _BubblewrapProbe:
    program: str = "bwrap"
    arguments: tuple[str, ...] = ()
    filter: bytes = b""
    confine: bytes = b""
    missing: str | None = None


@cache
def _probe() -> _BubblewrapProbe:
    program, architecture = shutil.which("bwrap"), machine_architecture()
    if platform.system() != "Linux":
        return _BubblewrapProbe(
            missing='bubblewrap works on Linux only. Use containers: [sandbox] kind = "container" and an image.'
        )
    if program is None:
        return _BubblewrapProbe(
            missing="bubblewrap is not installed; run `apt-get install bubblewrap`, or use your package manager."
        )
    if architecture is None:
        return _BubblewrapProbe(
            missing=f"no filter of system calls is known for this processor ({platform.machine()}), only for "
            f"{' and '.join(ARCHITECTURES)}, and without it a program can forge the result of a check."
        )
    arguments, content = base_arguments(), filter_program(architecture)
    fault = ""
    for extra in ([_NO_NESTED_NAMESPACES], []):  # older versions do not know the option
        fault = _try_sandbox([program, *extra, *arguments], content)
        if not fault:
            confine = confine_program(architecture) if landlock_missing() is None else b""
            return _BubblewrapProbe(program=program, arguments=(*extra, *arguments), filter=content, confine=confine)
    return _BubblewrapProbe(
        program=program,
        missing=f"bubblewrap is installed but cannot build a sandbox here ({fault}). User namespaces may be off "
        "(sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0); otherwise use "
        "the container sandbox.",
    )


def _try_sandbox(command: Sequence[str], content: bytes) -> str:
    """Try to start a sandbox with a filter; returns the error, empty when it works."""
    try:
        with _memory_file(content) as filter_file:
            done = run_process(
                [*command, *_filter_arguments(filter_file), "/bin/sh", "-c", ":"],
                environment={},
                timeout_seconds=_PROBE_SECONDS,
                descriptors=(filter_file,),
            )
    except (OSError, TimeoutExpired) as fault:
        return str(fault)
    return "" if done.returncode == 0 else done.stderr.decode(errors="replace").strip() or "no reason given"


def _filter_arguments(descriptor: int) -> tuple[str, str]:
    return "--seccomp", str(descriptor)


def _check_request(request: SandboxRequest) -> None:
    missing = _probe().missing
    if missing is not None:
        raise SandboxError(missing)
    if request.image is not None:
        raise SandboxError(f"bubblewrap has no images and cannot use {request.image!r}; use the container sandbox.")


def _serve_ports_and_start(status: BubblewrapStatus, barrier: StartBarrier) -> None:
    status.close_writer()
    barrier.serve_ports_and_release(status)


def _limits_group(request: SandboxRequest, token: str) -> AbstractContextManager[ControlGroup]:
    """A control group, if there are limits to enforce; the namespace already keeps track of all processes."""
    limits = CgroupLimits(memory_mb=request.memory_mb, processes=request.processes)
    if limits == CgroupLimits(memory_mb=None, processes=None):
        return nullcontext(ControlGroup(()))
    return control_group(_KIND, request.label, token, limits)


def _joined(arguments: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(argument) + b"\0" for argument in arguments)


@contextmanager
def _memory_file(content: bytes) -> Iterator[int]:
    """An open file in memory. Arguments are passed in one, because they hold secrets and paths of the host, which
    must appear in no process list.
    """
    descriptor = os.memfd_create("content", os.MFD_CLOEXEC)
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)
