"""Which container engine works here, found out by starting a container and looking at the file it wrote."""

import io
import os
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

from outweigh.apart import run_apart
from outweigh.ports.sandboxes import SandboxError

WORKSPACE = "/ws"
HOME = "/home/agent"
MANAGEMENT_SECONDS = 60.0

# What podman and docker need from the caller to find their own storage or daemon; nothing else reaches them.
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
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
)

# Enough of the host to start its shell in an otherwise empty container: the trial needs no image from a registry.
_HOST_PROGRAMS = ("/bin", "/lib", "/lib32", "/lib64", "/nix", "/usr")

HARDENING = (
    "--pull=never",
    "--network=none",
    "--read-only",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    # Folders of the caller are bound as they are; relabelling them for SELinux would outlive the sandbox.
    "--security-opt=label=disable",
    "--stop-signal=KILL",
)


class NoEngineError(Exception):
    """No container engine works here; the text says what was tried and what to install."""


class Answer(NamedTuple):
    """What a management command left behind."""

    code: int
    out: str
    complaint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A command line that works, with the options without which it would not."""

    name: str
    command: tuple[str, ...]
    run_options: tuple[str, ...]

    def ask(
        self,
        *arguments: str,
        stdin: bytes = b"",
        seconds: float = MANAGEMENT_SECONDS,
        folder: Path = Path("/"),
    ) -> Answer:
        """Run a short command of the engine itself; one that hangs is a failure like any other."""
        try:
            done = run_apart(
                [*self.command, *arguments],
                environment=client_environment(),
                folder=folder,
                stdin=stdin,
                timeout_seconds=seconds,
            )
        except TimeoutExpired:
            return Answer(-1, "", f"no answer within {seconds:g} s")
        except OSError as error:
            return Answer(-1, "", str(error))
        return Answer(done.returncode, done.stdout.decode(errors="replace").strip(), last_line(done.stderr))

    def remove(self, container: str) -> None:
        """Kill and remove a container; it is an error when it is still there afterwards."""
        answer = self.ask("rm", "--force", "--volumes", container)
        if answer.code != 0 and self.ask("container", "inspect", container).code == 0:
            raise SandboxError(
                f"container {container} cannot be removed: {answer.complaint}. "
                f"It may still run; remove it by hand: {self.name} rm --force {container}"
            )


def client_environment() -> dict[str, str]:
    """The environment of the engine's own client."""
    return {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}


def last_line(stderr: bytes) -> str:
    """Engines warn first and say what went wrong last."""
    lines = stderr.decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("Error: ") if lines else "no message"


def bind(source: Path | str, target: str, *, read_only: bool = False) -> str:
    """The option that shows a path of the host inside."""
    return f"--mount=type=bind,source={source},target={target}" + (",readonly" if read_only else "")


def find_engine() -> Engine:
    """The first engine that starts a container whose files belong to the caller."""
    complaints: dict[str, str] = {}
    for engine in _candidates():
        complaint = _complaint_about(engine)
        if complaint is None:
            return engine
        complaints[engine.name] = complaint
    tried = "; ".join(f"{name}: {complaints.get(name, 'not installed')}" for name in ("podman", "docker"))
    raise NoEngineError(
        f"no container engine works here ({tried}). Install podman (Debian: apt-get install podman runc "
        "fuse-overlayfs catatonit) or start a docker daemon that this user may use, or choose another sandbox."
    )


def _candidates() -> Iterator[Engine]:
    caller = f"--user={os.getuid()}:{os.getgid()}"
    if podman := shutil.which("podman"):
        user = (caller,) if os.getuid() == 0 else ("--userns=keep-id", caller)
        options = (*user, *_scratch("notmpcopyup"))
        yield Engine(name="podman", command=(podman,), run_options=options)
        yield _modest(podman, options)
    if docker := shutil.which("docker"):
        # A rootless daemon shows the caller as root inside, an ordinary one shows users as they are.
        for user in ((caller,), ("--user=0:0",)):
            yield Engine(name="docker", command=(docker,), run_options=(*user, *_scratch("exec")))


def _scratch(option: str) -> tuple[str, ...]:
    """Agents fail, some silently, where /tmp cannot be written."""
    return tuple(f"--tmpfs={folder}:rw,nosuid,nodev,mode=1777,{option}" for folder in ("/tmp", "/run", "/var/tmp"))


def _modest(podman: str, options: tuple[str, ...]) -> Engine:
    """Podman that asks for no more than this process has: inside another container its defaults are refused."""
    files, processes = _own_limit(resource.RLIMIT_NOFILE, 1 << 20), _own_limit(resource.RLIMIT_NPROC, 1 << 15)
    runtime = ("--runtime=runc",) if shutil.which("runc") else ()
    return Engine(
        name="podman",
        command=(podman, "--cgroup-manager=cgroupfs", "--events-backend=file", *runtime),
        run_options=(*options, f"--ulimit=nofile={files}:{files}", f"--ulimit=nproc={processes}:{processes}"),
    )


def _own_limit(kind: int, at_most: int) -> int:
    hard = resource.getrlimit(kind)[1]
    return at_most if hard == resource.RLIM_INFINITY else min(hard, at_most)


def _complaint_about(engine: Engine) -> str | None:
    """What goes wrong when it is really used; None when nothing does."""
    version = engine.ask("version", seconds=20.0)
    if version.code != 0:
        return version.complaint
    token = token_hex(8)
    image = f"outweigh-trial:{token}"
    imported = engine.ask("import", "-", image, stdin=_tiny_archive(token))
    if imported.code != 0:
        return imported.complaint
    try:
        return _complaint_about_run(engine, image)
    finally:
        engine.ask("rmi", "--force", image)


def _complaint_about_run(engine: Engine, image: str) -> str | None:
    programs = [bind(folder, folder, read_only=True) for folder in _HOST_PROGRAMS if Path(folder).exists()]
    with tempfile.TemporaryDirectory(prefix="outweigh-trial-", ignore_cleanup_errors=True) as folder:
        options = (*HARDENING, *engine.run_options, *programs, bind(folder, WORKSPACE))
        started = engine.ask("run", "--rm", *options, image, "/bin/sh", "-c", f": > {WORKSPACE}/written")
        written = Path(folder, "written")
        if started.code != 0:
            return started.complaint
        if not written.exists() or written.stat().st_uid != os.getuid():
            return "files written inside do not belong to the caller outside"
    return None


def _tiny_archive(token: str) -> bytes:
    """Unlike any other: engines store equal images once, and another process that removes its own would take ours."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(tarfile.TarInfo(token))
    return archive.getvalue()
