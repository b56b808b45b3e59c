"""One test of ProjectScylla as a task: a `test.yaml` with a commit to start from, a prompt, and a rubric.

Rubrics are read as they occur in its tests, which have more than its own schema allows.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from outweigh.errors import UsageError
from outweigh.interop.suite_drafting import FULL_COMMIT_HASH
from outweigh.interop.suite_files import ForeignTable, NonBlankText, convert_table, read_text, read_yaml, resolve_within
from outweigh.model.base import Dollars, Seconds
from outweigh.model.rubric import Rubric, rubric_from_categories
from outweigh.model.task import GitSource, TaskSettings
from outweigh.ports.suites import TaskDraft

_LONGEST = 20_000
_SKILL_KEYS = ("skill_validation", "skill_source")


class ReadRubric(NamedTuple):
    """A rubric, and notes on what it leaves out."""

    rubric: Rubric
    notes: tuple[str, ...]


def read_rubric(source: Path, criteria: Path | None) -> ReadRubric:
    """Read a rubric file, with the page of criteria as notes for judges; UsageError if it is no rubric."""
    table = read_yaml(source)
    if not isinstance(table, dict):
        raise UsageError(f"{source} holds no table; a rubric has `requirements` or `categories`.")
    notes = tuple(_skill_notes(table, source))
    table = {**table, "requirements": [_flatten_criteria(item) for item in _as_list(table.get("requirements"))]}
    rubric, scale_notes = _without_unknown_grades(table, source)
    words, criteria_notes = _read_criteria(criteria)
    return ReadRubric(msgspec.structs.replace(rubric, notes=words), (*notes, *scale_notes, *criteria_notes))


def _as_list(value: object) -> list[Any]:
    """The value if it is a list; anything else is refused later by the rubric's own reader."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _flatten_criteria(requirement: Any) -> Any:
    """Write the criteria of a requirement as lines of its description, because a judge gives one score for
    all of them.
    """
    if not isinstance(requirement, dict):
        return requirement
    kept = {key: value for key, value in requirement.items() if key not in (*_SKILL_KEYS, "criteria")}
    points = requirement.get("criteria", [])
    if not isinstance(points, list) or not all(isinstance(point, str) for point in points):
        return {**kept, "criteria": points}
    if points and isinstance(kept.get("description"), str):
        kept["description"] = "\n".join((kept["description"], *(f"- {point}" for point in points)))
    return kept


def _without_unknown_grades(table: dict[str, Any], source: Path) -> tuple[Rubric, tuple[str, ...]]:
    """Leave out grades of an unknown scale; they follow from the score and decide nothing."""
    try:
        return rubric_from_categories(table), ()
    except ValueError as fault:
        grading = table.get("grading")
        if not isinstance(grading, dict) or "grade_scale" not in grading:
            raise _rubric_error(fault, source) from None
    try:
        plain = {key: value for key, value in grading.items() if key != "grade_scale"}
        rubric = rubric_from_categories({**table, "grading": plain})
    except ValueError as fault:
        raise _rubric_error(fault, source) from None
    return rubric, (f"{source}: `grading.grade_scale` is none that is known here; letters follow the usual scale.",)


def _rubric_error(fault: ValueError, source: Path) -> UsageError:
    return UsageError(f"{source}: {fault}. Fix it there, and read the suite again.")


def _skill_notes(table: dict[str, Any], source: Path) -> Iterator[str]:
    requirements = [item for item in _as_list(table.get("requirements")) if isinstance(item, dict)]
    skilled = [str(item.get("id")) for item in requirements if any(key in item for key in _SKILL_KEYS)]
    if skilled:
        yield f"{source}: skills that {', '.join(skilled)} name for a judge are left out; judges have no tools here."


def _read_criteria(source: Path | None) -> tuple[str | None, tuple[str, ...]]:
    words = read_text(source).strip() if source is not None else ""
    if len(words) <= _LONGEST:
        return words or None, ()
    return words[:_LONGEST], (f"{source} is longer than {_LONGEST:,} characters; judges see the beginning.",)


TEST_FILE = "test.yaml"
_CONFIG_FILE = "config.yaml"
_Path = Annotated[str, Meta(min_length=1, max_length=1000)]
TierName = Literal["T0", "T1", "T2", "T3", "T4", "T5", "T6"]


class RepositoryTable(ForeignTable, frozen=True, kw_only=True):
    """The repository that an agent starts from; `branch` is informative."""

    repo: Annotated[str, Meta(pattern=r"\A(https?|ssh|git|file)://[^\s\x00]+\Z", max_length=1000)]
    hash: Annotated[str, Meta(pattern=r"\A[0-9a-f]{7,64}\Z")]
    branch: str | None = None


class TaskTable(ForeignTable, frozen=True, kw_only=True):
    """The prompt, and the timeout."""

    prompt_file: _Path
    timeout_seconds: Seconds = 3600.0


class ValidationTable(ForeignTable, frozen=True, kw_only=True):
    """The criteria and rubric for judges."""

    rubric_file: _Path
    criteria_file: _Path | None = None


class TierModel(ForeignTable, frozen=True, kw_only=True):
    """Another model for one tier."""

    tier: TierName
    model: NonBlankText


class ScyllaTest(ForeignTable, frozen=True, kw_only=True):
    """A `test.yaml`."""

    id: NonBlankText
    source: RepositoryTable
    task: TaskTable
    validation: ValidationTable
    name: str = ""
    description: str = ""
    language: str | None = None
    models: list[TierModel] = []  # noqa: RUF012 - msgspec copies defaults
    tiers: list[TierName] = []  # noqa: RUF012
    tags: list[str] = []  # noqa: RUF012


class TestOverrides(ForeignTable, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """A test's own `config.yaml`, from which a suite takes the budget of a run."""

    max_cost_usd: Dollars | None = None
    timeout_seconds: Seconds | None = None


class ReadTest(NamedTuple):
    """A test, its file, and its own settings."""

    test: ScyllaTest
    source: Path
    overrides: TestOverrides


def read_test(source: Path) -> ReadTest:
    """Read and validate a test's file and the settings beside it."""
    config = source.parent / _CONFIG_FILE
    overrides = convert_table(read_yaml(config) or {}, TestOverrides, config) if config.is_file() else TestOverrides()
    return ReadTest(convert_table(read_yaml(source), ScyllaTest, source), source, overrides)


def draft_task(read: ReadTest, name: str) -> tuple[TaskDraft, tuple[str, ...]]:
    """The task in our format, and notes on what it leaves out."""
    test, folder = read.test, read.source.parent
    rubric_file = resolve_within(folder, test.validation.rubric_file, f"{read.source}: rubric_file")
    criteria = test.validation.criteria_file
    criteria_file = None if criteria is None else resolve_within(folder, criteria, f"{read.source}: criteria_file")
    rubric, notes = read_rubric(rubric_file, criteria_file)
    draft = TaskDraft(
        name=name,
        instruction=_prompt(read),
        settings=TaskSettings(
            family=_repository_family(test.source.repo),
            workspace=GitSource(repository=test.source.repo, commit=test.source.hash),
            timeout_seconds=test.task.timeout_seconds,
            rubric=rubric,
        ),
    )
    return draft, (*notes, *_test_notes(read))


def _prompt(read: ReadTest) -> str:
    where = f"{read.source}: prompt_file"
    text = read_text(resolve_within(read.source.parent, read.test.task.prompt_file, where))
    if not text.strip() or "\0" in text:
        raise UsageError(f"{where}: {read.test.task.prompt_file} holds no text; write down there what is asked.")
    return text


def _repository_family(repository: str) -> str | None:
    """The family of a task: its repository."""
    return repository.rstrip("/").removesuffix(".git").rpartition("/")[2] or None


def _test_notes(read: ReadTest) -> Iterator[str]:
    test, stated = read.test, read.overrides.timeout_seconds
    if not FULL_COMMIT_HASH.fullmatch(test.source.hash):
        yield f"{read.source}: {test.source.hash!r} is not a full hash, so what it means may change; write it out."
    if stated is not None and stated != test.task.timeout_seconds:
        taken = test.task.timeout_seconds
        yield f"{read.source}: a run may take {taken:g} s, as it says; {_CONFIG_FILE} beside it says {stated:g}."
    if test.models:
        yield f"{read.source}: models of single tiers are left out; write `model` into their arms."
