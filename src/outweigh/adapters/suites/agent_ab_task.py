"""One task of the A/B harness: a prompt in the repository, and the command that accepts the work."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from outweigh.adapters.suites.foreign_table import ForeignTable, Text
from outweigh.adapters.suites.source_files import read_text, within
from outweigh.errors import UsageError, name_some
from outweigh.task.check import CommandCheck
from outweigh.task.spec import Seconds
from outweigh.task.suite_draft import TaskDraft
from outweigh.task.task import GitSource, TaskSettings

_CHECK = "acceptance"


class AbTask(ForeignTable, frozen=True, kw_only=True):
    """A task: `prompt_file` is a path within the repository, the command is run there by bash."""

    id: Text
    prompt_file: Annotated[str, Meta(min_length=1, max_length=1000)]
    acceptance_command: Text
    setup_commands: list[str] = []  # noqa: RUF012 - msgspec copies defaults
    timeout_seconds: Seconds = 1800.0
    tags: list[str] = []  # noqa: RUF012


def ab_task_draft(task: AbTask, name: str, origin: GitSource, source: Path) -> TaskDraft:
    """The task as it is written here; bash runs the command, as the harness has it."""
    return TaskDraft(
        name=name,
        instruction=f"{_prompt(task, Path(origin.repository), source)}\n\n{_announced(task.acceptance_command)}\n",
        settings=TaskSettings(
            checks=[CommandCheck(name=_CHECK, run=["bash", "-c", task.acceptance_command])],
            workspace=origin,
            timeout_seconds=task.timeout_seconds,
        ),
    )


def _prompt(task: AbTask, repository: Path, source: Path) -> str:
    where = f"{source}: prompt_file of {task.id!r}"
    stated = Path(task.prompt_file)
    inside = str(stated.relative_to(repository)) if stated.is_relative_to(repository) else task.prompt_file
    text = read_text(within(repository, inside, where)).strip()
    if not text or "\0" in text:
        raise UsageError(f"{where}: {task.prompt_file} holds no text; write down there what the agent is asked to do.")
    return text


def _announced(command: str) -> str:
    """Agents of this harness know by what they are judged, and its prompts rely on that."""
    lines = "\n".join(f"    {line}" for line in command.splitlines())
    return f"The work is accepted when this command passes:\n\n{lines}"


def ab_task_notes(tasks: Sequence[AbTask], origin: GitSource) -> Iterator[str]:
    """What a person must know about the tasks that were read."""
    yield (
        f"All tasks start from commit {origin.commit[:12]} of {origin.repository}, which was checked out when the "
        "suite was read. To run it elsewhere, write the repository's address into each task.toml."
    )
    yield (
        "The agent is told the acceptance command, as the harness tells it. What its run script says besides is no "
        "part of the suite."
    )
    for task in tasks:
        if commands := [command for command in task.setup_commands if command.strip()]:
            yield (
                f"The setup of {task.id!r} ({name_some(commands)}) is not run: a workspace is a commit as it is. Run "
                "it in the repository, commit what it leaves, and name that commit in the task."
            )
    if any(task.tags for task in tasks):
        yield "Tags of tasks are left out; `family` of a task is for those that belong together."
