"""The installed dependencies of a task: a folder of this machine that its sandboxes show read-only.

A task names the folder; it is not part of the suite's files, because what is installed depends on the machine. So the
task's checksum has its name, which is a hash of what was installed, and not its path.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from outweigh.errors import UsageError
from outweigh.model.task import Task, TaskDependencies, TaskSettings
from outweigh.model.task_environment import DEPENDENCIES_INSIDE
from outweigh.ports.sandboxes import Mount, SandboxRequest


def load_dependencies(folder: Path, settings: TaskSettings) -> TaskDependencies | None:
    """The dependencies with the full path of their folder, which need not be there before something is run."""
    stated = settings.dependencies
    if stated is None:
        return None
    return TaskDependencies(folder=os.path.normpath(folder.resolve() / stated.folder), hidden=stated.hidden)


def dependencies_identity(settings: TaskSettings) -> dict[str, object]:
    """The part of a task's checksum that is about its dependencies: nothing where it has none."""
    stated = settings.dependencies
    if stated is None:
        return {}
    return {"dependencies": {"name": Path(stated.folder).name, "hidden": sorted(stated.hidden)}}


def require_dependencies(tasks: Iterable[Task], sandbox: str) -> None:
    """Raise UsageError where dependencies are not on this machine, or the sandbox cannot show them at their place."""
    for task in tasks:
        if task.dependencies is None:
            continue
        if sandbox == "local":
            raise UsageError(
                f"task {task.id!r} has dependencies that are installed for {DEPENDENCIES_INSIDE}, and the local "
                'sandbox has no such folder. Set kind = "bubblewrap" or "container" under [sandbox].'
            )
        if not Path(task.dependencies.folder).is_dir():
            raise UsageError(
                f"task {task.id!r} needs dependencies that are not on this machine: there is no folder "
                f"{task.dependencies.folder}. Install them by the command that made the suite, "
                "`outweigh init SUITE --from-git REPOSITORY`; it keeps the tasks that are there."
            )


def dependency_mounts(task: Task) -> tuple[Mount, ...]:
    """What every sandbox of a task shows of its dependencies."""
    if task.dependencies is None:
        return ()
    return (Mount(source=Path(task.dependencies.folder), target=DEPENDENCIES_INSIDE),)


def hide_from_agent(request: SandboxRequest, task: Task) -> SandboxRequest:
    """The request for the agent's sandbox, which does not show the paths that its task hides.

    A full path is one of the system, which sandboxes show as well.
    """
    if task.dependencies is None or not task.dependencies.hidden:
        return request
    hidden = tuple(path for path in task.dependencies.hidden if not path.startswith("/"))
    mounts = [
        replace(mount, hidden=hidden) if mount.target == DEPENDENCIES_INSIDE else mount for mount in request.mounts
    ]
    system = [Path(path) for path in task.dependencies.hidden if path.startswith("/usr/")]
    return replace(request, mounts=(*mounts, *_covers(system, request.home)))


def _covers(paths: Iterable[Path], home: Path) -> Iterator[Mount]:
    """Empty files and folders of the run that cover paths of the system that exist."""
    folder, file = home.with_name("empty-folder"), home.with_name("empty-file")
    for path in paths:
        if path.is_dir():
            folder.mkdir(exist_ok=True)
            yield Mount(source=folder, target=str(path.resolve()))
        elif path.is_file():
            file.touch()
            yield Mount(source=file, target=str(path.resolve()))
