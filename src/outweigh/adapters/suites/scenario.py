"""One scenario of a skill-validator's `eval.yaml`: its keys, and what becomes of them here."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from msgspec import Meta

from outweigh.adapters.suites.foreign_table import WORDS, ForeignTable, Text
from outweigh.adapters.suites.scenario_checks import Assertion, check_of, words_of
from outweigh.adapters.suites.skill_copy import is_evals_file
from outweigh.adapters.suites.skill_place import SKILL_FILE
from outweigh.adapters.suites.source_files import suite_file, tree, within
from outweigh.adapters.suites.workspace_path import workspace_path
from outweigh.errors import UsageError, name_some
from outweigh.task.check import Check
from outweigh.task.rubric import BinaryCriterion, Criterion, Rubric, ScaledCriterion
from outweigh.task.spec import Seconds
from outweigh.task.suite_draft import WORKSPACE_FOLDER, SuiteFile
from outweigh.task.task import TaskSettings

EVAL_FILE = "eval.yaml"
_ANCHORS = {"1": "not met at all", "3": "met in the main", "5": "met in full, and well"}
_Words = Annotated[str, Meta(pattern=WORDS, max_length=15_000)]
_Names = list[str]


class SetupFile(ForeignTable, frozen=True, kw_only=True):
    """A file of the workspace: its content, or where to copy it from."""

    path: Annotated[str, Meta(min_length=1, max_length=1000)]
    content: str | None = None
    source: str | None = None


class Setup(ForeignTable, frozen=True, kw_only=True):
    """What is there before the agent starts."""

    copy_test_files: bool = False
    files: list[SetupFile] = []  # noqa: RUF012 - msgspec copies defaults
    commands: _Names = []  # noqa: RUF012
    additional_required_skills: _Names = []  # noqa: RUF012
    additional_required_agents: _Names = []  # noqa: RUF012


class Scenario(ForeignTable, frozen=True, kw_only=True):
    """One prompt, and what is expected of the run."""

    name: Text
    prompt: Text
    setup: Setup | None = None
    assertions: list[Assertion] | None = None
    rubric: Annotated[list[_Words], Meta(max_length=150)] | None = None
    timeout: Seconds = 120.0
    expect_tools: _Names | None = None
    reject_tools: _Names | None = None
    max_turns: int | None = None
    max_tokens: int | None = None
    expect_activation: bool = True


class EvalFile(ForeignTable, frozen=True, kw_only=True):
    """The whole file; `config` says how much runs at once, the other keys are for people."""

    scenarios: Annotated[list[Scenario], Meta(min_length=1)]
    config: dict[str, Any] | None = None
    name: str | None = None
    description: str | None = None
    required_skills: _Names | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadScenario:
    """A scenario as it is written here; `notes` say what is not in it."""

    scenario: Scenario
    settings: TaskSettings
    files: dict[str, SuiteFile]
    notes: tuple[str, ...]


def read_scenario(scenario: Scenario, source: Path, skill: Path, further: Sequence[Check] = ()) -> ReadScenario:
    """UsageError where files lead out, or where nothing says how a run of it went. `further` checks are added."""
    checks = dict(_checks(scenario))
    known = [*(check for check in checks.values() if check is not None), *further]
    criteria = list(_criteria(scenario))
    if not known and not criteria:
        raise UsageError("it has neither an assertion that can be looked at here nor a rubric")
    return ReadScenario(
        scenario=scenario,
        settings=TaskSettings(
            checks=known,
            timeout_seconds=scenario.timeout,
            rubric=Rubric(criteria=criteria) if criteria else None,
        ),
        files={f"{WORKSPACE_FOLDER}/{path}": file for path, file in _files(scenario, source, skill)},
        notes=tuple(_notes(scenario, [name for name, check in checks.items() if check is None])),
    )


def _checks(scenario: Scenario) -> Iterator[tuple[str, Check | None]]:
    """By name; None for one that no check does exactly. Whether the agent ended well is looked at in any case."""
    for name, assertion in _named(scenario):
        check = check_of(assertion, name, scenario.timeout)
        if check is not None or words_of(assertion) is None:
            yield name, check


def _criteria(scenario: Scenario) -> Iterator[Criterion]:
    """What no check can tell of an answer, and the rubric."""
    for name, assertion in _named(scenario):
        words = words_of(assertion)
        if words is not None and check_of(assertion, name, scenario.timeout) is None:
            yield BinaryCriterion(name=name, description=words)
    for number, words in enumerate(scenario.rubric or [], start=1):
        yield ScaledCriterion(name=f"rubric-{number}", description=words, min=1.0, max=5.0, anchors=_ANCHORS)


def _named(scenario: Scenario) -> Iterator[tuple[str, Assertion]]:
    for number, assertion in enumerate(scenario.assertions or [], start=1):
        if assertion.type != "exit_success":
            yield f"{number}-{assertion.type.replace('_', '-')}", assertion


def _files(scenario: Scenario, source: Path, skill: Path) -> Iterator[tuple[str, SuiteFile]]:
    """Files that are named win over files that lie beside the evals."""
    setup = scenario.setup or Setup()
    if setup.copy_test_files:
        _refuse_the_skill(source.resolve().parent, skill, f"what lies beside {source.name}")
        yield from tree(source.parent, without=is_evals_file).items()
    for file in setup.files:
        if file.content is not None:
            yield workspace_path(file.path, "its setup"), SuiteFile(content=file.content.encode("utf-8", "replace"))
        elif file.source is not None:
            place = _source(file.source, source, skill)
            _refuse_the_skill(place, skill, f"its file {file.source!r}")
            yield from _copied(file, place)
        else:
            raise UsageError(f"its file {file.path!r} has neither a content nor a source")


def _refuse_the_skill(place: Path, skill: Path, what: str) -> None:
    """Both arms start from the same files."""
    if (skill.resolve() / SKILL_FILE).is_relative_to(place):
        raise UsageError(f"{what} is the skill itself, which only one arm may have")


def _copied(file: SetupFile, place: Path) -> Iterator[tuple[str, SuiteFile]]:
    """A file, or all files of a folder, which may become the workspace itself."""
    if is_evals_file(PurePosixPath(place.name)):
        raise UsageError(f"its file {file.source!r} would tell the agent what is expected of it")
    if not place.is_dir():
        yield workspace_path(file.path, "its setup"), suite_file(place)
        return
    for path, content in tree(place, without=is_evals_file).items():
        yield workspace_path(f"{file.path}/{path}", "its setup"), content


def _source(stated: str, source: Path, skill: Path) -> Path:
    """Beside the skill, as the first versions have it, or beside the evals."""
    places = [within(root, stated, f"{source}: {stated}") for root in (skill, source.parent)]
    return next((place for place in places if place.exists()), places[0])


def _notes(scenario: Scenario, unchecked: list[str]) -> Iterator[str]:
    setup = scenario.setup or Setup()
    if unchecked:
        yield f"no check here does exactly what {name_some(unchecked)} does; it was left out"
    if setup.commands:
        yield (
            f"its setup ({name_some(setup.commands)}) is not run: a workspace is files as they are. Run it there, and "
            "keep what it leaves in environment/workspace"
        )
    if others := [*setup.additional_required_skills, *setup.additional_required_agents]:
        yield f"{name_some(others)} would be laid beside the skill; name them in the arm, or do without"
    if not scenario.expect_activation:
        yield "the skill is not meant to be used here, which nothing looks at; the rubric still holds"
    limits = ("expect_tools", "reject_tools", "max_turns", "max_tokens")
    if stated := [limit for limit in limits if getattr(scenario, limit) is not None]:
        yield f"{name_some(stated)} is left out: tools and turns of a run are recorded, and fail nothing"
