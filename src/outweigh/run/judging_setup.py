"""What a suite has to say to judges: texts of its tasks, and the names that would give an arm away."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from outweigh.errors import UsageError
from outweigh.run.loading import LoadedSuite
from outweigh.run.tree import paths_below
from outweigh.task.arm import Arm
from outweigh.task.task import Task

MOST_OF_A_FILE = 200_000


def judged_tasks(suite: LoadedSuite) -> tuple[Task, ...]:
    """The tasks that have a rubric; a suite with judges must have one."""
    tasks = tuple(task for task in suite.tasks if task.rubric is not None)
    if suite.spec.judges and not tasks:
        raise UsageError(
            f"{suite.spec.name} has [[judges]], and none of its tasks has a rubric for them. Write one under "
            "[metadata.outweigh.rubric] of a task.toml, or leave the judges out."
        )
    return tasks


def solution_text(task: Task) -> str | None:
    """The files of the task's own solution, where judges may see them; None where they may not or there are none."""
    if not task.reveal_solution or task.solution_folder is None:
        return None
    root = Path(task.solution_folder)
    files = (path for path in paths_below(root) if path.is_file() and not path.is_symlink())
    return "\n\n".join(f"{path.relative_to(root).as_posix()}:\n{_text(path)}" for path in files)


def tell_tales(arms: Iterable[Arm]) -> tuple[str, ...]:
    """Names of arms, models, skills and tool servers, and the places where set-ups are laid."""
    return tuple(sorted({name for arm in arms for name in _names(arm) if name}))


def _names(arm: Arm) -> Iterator[str]:
    yield from (arm.name, arm.model or "")
    yield from arm.skills
    yield from arm.mcp_servers
    yield from (file.path for file in arm.overlay)


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(MOST_OF_A_FILE).decode(errors="backslashreplace")
