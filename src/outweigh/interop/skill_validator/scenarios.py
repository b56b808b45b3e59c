"""Scenarios of skill-validator's `eval.yaml` as tasks; an assertion is a check, or a question to a judge."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from msgspec import Meta

from outweigh.errors import UsageError, quote_names
from outweigh.interop.skill_files import is_evals_file
from outweigh.interop.suite_files import (
    NON_BLANK_PATTERN,
    ForeignTable,
    NonBlankText,
    read_suite_file,
    read_tree,
    resolve_within,
    workspace_path,
)
from outweigh.model.agent_files import SKILL_FILE
from outweigh.model.base import Seconds
from outweigh.model.rubric import BinaryCriterion, Criterion, Rubric, ScaledCriterion
from outweigh.model.task import (
    AnswerContainsCheck,
    Check,
    CommandCheck,
    FileContainsCheck,
    FileExistsCheck,
    TaskSettings,
)
from outweigh.ports.suites import WORKSPACE_FOLDER, DraftFile

_ShortText = Annotated[str, Meta(pattern=NON_BLANK_PATTERN, max_length=10_000)]
_ANY_DEPTH = re.compile(r"(?P<folder>(?:[^*]+/)?)\*\*/(?P<name>[^/]+)")
_FLAGS = re.compile(r"\(\?(?P<flags>[ims]+)\)(?P<rest>.+)", re.DOTALL)
"""Inline flags at the start of a pattern, the only place where Python accepts them."""
_UNSUPPORTED_GLOB = frozenset("?[]{}")
"""Characters that `find` and skill-validator interpret differently."""
_ANSWER_TYPES = frozenset({"output_contains", "output_not_contains", "output_matches", "output_not_matches"})

_EXISTS_SCRIPT = 'find "$@" 2>/dev/null | grep -q .'
_CONTAINS_SCRIPT = 'wanted=$1; shift; find "$@" -exec grep -qF -e "$wanted" {} \\; -print 2>/dev/null | grep -q .'
_LACKS_SCRIPT = (
    'wanted=$1; shift; find "$@" 2>/dev/null | grep -q . && '
    '! find "$@" -exec grep -qF -e "$wanted" {} \\; -print 2>/dev/null | grep -q .'
)
_SCRIPTS = {
    "file_exists": _EXISTS_SCRIPT,
    "file_not_exists": f"! {_EXISTS_SCRIPT}",
    "file_contains": _CONTAINS_SCRIPT,
    "file_not_contains": _LACKS_SCRIPT,
}
_PRINTS_SCRIPT = (
    'wanted=$1 code=$2; shift 2; said=$("$@"); ended=$?; '
    '{ [ -z "$code" ] || [ "$ended" -eq "$code" ]; } && printf "%s\\n" "$said" | grep -qiF -e "$wanted"'
)


class ScenarioAssertion(ForeignTable, frozen=True, kw_only=True):
    """One assertion; the keys that it needs depend on its type."""

    type: Literal[
        "file_exists",
        "file_not_exists",
        "file_contains",
        "file_not_contains",
        "output_contains",
        "output_not_contains",
        "output_matches",
        "output_not_matches",
        "exit_success",
        "run_command_and_assert",
    ]
    path: _ShortText | None = None
    value: _ShortText | None = None
    pattern: _ShortText | None = None
    command_to_run: _ShortText | None = None
    command_arguments: _ShortText | None = None
    command_timeout: Seconds | None = None
    expected_exit_code: Annotated[int, Meta(ge=0, le=255)] | None = None
    expected_std_output_contains: _ShortText | None = None
    expected_std_error_contains: _ShortText | None = None
    expected_std_output_matches: _ShortText | None = None
    expected_std_error_matches: _ShortText | None = None

    def __post_init__(self) -> None:
        """Refuse an assertion that lacks a key it needs, because it would pass or fail for no reason."""
        for kind, key in _REQUIRED_KEYS:
            if self.type.startswith(kind) and getattr(self, key) is None:
                raise ValueError(f"`{self.type}` needs `{key}`")


_REQUIRED_KEYS = (
    ("file_", "path"),
    ("file_contains", "value"),
    ("file_not_contains", "value"),
    ("output_contains", "value"),
    ("output_not_contains", "value"),
    ("output_matches", "pattern"),
    ("output_not_matches", "pattern"),
    ("run_command", "command_to_run"),
)


def make_check(assertion: ScenarioAssertion, name: str, timeout_seconds: float) -> Check | None:
    """The assertion as a check; None if no check does exactly the same."""
    if assertion.type == "run_command_and_assert":
        return _command_check(assertion, name, timeout_seconds)
    if assertion.type in _ANSWER_TYPES:
        return _answer_check(assertion, name)
    return _file_check(assertion, name)


def judge_question(assertion: ScenarioAssertion) -> str | None:
    """The question for a judge if no check covers an assertion about the answer; None for other assertions."""
    if assertion.type not in ("output_matches", "output_not_matches"):
        return None
    part = "a part" if assertion.type == "output_matches" else "no part"
    return (
        f"The agent's answer has {part} that the regular expression {assertion.pattern!r} matches, in capitals or not."
    )


def _file_check(assertion: ScenarioAssertion, name: str) -> Check | None:
    value = assertion.value or ""
    try:
        path = workspace_path(assertion.path or "", name)
    except UsageError:
        return None
    if "*" not in path and assertion.type == "file_exists":
        return FileExistsCheck(name=name, path=path)
    if "*" not in path and assertion.type == "file_contains":
        return FileContainsCheck(name=name, path=path, text=value)
    script, files = _SCRIPTS.get(assertion.type), _find_arguments(path)
    if script is None or files is None or "\n" in value:
        return None
    return CommandCheck(name=name, run=["sh", "-c", script, "sh", *([value] if value else []), *files])


def _answer_check(assertion: ScenarioAssertion, name: str) -> Check | None:
    """A check of the answer, without regard to case; a regular expression must be valid in Python, too."""
    flags, pattern = "i", re.escape(assertion.value or "")
    if assertion.type.endswith("matches"):
        stated = _FLAGS.fullmatch(assertion.pattern or "")
        flags, pattern = (f"i{stated['flags']}", stated["rest"]) if stated else ("i", assertion.pattern or "")
    regex = f"(?{''.join(dict.fromkeys(flags))}){pattern}"
    try:
        re.compile(regex)
    except (re.error, RecursionError, OverflowError):
        return None
    return AnswerContainsCheck(name=name, regex=regex, absent="_not_" in assertion.type)


def _find_arguments(pattern: str) -> list[str] | None:
    """Arguments for `find`. Its `*` matches slashes, unlike theirs, which is no difference at a fixed depth."""
    if _UNSUPPORTED_GLOB & set(pattern):
        return None
    if "**" not in pattern:
        depth = str(pattern.count("/") + 1)
        return [".", "-mindepth", depth, "-maxdepth", depth, "-type", "f", "-path", f"./{pattern}"]
    anywhere = _ANY_DEPTH.fullmatch(pattern)
    if anywhere is None or "**" in anywhere["name"]:
        return None
    return [f"./{anywhere['folder']}", "-type", "f", "-name", anywhere["name"]]


def _command_check(assertion: ScenarioAssertion, name: str, timeout_seconds: float) -> Check | None:
    """A check for a command that needs splitting at blanks only, with at most one line of expected output."""
    arguments, printed = assertion.command_arguments or "", assertion.expected_std_output_contains
    others = (
        assertion.expected_std_error_contains,
        assertion.expected_std_output_matches,
        assertion.expected_std_error_matches,
    )
    if any(other is not None for other in others) or set("\"'\\") & set(arguments) or "\n" in (printed or ""):
        return None
    words = [assertion.command_to_run or "", *arguments.split()]
    code = assertion.expected_exit_code
    seconds = assertion.command_timeout or timeout_seconds
    if printed is not None:
        run = ["sh", "-c", _PRINTS_SCRIPT, "sh", printed, "" if code is None else str(code), *words]
        return CommandCheck(name=name, run=run, timeout_seconds=seconds)
    return None if code is None else CommandCheck(name=name, run=words, exit_code=code, timeout_seconds=seconds)


EVAL_FILE = "eval.yaml"
_ANCHORS = {"1": "not met at all", "3": "met in the main", "5": "met in full, and well"}
_Words = Annotated[str, Meta(pattern=NON_BLANK_PATTERN, max_length=15_000)]
_Names = list[str]


class ScenarioFile(ForeignTable, frozen=True, kw_only=True):
    """A file of the workspace: its content, or where to copy it from."""

    path: Annotated[str, Meta(min_length=1, max_length=1000)]
    content: str | None = None
    source: str | None = None


class ScenarioSetup(ForeignTable, frozen=True, kw_only=True):
    """What is there before the agent starts."""

    copy_test_files: bool = False
    files: list[ScenarioFile] = []  # noqa: RUF012 - msgspec copies defaults
    commands: _Names = []  # noqa: RUF012
    additional_required_skills: _Names = []  # noqa: RUF012
    additional_required_agents: _Names = []  # noqa: RUF012


class Scenario(ForeignTable, frozen=True, kw_only=True):
    """One prompt, and what is expected of the run."""

    name: NonBlankText
    prompt: NonBlankText
    setup: ScenarioSetup | None = None
    assertions: list[ScenarioAssertion] | None = None
    rubric: Annotated[list[_Words], Meta(max_length=150)] | None = None
    timeout: Seconds = 120.0
    expect_tools: _Names | None = None
    reject_tools: _Names | None = None
    max_turns: int | None = None
    max_tokens: int | None = None
    expect_activation: bool = True


class EvalFile(ForeignTable, frozen=True, kw_only=True):
    """An `eval.yaml`; `config` says how much runs in parallel, other keys are informative."""

    scenarios: Annotated[list[Scenario], Meta(min_length=1)]
    config: dict[str, Any] | None = None
    name: str | None = None
    description: str | None = None
    required_skills: _Names | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadScenario:
    """A scenario in our format, and notes on what it leaves out."""

    scenario: Scenario
    settings: TaskSettings
    files: dict[str, DraftFile]
    notes: tuple[str, ...]


def read_scenario(scenario: Scenario, source: Path, skill: Path, further: Sequence[Check] = ()) -> ReadScenario:
    """Read a scenario and add `further` checks; UsageError if files lead outside, or nothing says how to
    judge a run.
    """
    checks = dict(_scenario_checks(scenario))
    known = [*(check for check in checks.values() if check is not None), *further]
    criteria = list(_rubric_criteria(scenario))
    if not known and not criteria:
        raise UsageError("it has neither an assertion that can be looked at here nor a rubric")
    return ReadScenario(
        scenario=scenario,
        settings=TaskSettings(
            checks=known,
            timeout_seconds=scenario.timeout,
            rubric=Rubric(criteria=criteria) if criteria else None,
        ),
        files={f"{WORKSPACE_FOLDER}/{path}": file for path, file in _workspace_files(scenario, source, skill)},
        notes=tuple(_scenario_notes(scenario, [name for name, check in checks.items() if check is None])),
    )


def _scenario_checks(scenario: Scenario) -> Iterator[tuple[str, Check | None]]:
    """Checks by name; None for an assertion that neither a check nor a judge covers."""
    for name, assertion in _named_assertions(scenario):
        check = make_check(assertion, name, scenario.timeout)
        if check is not None or judge_question(assertion) is None:
            yield name, check


def _rubric_criteria(scenario: Scenario) -> Iterator[Criterion]:
    """Criteria for assertions that no check covers, and those of the rubric."""
    for name, assertion in _named_assertions(scenario):
        words = judge_question(assertion)
        if words is not None and make_check(assertion, name, scenario.timeout) is None:
            yield BinaryCriterion(name=name, description=words)
    for number, words in enumerate(scenario.rubric or [], start=1):
        yield ScaledCriterion(name=f"rubric-{number}", description=words, min=1.0, max=5.0, anchors=_ANCHORS)


def _named_assertions(scenario: Scenario) -> Iterator[tuple[str, ScenarioAssertion]]:
    for number, assertion in enumerate(scenario.assertions or [], start=1):
        if assertion.type != "exit_success":
            yield f"{number}-{assertion.type.replace('_', '-')}", assertion


def _workspace_files(scenario: Scenario, source: Path, skill: Path) -> Iterator[tuple[str, DraftFile]]:
    """The workspace; files that are named take precedence over files beside the evals."""
    setup = scenario.setup or ScenarioSetup()
    if setup.copy_test_files:
        _refuse_the_skill(source.resolve().parent, skill, f"what lies beside {source.name}")
        yield from read_tree(source.parent, without=is_evals_file).items()
    for file in setup.files:
        if file.content is not None:
            yield workspace_path(file.path, "its setup"), DraftFile(content=file.content.encode("utf-8", "replace"))
        elif file.source is not None:
            place = _setup_source(file.source, source, skill)
            _refuse_the_skill(place, skill, f"its file {file.source!r}")
            yield from _copy_files(file, place)
        else:
            raise UsageError(f"its file {file.path!r} has neither a content nor a source")


def _refuse_the_skill(place: Path, skill: Path, what: str) -> None:
    """Refuse to copy the skill into the workspace: both arms start from the same files."""
    if (skill.resolve() / SKILL_FILE).is_relative_to(place):
        raise UsageError(f"{what} is the skill itself, which only one arm may have")


def _copy_files(file: ScenarioFile, place: Path) -> Iterator[tuple[str, DraftFile]]:
    """A file, or all files of a folder, which may become the workspace itself."""
    if is_evals_file(PurePosixPath(place.name)):
        raise UsageError(f"its file {file.source!r} would tell the agent what is expected of it")
    if not place.is_dir():
        yield workspace_path(file.path, "its setup"), read_suite_file(place)
        return
    for path, content in read_tree(place, without=is_evals_file).items():
        yield workspace_path(f"{file.path}/{path}", "its setup"), content


def _setup_source(stated: str, source: Path, skill: Path) -> Path:
    """The file that a path means: beside the skill, as in the first versions, or beside the evals."""
    places = [resolve_within(root, stated, f"{source}: {stated}") for root in (skill, source.parent)]
    return next((place for place in places if place.exists()), places[0])


def _scenario_notes(scenario: Scenario, unchecked: list[str]) -> Iterator[str]:
    setup = scenario.setup or ScenarioSetup()
    if unchecked:
        yield f"no check here does exactly what {quote_names(unchecked)} does; it was left out"
    if setup.commands:
        yield (
            f"its setup ({quote_names(setup.commands)}) is not run: a workspace is files as they are. Run it there, "
            "and keep what it leaves in environment/workspace"
        )
    if others := [*setup.additional_required_skills, *setup.additional_required_agents]:
        yield f"{quote_names(others)} would be copied beside the skill; name them in the arm, or do without"
    if not scenario.expect_activation:
        yield "the skill is not meant to be used here, which nothing looks at; the rubric still holds"
    limits = ("expect_tools", "reject_tools", "max_turns", "max_tokens")
    if stated := [limit for limit in limits if getattr(scenario, limit) is not None]:
        yield f"{quote_names(stated)} is left out: tools and turns of a run are recorded, and fail nothing"
