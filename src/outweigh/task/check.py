"""Objective assertions on the workspace after a run, as a task file states them."""

from typing import Annotated, Any

from msgspec import Meta

from outweigh.task.spec import Name, Seconds, Spec

WorkspacePath = Annotated[str, Meta(min_length=1, max_length=1000)]
Command = str | list[str]

CHECK_TIMEOUT = 600.0


class CheckSpec(Spec, frozen=True, kw_only=True, tag_field="type"):
    """What all checks have: a name, and whether a run can pass without it."""

    name: Name
    required: bool = True


class CommandCheck(CheckSpec, frozen=True, kw_only=True, tag="command"):
    """A command that must end with the expected exit code. A plain string is run by `sh -c`."""

    run: Command
    exit_code: int = 0
    timeout_seconds: Seconds = CHECK_TIMEOUT


class TestSuiteCheck(CheckSpec, frozen=True, kw_only=True, tag="tests"):
    """A test suite; where it leaves a JUnit or CTRF report, its cases are counted and earn their share."""

    __test__ = False  # pytest would take the name for a test class

    run: Command
    report: WorkspacePath | None = None
    timeout_seconds: Seconds = CHECK_TIMEOUT


class FileExistsCheck(CheckSpec, frozen=True, kw_only=True, tag="file_exists"):
    """A file that must be there."""

    path: WorkspacePath


class FileContainsCheck(CheckSpec, frozen=True, kw_only=True, tag="file_contains"):
    """A file that must contain a text, or match a regular expression."""

    path: WorkspacePath
    text: str | None = None
    regex: str | None = None


class JsonValueCheck(CheckSpec, frozen=True, kw_only=True, tag="json_value"):
    """A value in a JSON file, found by its dotted path (`results.0.name`)."""

    path: WorkspacePath
    at: str
    equals: Any


class AnswerContainsCheck(CheckSpec, frozen=True, kw_only=True, tag="answer_contains"):
    """What the agent said last must contain a text, or match a regular expression; where `absent` is set, must not."""

    text: str | None = None
    regex: str | None = None
    absent: bool = False


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
    | FileExistsCheck
    | FileContainsCheck
    | JsonValueCheck
    | AnswerContainsCheck
    | UnchangedCheck
    | RewardCheck
)
