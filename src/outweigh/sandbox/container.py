"""The container sandbox provider: one container per trial, without network or privileges, over folders of the host."""

import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock

from outweigh.errors import UsageError
from outweigh.model.task_environment import TaskImage
from outweigh.ports.sandboxes import ReadyImage, Sandbox, SandboxError, SandboxRequest
from outweigh.process import spawn_lock
from outweigh.sandbox.base_sandbox import HOME, hidden_paths
from outweigh.sandbox.confine_program import confine_program, landlock_missing
from outweigh.sandbox.container_engine import (
    ContainerEngine,
    NoEngineError,
    bind_mount_option,
    find_engine,
)
from outweigh.sandbox.container_images import ContainerImages, copy_image_files, prepare_task_image
from outweigh.sandbox.container_process import FirstProcesses, ProcProtection
from outweigh.sandbox.container_sandbox import (
    CONFINE_FILE,
    SCRIPT_FOLDER,
    ContainerParts,
    ContainerSandbox,
    place_inside,
    relay_name,
    workspace_inside,
)
from outweigh.sandbox.seccomp import machine_architecture

TRIAL_LABEL = "outweigh.trial"
SCRIPTS_LABEL = "outweigh.notes"

_EMPTY_FOLDER, _EMPTY_FILE = "empty", "nothing"  # what covers hidden paths
# The first process only waits. It cannot be killed from inside, and a shell reaps orphans while it waits. The argument
# after its script is the name of the container, by which the process is recognised.
_IDLE_COMMAND = ("/bin/sh", "-c", "while :; do sleep 3600 & wait $!; done")


def container_arguments(
    engine: ContainerEngine, request: SandboxRequest, scripts: Path, image: tuple[str, ...]
) -> tuple[str, ...]:
    """The arguments between `run --detach --name=NAME` and the last one, NAME.

    `scripts` is a folder of the host that the container can only read.
    """
    _check_paths(request)
    (scripts / "hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    (scripts / _EMPTY_FOLDER).mkdir()
    (scripts / _EMPTY_FILE).touch()
    return (
        f"--label={TRIAL_LABEL}={request.label}",
        f"--label={SCRIPTS_LABEL}={scripts}",
        *engine.hardening_options(scripts, request.disk_mb, writable_system=request.writable_system),
        *_limit_options(request),
        *_mount_options(request, scripts),
        f"--workdir={workspace_inside(request)}",
        "--entrypoint=",  # an image's own entry point would get the command as its arguments
        "--no-healthcheck",
        *image,
        *_IDLE_COMMAND,
    )


def relay_arguments(
    engine: ContainerEngine, request: SandboxRequest, scripts: Path, image: tuple[str, ...], container: str
) -> tuple[str, ...]:
    """The arguments after `run` of a second container, which carries the ports of one that cannot be entered."""
    from outweigh.sandbox.port_relay import copy_relay_programs, relay_command  # noqa: PLC0415 - seldom needed

    copy_relay_programs(scripts)
    return (
        *("--rm", "--interactive", f"--name={relay_name(container)}"),
        *(f"--label={TRIAL_LABEL}={request.label}", f"--label={SCRIPTS_LABEL}={scripts}"),
        *engine.hardening_options(scripts, request.disk_mb, network=f"container:{container}"),
        bind_mount_option(scripts, SCRIPT_FOLDER, read_only=True),
        *_read_only_options(request),
        "--entrypoint=",
        *image,
        *relay_command(SCRIPT_FOLDER, request.ports),
    )


def _check_paths(request: SandboxRequest) -> None:
    mounted = (mount.source for mount in request.mounts)
    for path in (request.workspace, request.home, *mounted, *map(Path, (*request.read_only, *request.system_paths))):
        if "," in str(path) or not path.is_absolute() or not path.exists():
            raise UsageError(
                f"{path} cannot be shown in a container: it must exist and be a full path without a comma in it."
            )


def _limit_options(request: SandboxRequest) -> Iterator[str]:
    if request.memory_mb is not None:
        yield f"--memory={request.memory_mb}m"
        yield f"--memory-swap={request.memory_mb}m"  # memory and swap together, so this allows no swap
    if request.processes is not None:
        yield f"--pids-limit={request.processes}"
    if request.cpus is not None:
        # Engines refuse more processors than there are.
        yield f"--cpus={min(request.cpus, os.cpu_count() or 1):g}"


def _mount_options(request: SandboxRequest, scripts: Path) -> Iterator[str]:
    yield bind_mount_option(request.workspace, workspace_inside(request))
    yield bind_mount_option(request.home, HOME)
    yield bind_mount_option(scripts, SCRIPT_FOLDER, read_only=True)
    # Otherwise podman copies the names in the host's own file.
    yield bind_mount_option(scripts / "hosts", "/etc/hosts", read_only=True)
    for mount in request.mounts:
        yield bind_mount_option(mount.source, mount.target, read_only=not mount.writable)
        for path, inside in hidden_paths(mount):
            yield bind_mount_option(scripts / (_EMPTY_FOLDER if path.is_dir() else _EMPTY_FILE), inside, read_only=True)
    yield from _read_only_options(request)


def _read_only_options(request: SandboxRequest) -> Iterator[str]:
    for path in map(os.path.normpath, request.read_only):
        yield bind_mount_option(path, path, read_only=True)
    for path in map(os.path.normpath, request.system_paths):
        yield bind_mount_option(path, place_inside(path), read_only=True)


_SCRIPTS_PREFIX = "outweigh-notes-"


class ContainerSandboxProvider:
    """Opens containers with podman or docker, whichever works; the choice is made once."""

    def __init__(self, engine: ContainerEngine | None = None) -> None:
        self._images = ContainerImages()
        self._processes = FirstProcesses()
        self._protection = ProcProtection()
        self._finding = Lock()
        self._found: ContainerEngine | NoEngineError | None = engine

    @property
    def name(self) -> str:
        """The name that a suite uses."""
        return "container"

    def missing(self) -> str | None:
        """What to install; None when a test container could be started."""
        found = self._find()
        return str(found) if isinstance(found, NoEngineError) else None

    def protection_missing(self) -> str | None:
        """Why a program that a check starts is not kept from the process that checks it; None when it is.

        Some of it is known only when a container has been started.
        """
        return landlock_missing() or self._protection.fault

    @contextmanager
    def open(self, request: SandboxRequest) -> Iterator[Sandbox]:
        """Start a container; leaving the context removes it with everything in it."""
        engine = self._engine()
        own = request.task_image
        image = (own.name,) if own is not None else self._images.arguments(engine, request.image)
        scripts = Path(tempfile.mkdtemp(prefix=_SCRIPTS_PREFIX, dir=_scripts_parent(request)))
        try:
            _write_confine_program(scripts / CONFINE_FILE)
            parts = ContainerParts(
                scripts=scripts,
                start=container_arguments(engine, request, scripts, image),
                relay=partial(relay_arguments, engine, request, scripts, image),
            )
            sandbox = ContainerSandbox(engine, request, parts, self._processes, self._protection)
            try:
                sandbox.start()
                yield sandbox
            finally:
                sandbox.remove()
        finally:
            shutil.rmtree(scripts, ignore_errors=True)

    def prepare_image(self, image: TaskImage, *, network: str) -> ReadyImage:
        """Build the image of a task, or find the stored one that it names."""
        return prepare_task_image(self._engine(), image, network=network)

    def copy_files(self, image: ReadyImage, target: Path) -> None:
        """Copy what an image has in its working directory into a new folder."""
        copy_image_files(self._engine(), image, target)

    def sweep(self, label_prefix: str) -> list[str]:
        """Remove the containers that a killed run left behind; without a working engine there are none."""
        found = self._find()
        if isinstance(found, NoEngineError):
            return []
        return [
            _remove_stale_container(found, *left)
            for left in _find_stale_containers(found)
            if left[1].startswith(label_prefix)
        ]

    def _engine(self) -> ContainerEngine:
        found = self._find()
        if isinstance(found, NoEngineError):
            raise SandboxError(str(found))
        return found

    def _find(self) -> ContainerEngine | NoEngineError:
        with self._finding:
            if self._found is None:
                try:
                    self._found = find_engine()
                except NoEngineError as reason:
                    self._found = reason
            return self._found


def _scripts_parent(request: SandboxRequest) -> Path | None:
    """Where the folder with the scripts lies. A virtual machine shows containers the folders of its user, and often
    not the host's temporary folder, so there the scripts lie beside the run's home.
    """
    return None if platform.system() == "Linux" else request.home.parent


def _write_confine_program(path: Path) -> None:
    architecture = machine_architecture()
    if architecture is None or landlock_missing() is not None:
        return
    with spawn_lock():
        path.write_bytes(confine_program(architecture))
        path.chmod(0o555)


def _find_stale_containers(engine: ContainerEngine) -> list[tuple[str, str, str]]:
    """Id, label and script folder of every container of ours, relays first: others cannot be removed before them."""
    listed = engine.run("ps", "--all", "--quiet", f"--filter=label={TRIAL_LABEL}")
    if listed.code != 0:
        raise SandboxError(f"{engine.name} cannot list its containers: {listed.error}")
    labels = (f'{{{{index .Config.Labels "{label}"}}}}' for label in (TRIAL_LABEL, SCRIPTS_LABEL))
    fields = "\t".join(("{{.Name}}", "{{.Id}}", *labels))
    found = []
    for container in listed.out.split():
        # Inspected one by one, so that a container that ends meanwhile does not fail the others.
        answer = engine.run("inspect", "--format", fields, container)
        if answer.code == 0:
            name, identity, label, scripts = answer.out.split("\t")
            found.append((not name.endswith(relay_name("")), (identity, label, scripts)))
    return [container for _, container in sorted(found)]


def _remove_stale_container(engine: ContainerEngine, identity: str, label: str, scripts: str) -> str:
    engine.remove(identity)
    if Path(scripts).name.startswith(_SCRIPTS_PREFIX):
        shutil.rmtree(scripts, ignore_errors=True)
    return f"container {identity[:12]} of {label}"
