"""One thing an agent is asked to do, and how it is judged."""

from typing import Annotated

from msgspec import Meta

from outweigh.task.action import ActionPattern
from outweigh.task.check import Check, WorkspacePath
from outweigh.task.rubric import Rubric
from outweigh.task.spec import Name, Seconds, Spec, Weight


class ExpectedStep(Spec, frozen=True, kw_only=True):
    """A step that a good trajectory takes, for the progress rate.

    `reached_by` describes the actions that show it was taken, any of them; without it only an agent that speaks of
    steps itself can reach it.
    """

    name: Name
    weight: Weight = 1.0
    reached_by: list[ActionPattern] = []  # noqa: RUF012 - msgspec copies defaults


class FolderSource(Spec, frozen=True, kw_only=True, tag_field="type", tag="folder"):
    """A workspace that is a copy of a folder, without some names at its top."""

    path: WorkspacePath
    without: list[str] = []  # noqa: RUF012 - msgspec copies defaults


class GitSource(Spec, frozen=True, kw_only=True, tag_field="type", tag="git"):
    """A workspace that is a git repository at a commit."""

    repository: str
    commit: Annotated[str, Meta(min_length=1, max_length=200)]


class TarballSource(Spec, frozen=True, kw_only=True, tag_field="type", tag="tarball"):
    """A workspace unpacked from an archive."""

    path: WorkspacePath


WorkspaceSource = FolderSource | GitSource | TarballSource


class TaskSettings(Spec, frozen=True, kw_only=True):
    """outweigh's own part of a task: the `[metadata.outweigh]` table of a `task.toml`.

    `goal_actions` describes the actions that serve the goal, for strategic drift; all others lead astray.
    `rubric`, or the file that `rubric_file` names, is what judges score by; with `reveal_solution` they are shown the
    task's own solution too.
    """

    checks: list[Check] = []  # noqa: RUF012 - msgspec copies defaults
    family: str | None = None
    expected_steps: list[ExpectedStep] = []  # noqa: RUF012
    goal_actions: list[ActionPattern] = []  # noqa: RUF012
    workspace: WorkspaceSource | None = None
    timeout_seconds: Seconds | None = None
    rubric: Rubric | None = None
    rubric_file: WorkspacePath | None = None
    reveal_solution: bool = False

    def __post_init__(self) -> None:
        """Steps are told apart by name, and measured all in the same way."""
        names = [step.name for step in self.expected_steps]
        if len(set(names)) < len(names):
            raise ValueError("two of the `expected_steps` have the same name")
        told = sum(bool(step.reached_by) for step in self.expected_steps)
        if 0 < told < len(names):
            raise ValueError("either all `expected_steps` say what they are `reached_by`, or none does")
        if self.rubric is not None and self.rubric_file is not None:
            raise ValueError("a task has either a `rubric` or a `rubric_file`")
        if self.reveal_solution and self.rubric is None and self.rubric_file is None:
            raise ValueError("`reveal_solution` is for judges, and without a `rubric` there are none")


class Task(Spec, frozen=True, kw_only=True):
    """A task as the engine runs it. Paths are absolute; `checksum` covers everything that could change its outcome.

    `tests_folder` and `solution_folder` are invisible to the agent: they are brought in after it has ended. The rubric
    is not in the checksum: runs can be judged again by another.
    """

    id: Name
    instruction: str
    checks: tuple[Check, ...]
    family: str | None
    expected_steps: tuple[ExpectedStep, ...]
    workspace: WorkspaceSource | None
    timeout_seconds: float | None
    tests_folder: str | None
    solution_folder: str | None
    checksum: str
    goal_actions: tuple[ActionPattern, ...] = ()
    rubric: Rubric | None = None
    reveal_solution: bool = False
