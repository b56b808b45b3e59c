"""A sandbox of Linux namespaces: read-only system, own processes, no network, nothing writable but the workspace.

Disk space is the host's. Limits of memory and processes hold where control groups can be made (`limits_missing` says).
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from secrets import token_hex
from subprocess import TimeoutExpired

from outweigh.adapters.sandboxes.bubblewrap_status import Status
from outweigh.adapters.sandboxes.cgroups import ControlGroup, Limits, control_group, limits_missing, sweep_groups
from outweigh.adapters.sandboxes.doors import port_of, ports_inside
from outweigh.adapters.sandboxes.entering import DEFAULT_PATH, EXEC, enter
from outweigh.adapters.sandboxes.leftovers import MARK, end_marked
from outweigh.adapters.sandboxes.paths import Confined
from outweigh.adapters.sandboxes.process import Job, run
from outweigh.adapters.sandboxes.threshold import Threshold
from outweigh.adapters.sandboxes.walls import HOME, WORKSPACE, base_walls, own_walls
from outweigh.apart import run_apart
from outweigh.ports.sandboxes import Completed, Ending, Sandbox, SandboxError, SandboxRequest

_KIND = "bubblewrap"
_PROBE_SECONDS = 20.0
# Without user namespaces of its own, a program inside cannot get at the kernel's less trodden paths.
_NO_NESTING = "--disable-userns"


class BubblewrapSandboxes:
    """Opens sandboxes with `bwrap`, as root or as anybody."""

    @property
    def name(self) -> str:
        """The kind, as a suite names it."""
        return _KIND

    def missing(self) -> str | None:
        """Whether `bwrap` is there and really works; tried once per process."""
        return _probe().missing

    def limits_missing(self, memory_mb: int | None, processes: int | None) -> str | None:
        """Which of these limits would not be kept on this machine; None when all would."""
        return limits_missing(Limits(memory_mb=memory_mb, processes=processes))

    @contextmanager
    def open(self, request: SandboxRequest) -> Iterator[Sandbox]:
        """Every command gets fresh walls around the same workspace and home, and dies within them."""
        _refuse_what_cannot_be(request)
        token = token_hex(8)
        with _group(request, token) as group:
            yield _BubblewrapSandbox(request, group, f"{_KIND}/{request.label}#{token}")

    def sweep(self, label_prefix: str) -> list[str]:
        """End what a killed engine left running; as a rule it died with the engine."""
        ended = end_marked(lambda mark: mark.startswith(f"{_KIND}/{label_prefix}"))
        groups = sweep_groups(_KIND, label_prefix)
        return [*(f"process {process}" for process in ended), *(f"control group {name}" for name in groups)]


@dataclass(frozen=True, slots=True)
class _BubblewrapSandbox:
    request: SandboxRequest
    group: ControlGroup
    mark: str

    @property
    def workspace(self) -> str:
        return WORKSPACE

    @property
    def host_workspace(self) -> Path:
        return self.request.workspace

    @property
    def home(self) -> str:
        return HOME

    @property
    def host_home(self) -> Path:
        return self.request.home

    def port(self, door: str) -> int:
        return port_of(door, ports_inside(self.request.doors))

    def exec(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        timeout_seconds: float,
        stdin: bytes = b"",
        listen: Callable[[bytes], None] | None = None,
    ) -> Completed:
        walls = [*_probe().walls, *own_walls(self.request, {"PATH": DEFAULT_PATH, "HOME": HOME, **environment})]
        with _told_in_private(walls) as told, Status() as status, Threshold(self.request.doors) as threshold:
            bubblewrap = [_probe().program, "--args", str(told), "--json-status-fd", str(status.writer)]
            job = Job(
                command=enter(self.group.entrances, [*bubblewrap, *threshold.arguments, "--", *EXEC, *command]),
                environment={MARK: self.mark},
                folder=Path("/"),
                stdin=stdin,
                timeout_seconds=timeout_seconds,
                cancel=self.request.cancel,
                descriptors=(told, status.writer, *threshold.descriptors),
                listen=listen,
            )
            done = run(job, status, lambda: _begin(status, threshold))
            if done.ending is Ending.EXITED and not status.was_entered:
                said = done.stderr.decode(errors="replace").strip()
                raise SandboxError(f"bubblewrap could not build the sandbox: {said or f'exit code {done.exit_code}'}.")
            return done

    def read(self, path: str, limit: int) -> bytes | None:
        return self._files.read(path, limit)

    def write(self, path: str, content: bytes, *, executable: bool = False) -> None:
        self._files.write(path, content, executable=executable)

    @property
    def _files(self) -> Confined:
        return Confined(self.request.workspace, WORKSPACE)


@dataclass(frozen=True, slots=True)
class _Probe:
    program: str
    walls: tuple[str, ...]
    missing: str | None


@cache
def _probe() -> _Probe:
    program = shutil.which("bwrap")
    if program is None:
        return _Probe("bwrap", (), "bubblewrap is not installed; `apt-get install bubblewrap`, or your system's way.")
    walls = base_walls()
    fault = ""
    for extra in ([_NO_NESTING], []):  # older versions do not know the option
        fault = _try(program, [*extra, *walls])
        if not fault:
            return _Probe(program, (*extra, *walls), None)
    return _Probe(
        program,
        (),
        f"bubblewrap is installed but cannot build a sandbox here ({fault}). User namespaces may be switched off "
        "(sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0); otherwise use "
        "the container sandbox.",
    )


def _try(program: str, walls: Sequence[str]) -> str:
    """What goes wrong; empty when it works."""
    try:
        done = run_apart([program, *walls, "/bin/sh", "-c", ":"], environment={}, timeout_seconds=_PROBE_SECONDS)
    except (OSError, TimeoutExpired) as fault:
        return str(fault)
    return "" if done.returncode == 0 else done.stderr.decode(errors="replace").strip() or "no reason given"


def _refuse_what_cannot_be(request: SandboxRequest) -> None:
    missing = _probe().missing
    if missing is not None:
        raise SandboxError(missing)
    if request.image is not None:
        raise SandboxError(f"bubblewrap has no images and cannot use {request.image!r}; use the container sandbox.")


def _begin(status: Status, threshold: Threshold) -> None:
    status.close_writer()
    threshold.open_doors(status)


def _group(request: SandboxRequest, token: str) -> AbstractContextManager[ControlGroup]:
    """The namespace holds all processes together, so a control group is only needed for limits."""
    limits = Limits(memory_mb=request.memory_mb, processes=request.processes)
    if limits == Limits(memory_mb=None, processes=None):
        return nullcontext(ControlGroup(()))
    return control_group(_KIND, request.label, token, limits)


@contextmanager
def _told_in_private(arguments: Sequence[str]) -> Iterator[int]:
    """The arguments as an open file: secrets in the environment and paths of the host appear in no process list."""
    told = os.memfd_create("walls", os.MFD_CLOEXEC)
    try:
        with os.fdopen(told, "wb", closefd=False) as file:
            file.write(b"".join(os.fsencode(argument) + b"\0" for argument in arguments))
        os.lseek(told, 0, os.SEEK_SET)
        yield told
    finally:
        os.close(told)
