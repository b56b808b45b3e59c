"""One test of ProjectScylla: a `test.yaml` with a commit to start from, a prompt, and a rubric."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta

from outweigh.adapters.suites.foreign_table import ForeignTable, Text, foreign_table
from outweigh.adapters.suites.scylla_rubric import read_rubric
from outweigh.adapters.suites.source_files import read_text, read_yaml, within
from outweigh.errors import UsageError
from outweigh.task.spec import Dollars, Seconds
from outweigh.task.suite_draft import TaskDraft
from outweigh.task.task import GitSource, TaskSettings

TEST_FILE = "test.yaml"
_CONFIG_FILE = "config.yaml"
_FULL_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_Path = Annotated[str, Meta(min_length=1, max_length=1000)]
Tier = Literal["T0", "T1", "T2", "T3", "T4", "T5", "T6"]


class Origin(ForeignTable, frozen=True, kw_only=True):
    """The repository that an agent starts from; `branch` is for the reader."""

    repo: Annotated[str, Meta(pattern=r"\A(https?|ssh|git|file)://[^\s\x00]+\Z", max_length=1000)]
    hash: Annotated[str, Meta(pattern=r"\A[0-9a-f]{7,64}\Z")]
    branch: str | None = None


class Work(ForeignTable, frozen=True, kw_only=True):
    """What is asked, and how long it may take."""

    prompt_file: _Path
    timeout_seconds: Seconds = 3600.0


class Validation(ForeignTable, frozen=True, kw_only=True):
    """What judges go by."""

    rubric_file: _Path
    criteria_file: _Path | None = None


class TierModel(ForeignTable, frozen=True, kw_only=True):
    """Another model for one tier."""

    tier: Tier
    model: Text


class ScyllaTest(ForeignTable, frozen=True, kw_only=True):
    """The whole file."""

    id: Text
    source: Origin
    task: Work
    validation: Validation
    name: str = ""
    description: str = ""
    language: str | None = None
    models: list[TierModel] = []  # noqa: RUF012 - msgspec copies defaults
    tiers: list[Tier] = []  # noqa: RUF012
    tags: list[str] = []  # noqa: RUF012


class Overrides(ForeignTable, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """A test's own `config.yaml`, of which a suite takes the purse of a run."""

    max_cost_usd: Dollars | None = None
    timeout_seconds: Seconds | None = None


class ReadTest(NamedTuple):
    """A test, where it stands, its own settings."""

    test: ScyllaTest
    source: Path
    overrides: Overrides


def read_test(source: Path) -> ReadTest:
    """The file and the settings beside it, held to their form."""
    config = source.parent / _CONFIG_FILE
    overrides = foreign_table(read_yaml(config) or {}, Overrides, config) if config.is_file() else Overrides()
    return ReadTest(foreign_table(read_yaml(source), ScyllaTest, source), source, overrides)


def task_draft(read: ReadTest, name: str) -> tuple[TaskDraft, tuple[str, ...]]:
    """The task as it is written here, and what is not in it."""
    test, folder = read.test, read.source.parent
    rubric_file = within(folder, test.validation.rubric_file, f"{read.source}: rubric_file")
    criteria = test.validation.criteria_file
    criteria_file = None if criteria is None else within(folder, criteria, f"{read.source}: criteria_file")
    rubric, notes = read_rubric(rubric_file, criteria_file)
    draft = TaskDraft(
        name=name,
        instruction=_prompt(read),
        settings=TaskSettings(
            family=_family(test.source.repo),
            workspace=GitSource(repository=test.source.repo, commit=test.source.hash),
            timeout_seconds=test.task.timeout_seconds,
            rubric=rubric,
        ),
    )
    return draft, (*notes, *_notes(read))


def _prompt(read: ReadTest) -> str:
    where = f"{read.source}: prompt_file"
    text = read_text(within(read.source.parent, read.test.task.prompt_file, where))
    if not text.strip() or "\0" in text:
        raise UsageError(f"{where}: {read.test.task.prompt_file} holds no text; write down there what is asked.")
    return text


def _family(repository: str) -> str | None:
    """Tests on one repository belong together."""
    return repository.rstrip("/").removesuffix(".git").rpartition("/")[2] or None


def _notes(read: ReadTest) -> Iterator[str]:
    test, stated = read.test, read.overrides.timeout_seconds
    if not _FULL_HASH.fullmatch(test.source.hash):
        yield f"{read.source}: {test.source.hash!r} is no full hash, so what it means may change; write it out."
    if stated is not None and stated != test.task.timeout_seconds:
        taken = test.task.timeout_seconds
        yield f"{read.source}: a run may take {taken:g} s, as it says; {_CONFIG_FILE} beside it says {stated:g}."
    if test.models:
        yield f"{read.source}: models of single tiers are left out; write `model` into their arms."
