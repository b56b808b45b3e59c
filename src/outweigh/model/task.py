"""A task: what an agent is asked to do, the checks on its workspace afterwards, and the actions expected of it."""

from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta

from outweigh.model.actions import ActionPattern
from outweigh.model.base import SafeName, Seconds, Spec, Weight
from outweigh.model.rubric import Rubric
from outweigh.model.task_environment import NO_STAGE, Command, StageSettings, TaskImage, TaskStage
from outweigh.model.trajectory_checks import (
    CheckSpec,
    Count,
    CreatedFilesCheck,
    ToolCallsCheck,
    ToolOrderCheck,
    TranscriptContainsCheck,
)
from outweigh.model.trigger_case import TriggerCase

WorkspacePath = Annotated[str, Meta(min_length=1, max_length=1000)]
FunctionName = Annotated[
    str, Meta(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$", description='a Python function, such as "module:name"')
]

CHECK_TIMEOUT = 600.0
CALL_TIMEOUT = 60.0
REPORTS_PREFIX = "$OUTWEIGH_REPORTS/"
"""A report whose path starts so is in the folder for reports, outside the workspace."""

TASK_FILE = "task.toml"


class ReportFormat(StrEnum):
    """The format of a test report. `jest` is vitest's JSON, too; `trx` is that of `dotnet test`."""

    JUNIT = "junit"
    CTRF = "ctrf"
    JEST = "jest"
    MOCHA = "mocha"
    RSPEC = "rspec"
    TAP = "tap"
    GO = "go"
    CARGO = "cargo"
    TRX = "trx"


class CommandCheck(CheckSpec, frozen=True, kw_only=True, tag="command"):
    """A command that must end with the expected exit code. A plain string is run by `sh -c`."""

    run: Command
    exit_code: int = 0
    timeout_seconds: Seconds = CHECK_TIMEOUT


class TestSuiteCheck(CheckSpec, frozen=True, kw_only=True, tag="tests"):
    """A test suite; where it leaves a report (JUnit or CTRF without `report_format`), its cases earn their share.

    With `must_pass`, or names in a JSON file of the folder `tests`, exactly these tests must be reported as passed;
    neither the exit code nor other tests count.
    """

    __test__ = False  # pytest would take the name for a test class

    run: Command
    report: WorkspacePath | None = None
    timeout_seconds: Seconds = CHECK_TIMEOUT
    report_format: ReportFormat | None = None
    must_pass: list[str] = []  # noqa: RUF012 - msgspec copies defaults
    must_pass_file: WorkspacePath | None = None


class PytestCheck(CheckSpec, frozen=True, kw_only=True, tag="pytest"):
    """The task's own tests, run by pytest so that no setting, plugin or module of the workspace gets hold of it.

    `files` are paths in the folder `tests`, without them all of it. `python_path` are the folders of the workspace that
    tests import from, without them the workspace itself.
    """

    files: list[WorkspacePath] = []  # noqa: RUF012 - msgspec copies defaults
    python_path: list[WorkspacePath] = []  # noqa: RUF012
    python: Annotated[str, Meta(min_length=1)] = "python3"
    timeout_seconds: Seconds = CHECK_TIMEOUT


class CallCase(Spec, frozen=True, kw_only=True):
    """One call: what the code under test is given, and what it must answer."""

    arguments: list[Any] = []  # noqa: RUF012 - msgspec copies defaults
    stdin: str = ""
    expected: Any


class CallCheck(CheckSpec, frozen=True, kw_only=True, tag="call"):
    """Code that is called in a process of its own, and whose answers are compared as plain data outside the sandbox.

    Either a command, which prints its answer, or a Python function (`module:name`), which returns it. The cases are
    listed here or in a JSON file of the folder `tests`; neither is to be read where the code runs.
    """

    run: Command | None = None
    function: FunctionName | None = None
    cases: list[CallCase] = []  # noqa: RUF012 - msgspec copies defaults
    cases_file: WorkspacePath | None = None
    python_path: list[WorkspacePath] = []  # noqa: RUF012
    python: Annotated[str, Meta(min_length=1)] = "python3"
    timeout_seconds: Seconds = CALL_TIMEOUT


class FileExistsCheck(CheckSpec, frozen=True, kw_only=True, tag="file_exists"):
    """A file that must be there."""

    path: WorkspacePath


class FileContainsCheck(CheckSpec, frozen=True, kw_only=True, tag="file_contains"):
    """A file that must contain a text, or match a regular expression.

    Where `absent` is set, it must be there and not contain it; with `count`, exactly so often.
    """

    path: WorkspacePath
    text: str | None = None
    regex: str | None = None
    absent: bool = False
    count: Count | None = None


class JsonValueCheck(CheckSpec, frozen=True, kw_only=True, tag="json_value"):
    """A value in a JSON file, found by its dotted path (`results.0.name`)."""

    path: WorkspacePath
    at: str
    equals: Any


class AnswerContainsCheck(CheckSpec, frozen=True, kw_only=True, tag="answer_contains"):
    """What the agent said last must contain a text, or match a regular expression.

    Where `absent` is set, it must not; with `count`, exactly so often.
    """

    text: str | None = None
    regex: str | None = None
    absent: bool = False
    count: Count | None = None


class UnchangedCheck(CheckSpec, frozen=True, kw_only=True, tag="unchanged"):
    """Files that the agent must leave as they were; patterns as in `.gitignore`, without negation."""

    paths: Annotated[list[WorkspacePath], Meta(min_length=1)]


class RewardCheck(CheckSpec, frozen=True, kw_only=True, tag="reward"):
    """A verifier script that writes a reward between 0 and 1; the check passes at `minimum`."""

    run: Command
    minimum: Annotated[float, Meta(ge=0, le=1)] = 1.0
    timeout_seconds: Seconds = CHECK_TIMEOUT


Check = (
    CommandCheck
    | TestSuiteCheck
    | PytestCheck
    | CallCheck
    | FileExistsCheck
    | FileContainsCheck
    | JsonValueCheck
    | AnswerContainsCheck
    | TranscriptContainsCheck
    | ToolCallsCheck
    | ToolOrderCheck
    | CreatedFilesCheck
    | UnchangedCheck
    | RewardCheck
)


class ExpectedStep(Spec, frozen=True, kw_only=True):
    """A step that a good trajectory takes, for the progress rate.

    `reached_by` describes the actions that show it was taken, any of them; without it only an agent that reports
    steps itself can reach it.
    """

    name: SafeName
    weight: Weight = 1.0
    reached_by: list[ActionPattern] = []  # noqa: RUF012 - msgspec copies defaults


class UserTurn(Spec, frozen=True, kw_only=True):
    """What the user says once the agent has answered. All stated conditions must hold, else it is left out.

    `if_answer` and `unless_answer` are regular expressions for the agent's last answer. `if_passed` and `if_failed`
    name a check of the task, which is evaluated on the workspace as it is at that moment.
    """

    say: Annotated[str, Meta(min_length=1, max_length=100_000)]
    if_answer: str | None = None
    unless_answer: str | None = None
    if_passed: SafeName | None = None
    if_failed: SafeName | None = None


class SimulatedUserSpec(Spec, frozen=True, kw_only=True):
    """A user whom a model plays: what this person wants and knows, and how often they answer at most."""

    goal: Annotated[str, Meta(min_length=1, max_length=100_000)]
    most_turns: Annotated[int, Meta(ge=1, le=20)] = 5


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


class TaskDependencies(Spec, frozen=True, kw_only=True):
    """A folder of installed dependencies, relative to the task; the agent does not see the paths in it that are hidden.

    Sandboxes of the agent and of the checks show it read-only at `/opt/dependencies`.
    """

    folder: Annotated[str, Meta(min_length=1)]
    hidden: list[WorkspacePath] = []  # noqa: RUF012 - msgspec copies defaults


class TaskSettings(StageSettings, frozen=True, kw_only=True):
    """outweigh's own part of a task: the `[metadata.outweigh]` table of a `task.toml`.

    `setup` and `teardown` are run around the agent; `environment` and `services` are there for the agent and for the
    checks. `checker` has what only the checks get.

    `turns` are what the user says after the instruction, one after the other; with `user`, a model says it.

    `goal_actions` describes the actions that serve the goal, for strategic drift; all others are drift.
    `rubric`, or the file that `rubric_file` names, is what judges score by; with `reveal_solution` they are shown the
    task's own solution too.
    """

    checks: list[Check] = []  # noqa: RUF012 - msgspec copies defaults
    family: str | None = None
    expected_steps: list[ExpectedStep] = []  # noqa: RUF012
    goal_actions: list[ActionPattern] = []  # noqa: RUF012
    workspace: WorkspaceSource | None = None
    timeout_seconds: Seconds | None = None
    rubric: Rubric | None = None
    rubric_file: WorkspacePath | None = None
    reveal_solution: bool = False
    checker: StageSettings = StageSettings()
    turns: list[UserTurn] = []  # noqa: RUF012
    user: SimulatedUserSpec | None = None
    dependencies: TaskDependencies | None = None

    def __post_init__(self) -> None:
        """Steps are told apart by name, and measured all in the same way."""
        super().__post_init__()
        if shared := {each.name for each in self.services} & {each.name for each in self.checker.services}:
            raise ValueError(f"a service of the task and one of its `checker` are both called {min(shared)!r}")
        names = [step.name for step in self.expected_steps]
        if len(set(names)) < len(names):
            raise ValueError("two of the `expected_steps` have the same name")
        stated = sum(bool(step.reached_by) for step in self.expected_steps)
        if 0 < stated < len(names):
            raise ValueError("either all `expected_steps` say what they are `reached_by`, or none does")
        if self.turns and self.user is not None:
            raise ValueError("a task has either `turns` or a simulated `user`")
        if self.rubric is not None and self.rubric_file is not None:
            raise ValueError("a task has either a `rubric` or a `rubric_file`")
        if self.reveal_solution and self.rubric is None and self.rubric_file is None:
            raise ValueError("`reveal_solution` is for judges, and without a `rubric` there are none")


class Task(Spec, frozen=True, kw_only=True):
    """A task as the engine runs it. Paths are absolute; `checksum` covers everything that could change its outcome.

    `tests_folder` and `solution_folder` are invisible to the agent: they are brought in after it has ended. The rubric
    is not in the checksum: runs can be judged again by another. `work` and `checking` are what is around the agent and
    around the checks in their sandboxes. `without` are paths that the suite leaves out of the workspace. A task with a
    `trigger` only asks whether a skill is used: it has no checks, and its runs end at an answer of the model.
    """

    id: SafeName
    instruction: str
    checks: tuple[Check, ...]
    family: str | None
    expected_steps: tuple[ExpectedStep, ...]
    workspace: WorkspaceSource | None
    timeout_seconds: float | None
    tests_folder: str | None
    solution_folder: str | None
    checksum: str
    goal_actions: tuple[ActionPattern, ...] = ()
    rubric: Rubric | None = None
    reveal_solution: bool = False
    image: TaskImage | None = None
    work: TaskStage = NO_STAGE
    checking: TaskStage = NO_STAGE
    turns: tuple[UserTurn, ...] = ()
    user: SimulatedUserSpec | None = None
    without: tuple[WorkspacePath, ...] = ()
    dependencies: TaskDependencies | None = None
    trigger: TriggerCase | None = None

    @property
    def has_several_turns(self) -> bool:
        """Whether the user says more than the instruction."""
        return bool(self.turns) or self.user is not None


def task_of_instruction(name: str, instruction: str) -> Task:
    """A task that has only an instruction, in an empty workspace and without checks."""
    return Task(
        id=name,
        instruction=instruction,
        checks=(),
        family=None,
        expected_steps=(),
        workspace=None,
        timeout_seconds=None,
        tests_folder=None,
        solution_folder=None,
        checksum="",
    )
