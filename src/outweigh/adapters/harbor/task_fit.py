"""Which tasks Harbor can run as the suite means them, and what stands in their files about it."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outweigh.errors import UsageError
from outweigh.task.task import FolderSource, Task
from outweigh.transcript.foreign import amount, mapping, name

TASK_FILE = "task.toml"
DOCKERFILE = "Dockerfile"
COMPOSE_FILE = "docker-compose.yaml"
SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class HarborTask:
    """A task that Harbor can run: where it lies, and where its agent starts if the task says so.

    `own_image` is whether Harbor takes the image as it is, so that nothing can be added by its Dockerfile.
    """

    id: str
    folder: Path
    workdir: str | None
    own_image: bool
    stated_timeout_seconds: float | None
    timeout_seconds: float | None


def fitting_tasks(tasks: Iterable[Task], *, scored: Iterable[str], force_build: bool) -> tuple[HarborTask, ...]:
    """All of them, or the reasons why some cannot be run there. `scored` are the tasks whose only check is test.sh."""
    graded = frozenset(scored)
    found: list[HarborTask] = []
    reasons: list[str] = []
    for task in tasks:
        if task.id not in graded or (folder := _folder(task)) is None:
            reasons.append(f"{task.id}: Harbor knows no checks but tests/test.sh; let that script check everything.")
            continue
        document = tomllib.loads((folder / TASK_FILE).read_text(encoding="utf-8"))
        reasons += [f"{task.id}: {why}" for why in _misfits(task, folder, document)]
        found.append(_fitting(task, folder, document, force_build=force_build))
    if reasons:
        more = f" (and {len(reasons) - SHOWN} more)" if len(reasons) > SHOWN else ""
        raise UsageError(f"not every task can be run through Harbor. {' '.join(reasons[:SHOWN])}{more}")
    return tuple(found)


def common_timeout(tasks: Iterable[HarborTask], otherwise_seconds: float) -> float | None:
    """What Harbor must be told about time: nothing where every task says it itself, else the time of all of them."""
    wanted = {task: task.timeout_seconds or otherwise_seconds for task in tasks}
    unsaid = [task.id for task, seconds in wanted.items() if task.stated_timeout_seconds != seconds]
    if not unsaid:
        return None
    if len(set(wanted.values())) == 1:
        return next(iter(wanted.values()))
    raise UsageError(
        "Harbor knows a task's time limit by `timeout_sec` under [agent] in its task.toml, or one for all tasks. Write "
        f"it down for {', '.join(unsaid[:SHOWN])}{' and others' if len(unsaid) > SHOWN else ''}."
    )


def _folder(task: Task) -> Path | None:
    """The task's own folder is the one that its tests lie in."""
    folder = Path(task.tests_folder).parent if task.tests_folder else None
    return folder if folder is not None and (folder / TASK_FILE).is_file() else None


def _misfits(task: Task, folder: Path, document: Mapping[str, Any]) -> Iterator[str]:
    place = folder / "environment"
    image = mapping(document.get("environment")).get("docker_image")
    if not (image or (place / DOCKERFILE).is_file() or (place / COMPOSE_FILE).is_file()):
        yield f"it has no environment/{DOCKERFILE}, which Harbor would build; write one."
    if task.workspace is not None and not _is_folder(task.workspace, place):
        yield f"its workspace is not environment/; let environment/{DOCKERFILE} fetch it."


def _is_folder(workspace: object, place: Path) -> bool:
    return isinstance(workspace, FolderSource) and Path(workspace.path) == place.resolve()


def _fitting(task: Task, folder: Path, document: Mapping[str, Any], *, force_build: bool) -> HarborTask:
    environment = mapping(document.get("environment"))
    place = folder / "environment"
    is_built = force_build or not environment.get("docker_image")
    return HarborTask(
        id=task.id,
        folder=folder,
        workdir=name(environment.get("workdir")),
        own_image=not (is_built and (place / DOCKERFILE).is_file()) or (place / COMPOSE_FILE).is_file(),
        stated_timeout_seconds=amount(mapping(document.get("agent")).get("timeout_sec")),
        timeout_seconds=task.timeout_seconds,
    )
