"""Suite reader of SkillCI: folders with one `task.json` each, beside the files that the task starts from."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from outweigh.errors import UsageError, quote_names
from outweigh.interop.suite_drafting import (
    BASELINE,
    CANDIDATE,
    ArmsDraft,
    draft_judging,
    make_unique,
    placeholder_arms,
    refuse_repeated_ids,
    slug,
)
from outweigh.interop.suite_files import (
    NON_BLANK_PATTERN,
    ForeignTable,
    NonBlankText,
    convert_table,
    has_keys,
    looks_like_json,
    read_json,
    read_tree,
    workspace_path,
)
from outweigh.model.arm import ArmSpec
from outweigh.model.rubric import Rubric, ScaledCriterion
from outweigh.model.suite import SuiteSpec
from outweigh.model.task import Check, CommandCheck, FileContainsCheck, FileExistsCheck, TaskSettings, TestSuiteCheck
from outweigh.ports.suites import DEFAULT_AGENT, WORKSPACE_FOLDER, DraftFile, SuiteDraft, SuiteOverrides, TaskDraft

SKILLCI_TASK_FILE = "task.json"
_MUST_FAIL = '! sh -c "$1"'
_Words = Annotated[str, Meta(pattern=NON_BLANK_PATTERN, max_length=20_000)]
_Path = Annotated[str, Meta(min_length=1, max_length=1000)]


class CommandAssertion(ForeignTable, frozen=True, kw_only=True, tag_field="kind", tag="command", rename="camel"):
    """A shell command that must exit with 0, or must not."""

    cmd: NonBlankText
    expect_exit_zero: bool = True


class TestSuiteAssertion(ForeignTable, frozen=True, kw_only=True, tag_field="kind", tag="testSuite"):
    """A command that runs tests and must exit with 0."""

    __test__ = False  # pytest would take the name for a test class

    cmd: NonBlankText


class FileExistsAssertion(ForeignTable, frozen=True, kw_only=True, tag_field="kind", tag="fileExists"):
    """A file or folder that must exist."""

    path: _Path


class FileContainsAssertion(ForeignTable, frozen=True, kw_only=True, tag_field="kind", tag="fileContains"):
    """A file that must contain a text."""

    path: _Path
    substring: Annotated[str, Meta(min_length=1, max_length=100_000)]


class JudgeRubric(ForeignTable, frozen=True, kw_only=True):
    """What a judge scores from 0 to 1, and its weight."""

    criteria: _Words
    weight: Annotated[float, Meta(ge=0, le=1)] | None = None


class SkillCiTask(ForeignTable, frozen=True, kw_only=True, rename="camel"):
    """A `task.json`. Paths of checks are within the workspace; `fixture_dir` is relative to the file."""

    id: NonBlankText
    title: NonBlankText
    agent: Literal["claude-code", "cursor", "codex"]
    fixture_dir: _Path
    prompt: NonBlankText
    checks: list[CommandAssertion | TestSuiteAssertion | FileExistsAssertion | FileContainsAssertion] = []  # noqa: RUF012 - msgspec copies defaults
    judge_rubric: JudgeRubric | None = None
    timeout_ms: Annotated[int, Meta(ge=1, le=10**9)] = 120_000


def _read_task(source: Path) -> SkillCiTask:
    """Read and validate a task file."""
    return convert_table(read_json(source), SkillCiTask, source)


def _draft_task(task: SkillCiTask, name: str, source: Path, root: Path, sources: frozenset[Path]) -> TaskDraft:
    """The task in our format. Fixtures come from below `root`, without the task files, which contain the answers."""
    fixture = _read_fixture(task, source, root)
    files = read_tree(fixture, without=lambda path: (fixture / path).resolve() in sources)
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


def _read_fixture(task: SkillCiTask, source: Path, root: Path) -> Path:
    try:
        fixture = (source.parent / task.fixture_dir).resolve()
        there = fixture.is_dir()
    except (OSError, ValueError, RuntimeError):
        fixture, there = source.parent, False
    if not there:
        raise UsageError(
            f"{source}: fixtureDir: {task.fixture_dir!r} is not a folder; name the one that the task needs."
        )
    if not fixture.is_relative_to(root.resolve()):
        raise UsageError(
            f"{source}: fixtureDir: {task.fixture_dir!r} leads out of {root}. Name a folder above both, or copy the "
            "fixture into it."
        )
    return fixture


def _in_workspace(files: Mapping[str, DraftFile]) -> dict[str, DraftFile]:
    return {f"{WORKSPACE_FOLDER}/{path}": file for path, file in files.items()}


def _rubric(task: SkillCiTask) -> Rubric | None:
    if task.judge_rubric is None:
        return None
    return Rubric(criteria=[ScaledCriterion(name="criteria", description=task.judge_rubric.criteria)])


def _checks(task: SkillCiTask, fixture: Path, source: Path) -> Iterator[Check]:
    for number, check in enumerate(task.checks, start=1):
        match check:
            case CommandAssertion(cmd=command, expect_exit_zero=True):
                yield CommandCheck(name=f"{number}-command", run=command)
            case CommandAssertion(cmd=command):
                yield CommandCheck(name=f"{number}-command-fails", run=["sh", "-c", _MUST_FAIL, "sh", command])
            case TestSuiteAssertion(cmd=command):
                yield TestSuiteCheck(name=f"{number}-test-suite", run=command)
            case FileExistsAssertion(path=path):
                yield _exists_check(
                    f"{number}-file-exists", path, workspace_path(path, f"{source}: check {number}"), fixture
                )
            case FileContainsAssertion(path=path, substring=text):
                place = workspace_path(path, f"{source}: check {number}")
                yield FileContainsCheck(name=f"{number}-file-contains", path=place, text=text)


def _exists_check(name: str, said: str, path: str, fixture: Path) -> Check:
    """A check that a path exists; folders count too, which takes a command."""
    if said.endswith("/") or (fixture / path).is_dir():
        return CommandCheck(name=name, run=["test", "-e", path])
    return FileExistsCheck(name=name, path=path)


_UNSUPPORTED_AGENT = "cursor"
_CONFIGURATIONS = (".", "config")


class SkillCiSuiteReader:
    """Every assertion becomes a required check, the rubric a criterion from 0 to 1, the fixture the workspace.

    The tasks do not say what is compared; folders `baseline` and `candidate` beside them are taken as the arms.
    """

    name = "skillci"
    looks_for = f"a {SKILLCI_TASK_FILE} with a fixtureDir, or a folder of such tasks"

    def recognises(self, path: Path) -> bool:
        """Whether the task files have a key that no other format has."""
        return any(looks_like_json(source, lambda value: has_keys(value, "fixtureDir")) for source in _task_files(path))

    def read(self, path: Path, overrides: SuiteOverrides) -> SuiteDraft:
        """Read the tasks of a folder and of its subfolders, in order of their ids."""
        sources = _task_files(path)
        if not sources:
            raise UsageError(f"{path} has no {SKILLCI_TASK_FILE}, nor has a folder in it; name {self.looks_for}.")
        read = sorted(((_read_task(source), source) for source in sources), key=lambda each: (each[0].id, each[1]))
        refuse_repeated_ids([(task.id, source) for task, source in read], "task")
        tasks, root, own = [task for task, _ in read], _root(path), frozenset(source.resolve() for source in sources)
        names = make_unique(slug(task.id, f"task-{number}") for number, task in enumerate(tasks, start=1))
        drafts = tuple(
            _draft_task(task, name, source, root, own) for name, (task, source) in zip(names, read, strict=True)
        )
        agent, rules = _agent(tasks, overrides), draft_judging(drafts)
        arms = _arms(root, agent, overrides.model)
        return SuiteDraft(
            spec=SuiteSpec(
                name=slug(root.resolve().name, self.name),
                tasks=["tasks/*"],
                arms=dict(arms.arms),
                baseline=arms.baseline,
                judges=rules.judges,
                policy=rules.policy,
            ),
            tasks=rules.tasks,
            files=arms.files,
            comments={**arms.comments, **rules.comments},
            notes=(*arms.notes, *rules.notes, *_notes(tasks, agent)),
        )


def _root(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _task_files(path: Path) -> list[Path]:
    """A task file, or those of a folder and its subfolders; SkillCI searches no deeper."""
    try:
        if path.is_file():
            return [path] if path.suffix == ".json" else []
        return sorted(
            file
            for pattern in (SKILLCI_TASK_FILE, f"*/{SKILLCI_TASK_FILE}")
            for file in path.glob(pattern)
            if file.is_file()
        )
    except OSError:
        return []


def _agent(tasks: Sequence[SkillCiTask], overrides: SuiteOverrides) -> str:
    """The agent that the user names, or the one that all tasks name if it is known here."""
    stated = {task.agent for task in tasks}
    unclear = len(stated) > 1 or _UNSUPPORTED_AGENT in stated
    return overrides.agent or (DEFAULT_AGENT if unclear else stated.pop())


def _arms(root: Path, agent: str, model: str | None) -> ArmsDraft:
    for place in _CONFIGURATIONS:
        folders = {name: root / place / name for name in (BASELINE, CANDIDATE)}
        if all(folder.is_dir() for folder in folders.values()):
            return ArmsDraft(
                arms={name: ArmSpec(agent=agent, model=model, files=f"arms/{name}") for name in folders},
                baseline=BASELINE,
                files={
                    f"arms/{name}/{path}": file
                    for name, folder in folders.items()
                    for path, file in read_tree(folder).items()
                },
            )
    return placeholder_arms(agent, model)


def _notes(tasks: Sequence[SkillCiTask], agent: str) -> Iterator[str]:
    stated = sorted({task.agent for task in tasks})
    if stated != [agent]:
        yield (
            f"The tasks are for {' and '.join(stated)}, and the arms have {agent}: one agent works on all tasks, and "
            f"{_UNSUPPORTED_AGENT} is not known here. -a names another."
        )
    yield "Titles are left out: a task is called by its id."
    rubrics = {task.id: task.judge_rubric for task in tasks if task.judge_rubric is not None}
    if weighed := [task for task, rubric in rubrics.items() if rubric.weight is not None]:
        yield (
            f"The weight of the rubric in {quote_names(weighed)} is left out: how much judges count is the suite's "
            "`profile`, for all tasks alike."
        )
