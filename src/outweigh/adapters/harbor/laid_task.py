"""A task with an arm's files laid over its workspace: a copy whose Dockerfile ends by copying them in.

Harbor's environments share nothing but the Dockerfile: mounts exist in some of them only, and a file that an
environment leaves out in silence would make one arm the other.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from outweigh.adapters.harbor.task_fit import DOCKERFILE, HarborTask
from outweigh.errors import UsageError
from outweigh.task.arm import Arm, OverlayFile

OVERLAY = "outweigh-overlay"
_IGNORE_FILES = (".dockerignore", f"{DOCKERFILE}.dockerignore")
_PLAIN_PLACE = re.compile(r"[A-Za-z0-9._/@+-]+")
"""What means itself in a line of a Dockerfile and in a shell."""


def laid_folder(root: Path, arm: Arm, task: HarborTask) -> Path:
    """Where Harbor finds the task for this arm: as it is where the arm lays nothing, else in a copy below `root`."""
    if not arm.overlay:
        return task.folder
    if task.own_image:
        raise UsageError(
            f"arms.{arm.name} lays files into the workspace, and Harbor takes the image of task {task.id!r} as it is. "
            f"Let environment/{DOCKERFILE} build it, without docker-compose.yaml, and with force_build = true under "
            "[harbor.environment] where task.toml names a docker_image; or leave the task out."
        )
    if task.workdir is not None and _PLAIN_PLACE.fullmatch(task.workdir) is None:
        raise UsageError(
            f"arms.{arm.name} lays files into the workspace, and the `workdir` of task {task.id!r}, {task.workdir!r}, "
            f"cannot be written into a {DOCKERFILE} as it is. Give it a plain path, or leave the task out."
        )
    return root / arm.fingerprint[:16] / task.id


def lay(folder: Path, arm: Arm, task: HarborTask, contents: Mapping[str, bytes]) -> None:
    """Write the copy anew; nothing is written for an arm that lays nothing."""
    if not arm.overlay:
        return
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(task.folder, folder, symlinks=True)
    place = folder / "environment" / OVERLAY
    _write(place, arm.overlay, contents)
    _add_lines(folder / "environment" / DOCKERFILE, _last_lines(task.workdir))
    for name in _IGNORE_FILES:
        if (folder / "environment" / name).is_file():
            # The last line that fits decides: a pattern such as **/*.md would take an arm's files away in silence.
            _add_lines(folder / "environment" / name, f"!{OVERLAY}\n!{OVERLAY}/**\n")


def _add_lines(file: Path, lines: str) -> None:
    file.write_bytes(file.read_bytes().rstrip() + b"\n" + lines.encode())


def _write(place: Path, overlay: Sequence[OverlayFile], contents: Mapping[str, bytes]) -> None:
    for file in overlay:
        target = place / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(contents[file.sha256])
        target.chmod(0o755 if file.executable else 0o644)


def _last_lines(workdir: str | None) -> str:
    """The files go where the agent starts; a task that copies its whole folder has their source there too."""
    there = workdir or "."
    return f"COPY {OVERLAY}/ {there}/\nRUN rm -rf {there}/{OVERLAY} || true\n"
