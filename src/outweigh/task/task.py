"""One thing an agent is asked to do, and how it is judged."""

from typing import Annotated

from msgspec import Meta

from outweigh.task.check import Check, WorkspacePath
from outweigh.task.spec import Name, Seconds, Spec, Weight


class ExpectedStep(Spec, frozen=True, kw_only=True):
    """A step that a good trajectory takes, for the progress rate."""

    name: Name
    weight: Weight = 1.0


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
    """outweigh's own part of a task: the `[metadata.outweigh]` table of a `task.toml`."""

    checks: list[Check] = []  # noqa: RUF012 - msgspec copies defaults
    family: str | None = None
    expected_steps: list[ExpectedStep] = []  # noqa: RUF012
    workspace: WorkspaceSource | None = None
    timeout_seconds: Seconds | None = None


class Task(Spec, frozen=True, kw_only=True):
    """A task as the engine runs it. Paths are absolute; `checksum` covers everything that could change its outcome.

    `tests_folder` and `solution_folder` are invisible to the agent: they are brought in after it has ended.
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
