"""What containers are made from: a stored image, a root folder, or a Dockerfile that is built when first needed.

The image of a task is tagged with a hash of its Dockerfile and everything beside it. It is built once on a machine,
however many engines need it at the same time.
"""

import fcntl
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import file_digest, sha256
from pathlib import Path, PurePosixPath
from secrets import token_hex
from subprocess import TimeoutExpired
from tempfile import gettempdir
from threading import Lock

import msgspec

from outweigh.errors import UsageError
from outweigh.model.task_environment import TaskImage
from outweigh.ports.sandboxes import ReadyImage, SandboxError
from outweigh.process import run_process
from outweigh.sandbox.container_engine import ContainerEngine, client_environment

BUILD_TIMEOUT_SECONDS = 1800.0
TASK_IMAGE = "localhost/outweigh-task"
_COPY_TIMEOUT_SECONDS = 1800.0
_ROOT_FOLDER = "rootfs:"
_DOCKERFILE = "dockerfile:"
_SHOWN_LINES = 4
_SHOWN_CHARACTERS = 700
# A build may use the network, and these say how.
_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
# Folders that a container needs as they are in its image, or that the sandbox has a use for.
_NOT_A_WORKSPACE = frozenset(
    ("", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/logs", "/opt", "/outweigh", "/proc", "/run")
) | {"/sbin", "/sys", "/tests", "/tmp", "/usr", "/var"}


class ContainerImages:
    """Turns the image that a suite names into arguments of `run`; a Dockerfile is built once per process."""

    def __init__(self) -> None:
        self._built: dict[Path, str] = {}
        self._building = Lock()

    def arguments(self, engine: ContainerEngine, image: str | None) -> tuple[str, ...]:
        """The last options: what the container starts from."""
        if not image:
            raise UsageError(
                "the container sandbox needs an image: give [sandbox] image = the name of a stored one, "
                '"rootfs:/folder" or "dockerfile:/folder".'
            )
        if image.startswith(_ROOT_FOLDER):
            return _rootfs_arguments(engine, Path(image.removeprefix(_ROOT_FOLDER)))
        if image.startswith(_DOCKERFILE):
            return (self._build(engine, Path(image.removeprefix(_DOCKERFILE))),)
        return (image,)

    def _build(self, engine: ContainerEngine, folder: Path) -> str:
        if not folder.is_dir():
            raise UsageError(f"{folder}, named as the folder of a Dockerfile, is not a folder.")
        with self._building:
            if folder not in self._built:
                self._built[folder] = _build_unnamed(engine, folder)
            return self._built[folder]


def explain_missing_image(engine: ContainerEngine, image: str) -> str | None:
    """What to do when an image is not stored here; None when it is. Images are never pulled during a run."""
    if image.startswith((_ROOT_FOLDER, _DOCKERFILE)) or _is_stored(engine, image):
        return None
    return f"image {image!r} is not stored here; fetch it before the first run: {engine.name} pull {image}"


def _is_stored(engine: ContainerEngine, image: str) -> bool:
    return engine.run("image", "inspect", image).code == 0


def _rootfs_arguments(engine: ContainerEngine, folder: Path) -> tuple[str, ...]:
    if engine.name != "podman":
        raise UsageError(
            f"only podman starts from a folder, and {engine.name} is what works here: import it as an image."
        )
    if not folder.is_absolute() or not folder.is_dir():
        raise UsageError(f"{folder}, named as the root of a container, is not the full path of a folder.")
    return ("--rootfs", f"{folder}:O")  # O: an overlay, so that the folder itself is never changed


def _build_unnamed(engine: ContainerEngine, folder: Path) -> str:
    answer = engine.run("build", "--quiet", *engine.build_options, str(folder), seconds=BUILD_TIMEOUT_SECONDS)
    if answer.code != 0:
        raise UsageError(f"{folder} cannot be built: {answer.error}. Try it by hand: {engine.name} build {folder}")
    return answer.out.splitlines()[-1]


def prepare_task_image(engine: ContainerEngine, image: TaskImage, *, network: str) -> ReadyImage:
    """Build the image of a task, or find the stored one that it names."""
    if image.dockerfile is None:
        name = image.name or ""
        if (missing := explain_missing_image(engine, name)) is not None:
            raise UsageError(missing)
    else:
        seconds = image.build_timeout_seconds or BUILD_TIMEOUT_SECONDS
        name = _build_once(engine, Path(image.dockerfile), network=network, seconds=seconds)
    return _describe(engine, name, image)


def _build_once(engine: ContainerEngine, folder: Path, *, network: str, seconds: float) -> str:
    digest = context_digest(folder)[:32]
    name = f"{TASK_IMAGE}:{digest}"
    with _locked(_builds_folder() / f"{digest}.lock"):
        if not _is_stored(engine, name):
            _build(engine, folder, name, network=network, seconds=seconds)
    return name


def context_digest(folder: Path) -> str:
    """A hash of a Dockerfile and everything beside it: names, kinds, executable bits, links and content."""
    whole = sha256()
    for root, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted([*files, *folders]):
            path = Path(root, name)
            whole.update(msgspec.json.encode((str(path.relative_to(folder)), *_traits(path))) + b"\n")
    return whole.hexdigest()


def _traits(path: Path) -> tuple[str, str]:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return "link", str(path.readlink())
    if not stat.S_ISREG(mode):
        return "folder" if stat.S_ISDIR(mode) else "other", ""
    with path.open("rb") as file:
        return "program" if mode & stat.S_IXUSR else "file", file_digest(file, "sha256").hexdigest()


def _builds_folder() -> Path:
    """Where the locks and the output of builds are, for this user alone."""
    folder = Path(gettempdir()).resolve() / f"outweigh-builds-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise UsageError(f"{folder} belongs to another user, and builds are kept there; remove it, or set TMPDIR.")
    return folder


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(engine: ContainerEngine, folder: Path, name: str, *, network: str, seconds: float) -> None:
    """Build an image. Where the engine's own network does not work, no other one is given without being asked for."""
    log = _builds_folder() / f"{name.rpartition(':')[2]}.log"
    output = _try_build(engine, folder, name, network=network, seconds=seconds, log=log)
    if output is not None and _STORAGE_FAULT.search(output) is not None:
        output = _try_build(engine, folder, name, network=network, seconds=seconds, log=log)
    advice = ""
    if output is not None and network == "default" and _NETWORK_FAULT.search(output) is not None:
        output = _try_build(engine, folder, name, network="none", seconds=seconds, log=log)
        advice = (
            f"The network of {engine.name} does not work here, so it was built without one; to let it use that of this "
            'machine, set build_network = "host" under [sandbox]. '
        )
    if output is not None:
        raise UsageError(
            f"its image cannot be built: {_last_lines(output)} {advice}The whole output is in {log}; try it by hand: "
            f"{engine.name} build {folder}"
        )


def _try_build(
    engine: ContainerEngine, folder: Path, name: str, *, network: str, seconds: float, log: Path
) -> bytes | None:
    """The output of a build that failed; None when the image is there."""
    options = (*engine.build_options, *(() if network == "default" else (f"--network={network}",)))
    proxies = {key: os.environ[key] for key in _PROXY_VARIABLES if network != "none" and key in os.environ}
    try:
        done = run_process(
            [*engine.command, "build", f"--tag={name}", *options, str(folder)],
            environment={**client_environment(), **proxies},
            timeout_seconds=seconds,
        )
    except TimeoutExpired as late:
        log.write_bytes((late.stdout or b"") + (late.stderr or b""))
        raise UsageError(f"its image was not built within {seconds:g} s. The output so far is in {log}.") from None
    output = done.stdout + done.stderr
    log.write_bytes(output)
    return None if done.returncode == 0 else output


# What engines print when they cannot make a network for the commands of a build.
_NETWORK_FAULT = re.compile(rb"netavark|slirp4netns|pasta failed|setting up (?:the )?network|iptables", re.IGNORECASE)
# What they print when another process removes an image meanwhile that a build could have used.
_STORAGE_FAULT = re.compile(rb"(?:layer|image) not known|not a known (?:layer|image)", re.IGNORECASE)
_NOISE = re.compile(r"time=\"|error running container: did not get container start message")


def _last_lines(output: bytes) -> str:
    printed = (line.strip() for line in output.decode(errors="replace").splitlines())
    lines = [line for line in printed if line and _NOISE.match(line) is None]
    shown = " / ".join(lines[-_SHOWN_LINES:])[-_SHOWN_CHARACTERS:]
    return f"{shown.rstrip('.')}." if shown else "it printed nothing."


def _describe(engine: ContainerEngine, name: str, image: TaskImage) -> ReadyImage:
    answer = engine.run("image", "inspect", "--format", "{{json .Config}}", name)
    try:
        config = msgspec.json.decode(answer.out or b"{}", type=_ImageConfig | None) or _ImageConfig()
    except msgspec.MsgspecError:
        raise SandboxError(f"{engine.name} does not describe image {name!r}: {answer.error}.") from None
    own = dict(entry.partition("=")[::2] for entry in config.Env or () if "=" in entry)
    # Inside, the home folder is the run's own, and PATH is set by the engine.
    variables = {key: value for key, value in {**own, **image.variables}.items() if key not in ("HOME", "PATH")}
    return ReadyImage(name=name, working_directory=_working_directory(config, image), variables=variables)


class _ImageConfig(msgspec.Struct):
    """What engines print about an image, as far as it matters here; the names are theirs."""

    WorkingDir: str | None = None
    Env: list[str] | None = None


def _working_directory(config: _ImageConfig, image: TaskImage) -> str:
    found = os.path.normpath(PurePosixPath("/", config.WorkingDir or "", image.working_directory or ""))
    if found.rstrip("/") in _NOT_A_WORKSPACE or "," in found:
        stated = f"is {found}" if found != "/" else "is not stated"
        raise UsageError(
            f"the working directory of its image {stated}, and the workspace must be a folder of its own: add a line "
            "such as `WORKDIR /app` to its Dockerfile, or set workdir under [environment] in its task.toml."
        )
    return found


def copy_image_files(engine: ContainerEngine, image: ReadyImage, target: Path) -> None:
    """Copy the working directory of an image into a new folder; all of it then belongs to the caller."""
    target.mkdir()
    container = f"outweigh-copy-{token_hex(8)}"
    made = engine.run("create", "--pull=never", "--network=none", f"--name={container}", image.name, "/bin/true")
    if made.code != 0:
        raise SandboxError(f"{engine.name} cannot read image {image.name!r}: {made.error}.")
    try:
        source = f"{container}:{image.working_directory}/."
        copied = engine.run("cp", source, f"{target}/", seconds=_COPY_TIMEOUT_SECONDS)
    finally:
        engine.remove(container)
    # A working directory that only task.toml names need not exist in the image.
    if copied.code != 0 and "find" not in copied.error and "found" not in copied.error:
        raise SandboxError(f"{engine.name} cannot copy {image.working_directory} of {image.name!r}: {copied.error}.")
    _take_over(target)


def _take_over(folder: Path) -> None:
    """Give the caller every file, and the right to read and write it: inside, nobody has the rights of root."""
    for root, folders, files in os.walk(folder):
        for path in (Path(root), *(Path(root, name) for name in (*files, *folders))):
            status = path.lstat()
            if status.st_uid != os.getuid() or status.st_gid != os.getgid():
                os.lchown(path, os.getuid(), os.getgid())
            if not stat.S_ISLNK(status.st_mode):
                path.chmod((status.st_mode & 0o777) | (0o700 if stat.S_ISDIR(status.st_mode) else 0o600))
