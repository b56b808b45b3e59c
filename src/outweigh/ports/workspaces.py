"""The ports of workspaces and of the git history that arms are read from."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from outweigh.model.task import Task


class Workspaces(Protocol):
    """Workspaces of tasks: prepared once, laid out fresh for every trial."""

    def prepare(self, task: Task) -> Path:
        """The pristine workspace of a task, made on first use."""

    def lay(self, pristine: Path, target: Path) -> AbstractContextManager[Path]:
        """A private, writable copy of it; leaving the context removes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionFile:
    """A file of a revision, by its path below the folder that was asked for."""

    path: str
    content: bytes
    executable: bool


class Revisions(Protocol):
    """The history of a repository. What is read from it is no file of the host, and obeys nobody's settings."""

    def commit(self, ref: str) -> str:
        """The full hash of the commit that a ref means; UsageError where there is none."""

    def files(self, commit: str, folder: str, wanted: Callable[[str], bool]) -> Iterator[RevisionFile]:
        """The wanted files below a folder, by path; UsageError where one of them is no plain file."""
