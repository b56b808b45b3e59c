"""The container engine that works here, podman or docker, found by starting a test container."""

import io
import os
import platform
import resource
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from subprocess import TimeoutExpired
from typing import NamedTuple

from outweigh.ports.sandboxes import SandboxError
from outweigh.process import run_process
from outweigh.sandbox.base_sandbox import TEMPORARY_FOLDERS, WORKSPACE, temporary_bytes
from outweigh.sandbox.seccomp import container_profile, machine_architecture

ENGINE_TIMEOUT_SECONDS = 60.0

# The variables that podman and docker need to find their storage or daemon; they get no others.
_KEPT_VARIABLES = (
    "PATH",
    "HOME",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "CONTAINERS_CONF",
    "CONTAINERS_STORAGE_CONF",
    "CONTAINER_HOST",
    "CONTAINER_CONNECTION",
    "CONTAINER_SSHKEY",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
    "DOCKER_CERT_PATH",
    "DOCKER_TLS_VERIFY",
)

# Enough of the host to start its shell in an otherwise empty container, so that the test needs no image.
_HOST_PROGRAMS = ("/bin", "/lib", "/lib32", "/lib64", "/nix", "/usr")

_HARDENING_OPTIONS = (
    "--pull=never",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    # Folders are mounted as they are; relabelling them for SELinux would outlive the sandbox.
    "--security-opt=label=disable",
    "--stop-signal=KILL",
)


class NoEngineError(Exception):
    """No container engine works here; the message says what was tried and what to install."""


class EngineOutput(NamedTuple):
    """The result of a management command; `error` is the last line of its standard error."""

    code: int
    out: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerEngine:
    """A container engine with the options that it needs on this machine."""

    name: str
    command: tuple[str, ...]
    run_options: tuple[str, ...]
    tmpfs_option: str

    @property
    def build_options(self) -> tuple[str, ...]:
        """The options of `build`: the same limits as for containers, which may be necessary to start one at all."""
        return tuple(option for option in self.run_options if option.startswith("--ulimit"))

    def hardening_options(
        self, folder: Path, disk_mb: int | None, network: str = "none", *, writable_system: bool = False
    ) -> tuple[str, ...]:
        """The options that isolate a container; the profile of system calls is written to a folder of the host."""
        size = temporary_bytes(disk_mb)
        return (
            *_HARDENING_OPTIONS,
            *(() if writable_system else ("--read-only",)),
            f"--network={network}",
            *_filter_options(folder / "seccomp.json"),
            *self.run_options,
            f"--shm-size={size}",
            # Writable temporary folders: some agents fail silently without them.
            *(
                f"--tmpfs={folder}:rw,nosuid,nodev,mode=1777,size={size},{self.tmpfs_option}"
                for folder in TEMPORARY_FOLDERS
                if folder != "/dev/shm"
            ),
        )

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        seconds: float = ENGINE_TIMEOUT_SECONDS,
        folder: Path = Path("/"),
    ) -> EngineOutput:
        """Run a short management command; one that times out is a failure like any other."""
        try:
            done = run_process(
                [*self.command, *arguments],
                environment=client_environment(),
                folder=folder,
                stdin=stdin,
                timeout_seconds=seconds,
            )
        except TimeoutExpired:
            return EngineOutput(-1, "", f"no answer within {seconds:g} s")
        except OSError as error:
            return EngineOutput(-1, "", str(error))
        return EngineOutput(done.returncode, done.stdout.decode(errors="replace").strip(), last_line(done.stderr))

    def remove(self, container: str) -> None:
        """Kill and remove a container; raise when it still exists afterwards."""
        answer = self.run("rm", "--force", "--volumes", container)
        if answer.code != 0 and self.run("container", "inspect", container).code == 0:
            raise SandboxError(
                f"container {container} cannot be removed: {answer.error}. "
                f"It may still run; remove it by hand: {self.name} rm --force {container}"
            )


def client_environment() -> dict[str, str]:
    """The environment of the engine's own client."""
    return {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}


def last_line(stderr: bytes) -> str:
    """The last line of an engine's standard error: engines print warnings first and the error last."""
    lines = stderr.decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("Error: ") if lines else "no message"


def bind_mount_option(source: Path | str, target: str, *, read_only: bool = False) -> str:
    """The option that mounts a path of the host."""
    return f"--mount=type=bind,source={source},target={target}" + (",readonly" if read_only else "")


def find_engine() -> ContainerEngine:
    """The first engine that starts a container whose files belong to the caller."""
    errors: dict[str, str] = {}
    for engine in _candidates():
        error = _check_engine(engine)
        if error is None:
            return engine
        errors[engine.name] = error
    tried = "; ".join(f"{name}: {errors.get(name, 'not installed')}" for name in ("podman", "docker"))
    raise NoEngineError(
        f"no container engine works here ({tried}). Install podman (Debian: apt-get install podman runc "
        "fuse-overlayfs catatonit) or start a docker daemon that this user may use, or choose another sandbox."
    )


def _candidates() -> Iterator[ContainerEngine]:
    caller = f"--user={os.getuid()}:{os.getgid()}"
    if podman := shutil.which("podman"):
        user = (caller,) if os.getuid() == 0 else ("--userns=keep-id", caller)
        yield ContainerEngine(name="podman", command=(podman,), run_options=user, tmpfs_option=_PODMAN_TMPFS)
        yield _nested_podman(podman, user)
    if docker := shutil.which("docker"):
        # A rootless daemon maps the caller to root inside; an ordinary daemon does not map users.
        for user in ((caller,), ("--user=0:0",)):
            yield ContainerEngine(name="docker", command=(docker,), run_options=user, tmpfs_option="exec")


_PODMAN_TMPFS = "notmpcopyup"


def _filter_options(profile: Path) -> tuple[str, ...]:
    """Refuse the calls that bubblewrap refuses; on a processor without a filter, the engine's own profile applies."""
    architecture = machine_architecture()
    if architecture is None:
        return ()
    profile.write_bytes(container_profile(architecture))
    return (f"--security-opt=seccomp={profile}",)


def _nested_podman(podman: str, options: tuple[str, ...]) -> ContainerEngine:
    """Podman with limits no higher than those of this process: inside another container its defaults are refused."""
    files, processes = _resource_limit(resource.RLIMIT_NOFILE, 1 << 20), _resource_limit(resource.RLIMIT_NPROC, 1 << 15)
    runtime = ("--runtime=runc",) if shutil.which("runc") else ()
    return ContainerEngine(
        name="podman",
        command=(podman, "--cgroup-manager=cgroupfs", "--events-backend=file", *runtime),
        run_options=(*options, f"--ulimit=nofile={files}:{files}", f"--ulimit=nproc={processes}:{processes}"),
        tmpfs_option=_PODMAN_TMPFS,
    )


def _resource_limit(kind: int, at_most: int) -> int:
    hard = resource.getrlimit(kind)[1]
    return at_most if hard == resource.RLIM_INFINITY else min(hard, at_most)


def _check_engine(engine: ContainerEngine) -> str | None:
    """Start a test container; returns the error, None when it works."""
    version = engine.run("version", seconds=20.0)
    if version.code != 0:
        return version.error
    token = token_hex(8)
    image = f"outweigh-trial:{token}"
    imported = engine.run("import", "-", image, stdin=_tiny_archive(token))
    if imported.code != 0:
        return imported.error
    try:
        return _check_container_run(engine, image)
    finally:
        engine.run("rmi", "--force", image)


def _check_container_run(engine: ContainerEngine, image: str) -> str | None:
    if platform.system() != "Linux":
        return None  # the host's shell cannot run in a container, and there is no other one yet
    programs = [bind_mount_option(folder, folder, read_only=True) for folder in _HOST_PROGRAMS if Path(folder).exists()]
    with tempfile.TemporaryDirectory(prefix="outweigh-trial-", ignore_cleanup_errors=True) as folder:
        hardening = engine.hardening_options(Path(folder), None)
        options = (*hardening, *programs, bind_mount_option(folder, WORKSPACE))
        started = engine.run("run", "--rm", *options, image, "/bin/sh", "-c", f": > {WORKSPACE}/written")
        written = Path(folder, "written")
        if started.code != 0:
            return started.error
        if not written.exists() or written.stat().st_uid != os.getuid():
            return "files written inside do not belong to the caller outside"
    return None


def _tiny_archive(token: str) -> bytes:
    """A unique archive. Engines store equal images once, so another process could remove a shared one."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(tarfile.TarInfo(token))
    return archive.getvalue()
