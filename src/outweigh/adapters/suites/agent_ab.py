"""Suites of the A/B harness that comes with Skelly: tasks on the repository that the suite file lies in."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from outweigh.adapters.suites.agent_ab_arms import RunConfig, agent_ab_arms
from outweigh.adapters.suites.agent_ab_task import AbTask, ab_task_draft, ab_task_notes
from outweigh.adapters.suites.foreign_table import ForeignTable, Text, foreign_table, is_table_with
from outweigh.adapters.suites.git_head import head_commit, repository_of
from outweigh.adapters.suites.naming import apart, folder_name
from outweigh.adapters.suites.source_files import looks_like_json, read_json
from outweigh.errors import UsageError, name_some
from outweigh.ports.suites import SuiteWishes
from outweigh.task.suite import SuiteSpec
from outweigh.task.suite_draft import SuiteDraft
from outweigh.task.task import GitSource

_CONFIG_FILE = "config.json"
_RULE = "The harness decides by three gates: `--policy gates` is that rule. This suite has the usual one, `evidence`."


class AbSuite(ForeignTable, frozen=True, kw_only=True):
    """The whole file."""

    tasks: Annotated[list[AbTask], Meta(min_length=1)]
    suite_id: Text | None = None
    description: str = ""


class AgentAb:
    """The acceptance command becomes a required check, the repository's commit the workspace of every task.

    Arms and repeats are options of the harness. The folder of a run remembers them, and is read for it.
    """

    name = "agent-ab"
    looks_for = "a suite file with tasks that have a prompt_file and an acceptance_command, in its git repository"

    def recognises(self, path: Path) -> bool:
        """By the keys of its tasks."""
        return bool(_sources(path))

    def read(self, path: Path, wishes: SuiteWishes) -> SuiteDraft:
        """One file, or the one in a folder."""
        source = _the_source(path)
        suite = foreign_table(read_json(source), AbSuite, source)
        repository = _repository(source)
        commit = head_commit(repository)
        config = _config(source.parent / _CONFIG_FILE)
        arms = agent_ab_arms(repository, config, wishes)
        _refuse_repeated(suite.tasks, source)
        names = apart(folder_name(task.id, f"task-{number}") for number, task in enumerate(suite.tasks, start=1))
        origin = GitSource(repository=str(repository), commit=commit)
        return SuiteDraft(
            spec=SuiteSpec(
                name=folder_name(suite.suite_id or source.stem, self.name),
                tasks=["tasks/*"],
                arms=dict(arms.arms),
                baseline=arms.baseline,
                repeats=config.repeats,
            ),
            tasks=tuple(
                ab_task_draft(task, name, origin, source) for name, task in zip(names, suite.tasks, strict=True)
            ),
            files=arms.files,
            comments={"": suite.description, **arms.comments},
            notes=(*ab_task_notes(suite.tasks, origin), *arms.notes, _RULE),
        )


def _looks_like_a_suite(value: object) -> bool:
    tasks = value.get("tasks") if isinstance(value, dict) else None
    return isinstance(tasks, list) and any(
        is_table_with(task, key) for task in tasks for key in ("prompt_file", "acceptance_command")
    )


def _sources(path: Path) -> list[Path]:
    """A file, or the suites of a folder by the harness's way of naming them; its template is none."""
    try:
        files = [path] if path.is_file() else sorted(path.glob("suite*.json"))
    except OSError:
        return []
    return [file for file in files if ".template." not in file.name and looks_like_json(file, _looks_like_a_suite)]


def _the_source(path: Path) -> Path:
    if path.is_file():
        return path
    found = _sources(path)
    if len(found) != 1:
        names = f"several suites ({name_some([file.name for file in found])})" if found else "no suite"
        raise UsageError(f"{path} holds {names}; name {'one of them' if found else AgentAb.looks_for}.")
    return found[0]


def _repository(source: Path) -> Path:
    repository = repository_of(source)
    if repository is None:
        raise UsageError(
            f"{source} lies in no git repository, and its tasks are about the one that it lies in. Put it back there."
        )
    return repository


def _config(path: Path) -> RunConfig:
    """What the harness was told when it ran, where this is the folder of a run."""
    if not looks_like_json(path, lambda value: is_table_with(value, "arms", "repeats")):
        return RunConfig()
    return foreign_table(read_json(path), RunConfig, path)


def _refuse_repeated(tasks: Sequence[AbTask], source: Path) -> None:
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise UsageError(f"{source}: two tasks have the id {task.id!r}; results are told apart by it.")
        seen.add(task.id)
