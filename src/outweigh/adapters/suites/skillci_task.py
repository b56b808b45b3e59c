"""One `task.json` of SkillCI: its keys, and what becomes of them here."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from outweigh.adapters.suites.foreign_table import WORDS, ForeignTable, Text, foreign_table
from outweigh.adapters.suites.source_files import read_json, tree
from outweigh.adapters.suites.workspace_path import workspace_path
from outweigh.errors import UsageError
from outweigh.task.check import Check, CommandCheck, FileContainsCheck, FileExistsCheck, TestSuiteCheck
from outweigh.task.rubric import Rubric, ScaledCriterion
from outweigh.task.suite_draft import WORKSPACE_FOLDER, SuiteFile, TaskDraft
from outweigh.task.task import TaskSettings

TASK_FILE = "task.json"
_MUST_FAIL = '! sh -c "$1"'
_Words = Annotated[str, Meta(pattern=WORDS, max_length=20_000)]
_Path = Annotated[str, Meta(min_length=1, max_length=1000)]


class CommandLine(ForeignTable, frozen=True, kw_only=True, tag_field="kind", tag="command", rename="camel"):
    """A command of the shell that must end with 0, or must not."""

    cmd: Text
    expect_exit_zero: bool = True


class TestSuite(ForeignTable, frozen=True, kw_only=True, tag_field="kind", tag="testSuite"):
    """A command that runs tests and must end with 0."""

    __test__ = False  # pytest would take the name for a test class

    cmd: Text


class FileExists(ForeignTable, frozen=True, kw_only=True, tag_field="kind", tag="fileExists"):
    """A file or a folder that must be there."""

    path: _Path


class FileContains(ForeignTable, frozen=True, kw_only=True, tag_field="kind", tag="fileContains"):
    """A file that must hold a text."""

    path: _Path
    substring: Annotated[str, Meta(min_length=1, max_length=100_000)]


class JudgeRubric(ForeignTable, frozen=True, kw_only=True):
    """What a judge scores from 0 to 1, and how much that counts."""

    criteria: _Words
    weight: Annotated[float, Meta(ge=0, le=1)] | None = None


class SkillCiTask(ForeignTable, frozen=True, kw_only=True, rename="camel"):
    """The whole file. Paths of checks are within the workspace; `fixture_dir` is beside the file."""

    id: Text
    title: Text
    agent: Literal["claude-code", "cursor", "codex"]
    fixture_dir: _Path
    prompt: Text
    checks: list[CommandLine | TestSuite | FileExists | FileContains] = []  # noqa: RUF012 - msgspec copies defaults
    judge_rubric: JudgeRubric | None = None
    timeout_ms: Annotated[int, Meta(ge=1, le=10**9)] = 120_000


def read_task(source: Path) -> SkillCiTask:
    """The file, held to its form."""
    return foreign_table(read_json(source), SkillCiTask, source)


def task_draft(task: SkillCiTask, name: str, source: Path, root: Path, sources: frozenset[Path]) -> TaskDraft:
    """The task as it is written here. Fixtures come from below `root`; task files among them hold the answers."""
    fixture = _fixture(task, source, root)
    files = tree(fixture, without=lambda path: (fixture / path).resolve() in sources)
    return TaskDraft(
        name=name,
        instruction=task.prompt,
        settings=TaskSettings(
            checks=list(_checks(task, fixture, source)),
            timeout_seconds=task.timeout_ms / 1000,
            rubric=_rubric(task),
        ),
        files=_in_workspace(files),
    )


def _fixture(task: SkillCiTask, source: Path, root: Path) -> Path:
    try:
        fixture = (source.parent / task.fixture_dir).resolve()
        there = fixture.is_dir()
    except (OSError, ValueError, RuntimeError):
        fixture, there = source.parent, False
    if not there:
        raise UsageError(f"{source}: fixtureDir: {task.fixture_dir!r} is no folder; name the one that the task needs.")
    if not fixture.is_relative_to(root.resolve()):
        raise UsageError(
            f"{source}: fixtureDir: {task.fixture_dir!r} leads out of {root}. Name a folder above both, or copy the "
            "fixture into it."
        )
    return fixture


def _in_workspace(files: Mapping[str, SuiteFile]) -> dict[str, SuiteFile]:
    return {f"{WORKSPACE_FOLDER}/{path}": file for path, file in files.items()}


def _rubric(task: SkillCiTask) -> Rubric | None:
    if task.judge_rubric is None:
        return None
    return Rubric(criteria=[ScaledCriterion(name="criteria", description=task.judge_rubric.criteria)])


def _checks(task: SkillCiTask, fixture: Path, source: Path) -> Iterator[Check]:
    for number, check in enumerate(task.checks, start=1):
        match check:
            case CommandLine(cmd=command, expect_exit_zero=True):
                yield CommandCheck(name=f"{number}-command", run=command)
            case CommandLine(cmd=command):
                yield CommandCheck(name=f"{number}-command-fails", run=["sh", "-c", _MUST_FAIL, "sh", command])
            case TestSuite(cmd=command):
                yield TestSuiteCheck(name=f"{number}-test-suite", run=command)
            case FileExists(path=path):
                yield _exists(f"{number}-file-exists", path, workspace_path(path, f"{source}: check {number}"), fixture)
            case FileContains(path=path, substring=text):
                place = workspace_path(path, f"{source}: check {number}")
                yield FileContainsCheck(name=f"{number}-file-contains", path=place, text=text)


def _exists(name: str, said: str, path: str, fixture: Path) -> Check:
    """Folders count too, which only a command looks for."""
    if said.endswith("/") or (fixture / path).is_dir():
        return CommandCheck(name=name, run=["test", "-e", path])
    return FileExistsCheck(name=name, path=path)
