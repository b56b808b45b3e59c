"""The ports of task workspaces and of the git history that arms are read from."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from outweigh.model.task import Task


class Workspaces(Protocol):
    """Workspaces of tasks: prepared once, copied for every trial."""

    def prepare(self, task: Task) -> Path:
        """The pristine workspace of a task, prepared on first use."""

    def lay_out(self, pristine: Path, target: Path) -> AbstractContextManager[Path]:
        """A private, writable copy of a pristine workspace; leaving the context removes it."""

    def snapshot(self, workspace: Path, target: Path) -> Path:
        """A workspace as it is now, kept as a pristine one in a new folder, which the caller removes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionFile:
    """A file of a revision, by its path below the requested folder."""

    path: str
    content: bytes
    executable: bool


class Revisions(Protocol):
    """The history of a git repository. Reading it touches no working copy and ignores the user's git settings."""

    def commit(self, ref: str) -> str:
        """The full hash of the commit that a ref names; raise UsageError where there is none."""

    def files(self, commit: str, folder: str, wanted: Callable[[str], bool]) -> Iterator[RevisionFile]:
        """The wanted files below a folder, by path; raise UsageError where one of them is not a regular file."""
