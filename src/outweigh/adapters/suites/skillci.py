"""SkillCI's suites: folders with a `task.json` each, beside the files that the task starts from."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from outweigh.adapters.suites.foreign_table import is_table_with
from outweigh.adapters.suites.naming import apart, folder_name
from outweigh.adapters.suites.skillci_task import TASK_FILE, SkillCiTask, read_task, task_draft
from outweigh.adapters.suites.source_files import looks_like_json, tree
from outweigh.adapters.suites.unnamed_arms import BASELINE, CANDIDATE, unnamed_arms
from outweigh.errors import UsageError, name_some
from outweigh.ports import SuiteDraft, SuiteFile, SuiteWishes
from outweigh.task.arm import ArmSpec
from outweigh.task.suite import SuiteSpec

_CONFIGURATIONS = (".", "config")
_UNKNOWN_HERE = "cursor"


class SkillCi:
    """Every check becomes a required one, the rubric a criterion from 0 to 1, the fixture the workspace.

    What is compared is no part of the tasks; folders `baseline` and `candidate` beside them are taken for it.
    """

    name = "skillci"
    looks_for = f"a {TASK_FILE} with a fixtureDir, or a folder of such tasks"

    def recognises(self, path: Path) -> bool:
        """By the key that no other format has."""
        return any(looks_like_json(source, _looks_like_a_task) for source in _task_files(path))

    def read(self, path: Path, wishes: SuiteWishes) -> SuiteDraft:
        """All tasks of the folder and of the folders in it, by their ids."""
        sources = list(_task_files(path))
        if not sources:
            raise UsageError(f"{path} has no {TASK_FILE}, nor has a folder in it; name {self.looks_for}.")
        read = sorted(((read_task(source), source) for source in sources), key=lambda each: (each[0].id, each[1]))
        _refuse_repeated(read)
        tasks, root = [task for task, _ in read], path if path.is_dir() else path.parent
        names = apart(folder_name(task.id, f"task-{number}") for number, task in enumerate(tasks, start=1))
        own = frozenset(source.resolve() for source in sources)
        agent = _agent(tasks, wishes)
        arms = _Arms(root, agent, wishes.model)
        return SuiteDraft(
            spec=SuiteSpec(name=folder_name(root.resolve().name, "skillci"), tasks=[], arms=dict(arms.arms), baseline=BASELINE),
            tasks=tuple(
                task_draft(task, name, source, root, own) for name, (task, source) in zip(names, read, strict=True)
            ),
            files=arms.files,
            comments=arms.comments,
            notes=(*arms.notes, *_notes(tasks, agent)),
        )
