"""The port of suite readers: suites written for another program, converted to drafts of ours."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from outweigh.model.base import SafeName
from outweigh.model.suite import SuiteSpec
from outweigh.model.task import TaskSettings

WORKSPACE_FOLDER = "environment/workspace"
"""Where a task's own files lie; a task whose workspace comes from elsewhere has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftFile:
    """The content of a file, and whether it can be run."""

    content: bytes
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDraft:
    """One task. `name` becomes its folder and `files` lie in it, by their paths there.

    `settings` is written as it is. Where files lie in `WORKSPACE_FOLDER` and no other workspace is set, they are it.
    """

    name: SafeName
    instruction: str
    settings: TaskSettings
    files: Mapping[str, DraftFile] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteDraft:
    """A whole suite, before anything is written.

    `spec.tasks` is set by whoever writes it. `files` lie beside the suite file (skills, set-ups of arms), by their
    paths there. `comments` are written above the keys and tables that they name (`repeats`, `arms.with_skill`,
    `judges`). `notes` says of everything that could not be carried over what it was and why, a sentence each.
    """

    spec: SuiteSpec
    tasks: tuple[TaskDraft, ...]
    files: Mapping[str, DraftFile] = field(default_factory=dict)
    comments: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


DEFAULT_AGENT = "claude-code"
"""Who works on a suite where neither its user nor its format names anybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteOverrides:
    """What the user says about a suite that is read, which goes before what its format says; None where nothing."""

    agent: str | None
    model: str | None


class SuiteReader(Protocol):
    """Reads a suite that was written for another program. Bad input is a UsageError, nothing else.

    What cannot be carried over is a note of the draft, never dropped in silence. Nothing is fetched and nothing run.
    """

    @property
    def name(self) -> str:
        """The format."""

    @property
    def looks_for(self) -> str:
        """What a path must be for this format, in a few words, e.g. "a folder with a test.yaml"."""

    def recognises(self, path: Path) -> bool:
        """Whether this looks like its format, by a short look that never raises and is never wrong about others'."""

    def read(self, path: Path, wishes: SuiteOverrides) -> SuiteDraft:
        """The whole suite. The same source gives the same draft."""
