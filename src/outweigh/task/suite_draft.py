"""A suite that somebody wrote for another program, as it will be written for this one. Values only."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from outweigh.task.spec import Name
from outweigh.task.suite import SuiteSpec
from outweigh.task.task import TaskSettings

WORKSPACE_FOLDER = "environment/workspace"
"""Where a task's own files lie; a task whose workspace comes from elsewhere has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteFile:
    """The content of a file, and whether it can be run."""

    content: bytes
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDraft:
    """One task. `name` becomes its folder and `files` lie in it, by their paths there.

    `settings` is written as it is. Where files lie in `WORKSPACE_FOLDER` and no other workspace is set, they are it.
    """

    name: Name
    instruction: str
    settings: TaskSettings
    files: Mapping[str, SuiteFile] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteDraft:
    """A whole suite, before anything is written.

    `spec.tasks` is set by whoever writes it. `files` lie beside the suite file (skills, set-ups of arms), by their
    paths there. `comments` are written above the keys and tables that they name (`repeats`, `arms.with_skill`,
    `judges`). `notes` says of everything that could not be carried over what it was and why, a sentence each.
    """

    spec: SuiteSpec
    tasks: tuple[TaskDraft, ...]
    files: Mapping[str, SuiteFile] = field(default_factory=dict)
    comments: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
