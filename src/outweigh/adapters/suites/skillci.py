"""SkillCI's suites: folders with a `task.json` each, beside the files that the task starts from."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from outweigh.adapters.suites.arms_draft import BASELINE, CANDIDATE, ArmsDraft, unnamed_arms
from outweigh.adapters.suites.foreign_table import is_table_with
from outweigh.adapters.suites.judged import rules_for
from outweigh.adapters.suites.naming import apart, folder_name
from outweigh.adapters.suites.skillci_task import TASK_FILE, SkillCiTask, read_task, task_draft
from outweigh.adapters.suites.source_files import looks_like_json, tree
from outweigh.errors import UsageError, name_some
from outweigh.ports.suites import DEFAULT_AGENT, SuiteWishes
from outweigh.task.arm import ArmSpec
from outweigh.task.suite import SuiteSpec
from outweigh.task.suite_draft import SuiteDraft

_NOT_KNOWN_HERE = "cursor"
_CONFIGURATIONS = (".", "config")


class SkillCi:
    """Every check becomes a required one, the rubric a criterion from 0 to 1, the fixture the workspace.

    What is compared is no part of the tasks; folders `baseline` and `candidate` beside them are taken for it.
    """

    name = "skillci"
    looks_for = f"a {TASK_FILE} with a fixtureDir, or a folder of such tasks"

    def recognises(self, path: Path) -> bool:
        """By a key that no other format has."""
        return any(
            looks_like_json(source, lambda value: is_table_with(value, "fixtureDir")) for source in _sources(path)
        )

    def read(self, path: Path, wishes: SuiteWishes) -> SuiteDraft:
        """The tasks of the folder and of the folders in it, by their ids."""
        sources = _sources(path)
        if not sources:
            raise UsageError(f"{path} has no {TASK_FILE}, nor has a folder in it; name {self.looks_for}.")
        read = sorted(((read_task(source), source) for source in sources), key=lambda each: (each[0].id, each[1]))
        _refuse_repeated(read)
        tasks, root, own = [task for task, _ in read], _root(path), frozenset(source.resolve() for source in sources)
        names = apart(folder_name(task.id, f"task-{number}") for number, task in enumerate(tasks, start=1))
        drafts = tuple(
            task_draft(task, name, source, root, own) for name, (task, source) in zip(names, read, strict=True)
        )
        agent, rules = _agent(tasks, wishes), rules_for(drafts)
        arms = _arms(root, agent, wishes.model)
        return SuiteDraft(
            spec=SuiteSpec(
                name=folder_name(root.resolve().name, self.name),
                tasks=["tasks/*"],
                arms=dict(arms.arms),
                baseline=arms.baseline,
                judges=rules.judges,
                policy=rules.policy,
            ),
            tasks=rules.tasks,
            files=arms.files,
            comments={**arms.comments, **rules.comments},
            notes=(*arms.notes, *rules.notes, *_notes(tasks, agent)),
        )


def _root(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _sources(path: Path) -> list[Path]:
    """A task file, or those of a folder and of the folders in it; SkillCI itself looks no deeper."""
    try:
        if path.is_file():
            return [path] if path.suffix == ".json" else []
        return sorted(
            file for pattern in (TASK_FILE, f"*/{TASK_FILE}") for file in path.glob(pattern) if file.is_file()
        )
    except OSError:
        return []


def _refuse_repeated(read: Sequence[tuple[SkillCiTask, Path]]) -> None:
    for (task, source), (following, other) in pairwise(read):
        if task.id == following.id:
            raise UsageError(f"{other}: {task.id!r} is the id of {source} too; give each task its own.")


def _agent(tasks: Sequence[SkillCiTask], wishes: SuiteWishes) -> str:
    """Whom the user names, or all tasks do, where it is known here."""
    stated = {task.agent for task in tasks}
    unclear = len(stated) > 1 or _NOT_KNOWN_HERE in stated
    return wishes.agent or (DEFAULT_AGENT if unclear else stated.pop())


def _arms(root: Path, agent: str, model: str | None) -> ArmsDraft:
    for place in _CONFIGURATIONS:
        folders = {name: root / place / name for name in (BASELINE, CANDIDATE)}
        if all(folder.is_dir() for folder in folders.values()):
            return ArmsDraft(
                arms={name: ArmSpec(agent=agent, model=model, files=f"arms/{name}") for name in folders},
                baseline=BASELINE,
                files={
                    f"arms/{name}/{path}": file
                    for name, folder in folders.items()
                    for path, file in tree(folder).items()
                },
            )
    return unnamed_arms(agent, model)


def _notes(tasks: Sequence[SkillCiTask], agent: str) -> Iterator[str]:
    stated = sorted({task.agent for task in tasks})
    if stated != [agent]:
        yield (
            f"The tasks are for {' and '.join(stated)}, and the arms have {agent}: one agent works on all tasks, and "
            f"{_NOT_KNOWN_HERE} is not known here. -a names another."
        )
    yield "Titles are left out: a task is called by its id."
    rubrics = {task.id: task.judge_rubric for task in tasks if task.judge_rubric is not None}
    if weighed := [task for task, rubric in rubrics.items() if rubric.weight is not None]:
        yield (
            f"The weight of the rubric in {name_some(weighed)} is left out: how much judges count is the suite's "
            "`profile`, for all tasks alike."
        )
