"""The folder `.outweigh` in the workspace: what an agent needs beside the task, removed before anything is checked.

The task's own solution is copied there to be run.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree

from outweigh.model.task import Task
from outweigh.ports.agents import SOLUTION_MOUNT, AttemptRequest
from outweigh.ports.sandboxes import CompletedCommand, Sandbox
from outweigh.process import run_process

PRIVATE_FOLDER = ".outweigh"
"""A reserved name: sandboxes read and write only the workspace, so files that do not belong to the task are here."""


@contextmanager
def private_folder(sandbox: Sandbox) -> Iterator[str]:
    """The folder's path inside the sandbox; leaving the context removes it from the workspace."""
    try:
        yield f"{sandbox.workspace}/{PRIVATE_FOLDER}"
    finally:
        _remove(sandbox)


def _remove(sandbox: Sandbox) -> None:
    """Remove the folder from outside, because a stopped process cannot; a link is removed and never followed.

    It never fails: an agent may have closed the folders, or nested them deeper than the call stack.
    """
    folder = sandbox.host_workspace / PRIVATE_FOLDER
    with suppress(OSError):
        if not os.access(sandbox.host_workspace, os.R_OK | os.W_OK | os.X_OK):
            sandbox.host_workspace.chmod(0o755)
        if stat.S_ISDIR(folder.lstat().st_mode):
            _remove_folder(folder)
        else:
            folder.unlink()


def _remove_folder(folder: Path) -> None:
    try:
        rmtree(folder)
    except (OSError, RecursionError):  # by processes, which handle any depth
        for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            run_process([*command, "--", str(folder)])


SOLUTION_SCRIPT = "solve.sh"


def has_solution(task: Task) -> bool:
    """Whether the task has a solution that can be run."""
    return task.solution_folder is not None and Path(task.solution_folder, SOLUTION_SCRIPT).is_file()


def run_solution(request: AttemptRequest, sandbox: Sandbox) -> CompletedCommand:
    """Copy the solution's files in, run `solve.sh` in the workspace, and remove them again.

    The script finds its own files in the folder that OUTWEIGH_SOLUTION names. In an image of the task they are where
    Harbor has them.
    """
    with private_folder(sandbox) as private:
        _copy_solution(Path(request.task.solution_folder or ""), sandbox)
        place = f"{private}/solution"
        shown = f'[ -x "{SOLUTION_MOUNT}/{SOLUTION_SCRIPT}" ] && OUTWEIGH_SOLUTION={SOLUTION_MOUNT}; '
        return sandbox.exec(
            ["sh", "-c", f'{shown if request.task.image else ""}exec "$OUTWEIGH_SOLUTION/{SOLUTION_SCRIPT}"'],
            environment={**request.environment, "OUTWEIGH_SOLUTION": place},
            timeout_seconds=request.timeout_seconds,
        )


def _copy_solution(folder: Path, sandbox: Sandbox) -> None:
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            inside = f"{PRIVATE_FOLDER}/solution/{file.relative_to(folder).as_posix()}"
            executable = file.name == SOLUTION_SCRIPT or bool(file.stat().st_mode & 0o100)
            sandbox.write(inside, file.read_bytes(), executable=executable)
