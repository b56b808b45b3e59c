"""The port of suite readers: suites written for another program, converted to drafts of ours."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from outweigh.model.base import SafeName
from outweigh.model.suite import SuiteSpec
from outweigh.model.task import TaskSettings

WORKSPACE_FOLDER = "environment/workspace"
"""The folder of a task's own files; a task whose workspace comes from elsewhere has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftFile:
    """The content of a file, and whether it is executable."""

    content: bytes
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDraft:
    """One task. `name` becomes its folder, and `files` are written there by their relative paths.

    `settings` is written unchanged. Files in `WORKSPACE_FOLDER` are the workspace where `settings` names no other.
    """

    name: SafeName
    instruction: str
    settings: TaskSettings
    files: Mapping[str, DraftFile] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteDraft:
    """A whole suite, before anything is written.

    `spec.tasks` is set when the suite is written. `files` go next to the suite file (skills, set-ups of arms), by
    their relative paths. `comments` are written above the keys and tables that they name (`repeats`,
    `arms.with_skill`, `judges`). `notes` explains everything that could not be converted, a sentence each.
    """

    spec: SuiteSpec
    tasks: tuple[TaskDraft, ...]
    files: Mapping[str, DraftFile] = field(default_factory=dict)
    comments: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


DEFAULT_AGENT = "claude-code"
"""The agent of a converted suite where neither the user nor the format names one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteOverrides:
    """What the user sets for a converted suite, in place of what its format says; None where nothing is set."""

    agent: str | None
    model: str | None


class SuiteReader(Protocol):
    """Reads a suite that was written for another program. Bad input is a UsageError.

    What cannot be converted becomes a note of the draft. Nothing is downloaded and nothing is run.
    """

    @property
    def name(self) -> str:
        """The format."""

    @property
    def looks_for(self) -> str:
        """What a path of this format must be, in a few words, e.g. "a folder with a test.yaml"."""

    def recognises(self, path: Path) -> bool:
        """Whether the path looks like this format. Must be quick, never raise, and never claim another format."""

    def read(self, path: Path, overrides: SuiteOverrides) -> SuiteDraft:
        """Read the whole suite; the same source gives the same draft."""
