"""Suite reader of skill-validator: a skill with the scenarios that it is tried on, without it and with it.

Also reads stimuli of Vally, a newer way to write scenarios: the same questions under other keys.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from outweigh.errors import UsageError, quote_names
from outweigh.interop.skill_files import (
    WITHOUT_SKILL_ARM,
    SkillCopy,
    notes_on_copy,
    read_skill_files,
    skill_arms,
)
from outweigh.interop.skill_validator.scenarios import EVAL_FILE, EvalFile, ReadScenario, Scenario, read_scenario
from outweigh.interop.suite_drafting import draft_judging, make_unique, slug
from outweigh.interop.suite_files import convert_table, has_keys, read_bytes, read_yaml
from outweigh.model.agent_files import SKILL_FILE, file_locations_of, read_skill
from outweigh.model.suite import SuiteSpec
from outweigh.model.task import Check, CommandCheck, UnchangedCheck
from outweigh.ports.suites import DEFAULT_AGENT, SuiteDraft, SuiteOverrides, TaskDraft

_SECONDS_PER_UNIT = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d{1,9})(ms|s|m|h)", re.IGNORECASE)
_IMPLIED_GRADERS = frozenset({"exit-success", "completed", "prompt"})
"""Graders without a counterpart: a run that ends in an error fails anyway, and judges are asked wherever there is a
rubric.
"""
_ASSERTIONS = frozenset(
    f"{what}-{how}"
    for what, ways in (
        ("file", ("exists", "not-exists", "contains", "not-contains")),
        ("output", ("contains", "not-contains", "matches", "not-matches")),
    )
    for how in ways
)
_KNOWN_KEYS = frozenset({"name", "prompt", "environment", "graders", "rubric", "constraints", "expect_activation"})
_KNOWN_FILE_KEYS = frozenset({"name", "description", "version", "type", "environment", "config", "defaults", "stimuli"})
_UNSUPPORTED_LIMITS = ("expect_tools", "reject_tools", "max_turns", "max_tokens")

_YamlTable = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class VallyStimulus:
    """A scenario with further checks, and notes on what is not carried over."""

    scenario: Scenario
    checks: tuple[Check, ...]
    notes: tuple[str, ...]


def read_stimuli(document: _YamlTable, source: Path) -> list[VallyStimulus]:
    """All stimuli of a file; settings at its top apply to each."""
    defaults = {**_table(document.get("config"), source), **_table(document.get("defaults"), source)}
    stimuli = _tables(document.get("stimuli"), source)
    if not stimuli:
        raise UsageError(f"{source} has no stimuli. Write one with a name, a prompt and graders.")
    return [_read_stimulus(each, document, defaults, source) for each in stimuli]


def notes_on_file(document: _YamlTable) -> Iterator[str]:
    """Notes on settings of the whole file that a suite expresses differently."""
    settings = [table for key in ("config", "defaults") if isinstance(table := document.get(key), dict)]
    stated = sorted({str(key) for table in settings for key in table} - {"timeout"})
    if stated:
        yield f"{quote_names(stated)} of the file is left out: see `repeats` of the suite, `model` of arms and judges."
    if others := sorted(str(key) for key in document if key not in _KNOWN_FILE_KEYS):
        yield f"{quote_names(others)} of the file has no counterpart in a suite."


def _read_stimulus(stated: _YamlTable, document: _YamlTable, defaults: _YamlTable, source: Path) -> VallyStimulus:
    graders = _tables(stated.get("graders"), source)
    constraints = _table(stated.get("constraints"), source)
    environments = [_table(each.get("environment"), source) for each in (document, stated)]
    table = {
        **{key: stated[key] for key in ("name", "prompt", "rubric", "expect_activation") if key in stated},
        **{key: constraints[key] for key in _UNSUPPORTED_LIMITS if key in constraints},
        "setup": _setup(environments, source),
        "assertions": [_assertion(grader, source) for grader in graders if _grader_type(grader) in _ASSERTIONS],
        "timeout": _read_seconds(constraints.get("max_duration", defaults.get("timeout", "2m")), source),
    }
    checks = dict(_grader_checks(graders, source))
    return VallyStimulus(
        scenario=convert_table(table, Scenario, source),
        checks=tuple(check for check in checks.values() if check is not None),
        notes=tuple(_stimulus_notes(stated, graders, [name for name, check in checks.items() if check is None])),
    )


def _setup(environments: list[_YamlTable], source: Path) -> dict[str, Any]:
    """The set-up that all stimuli share, followed by that of this stimulus."""
    files = [file for each in environments for file in _tables(each.get("files"), source)]
    return {
        "files": [{"path": file.get("dest"), "source": file.get("src")} for file in files],
        "commands": _merged_entries("commands", environments),
        "additional_required_skills": _merged_entries("skills", environments),
        "additional_required_agents": _merged_entries("agents", environments),
    }


def _assertion(grader: _YamlTable, source: Path) -> dict[str, Any]:
    config = _table(grader.get("config"), source)
    kept = {key: config[key] for key in ("path", "value", "pattern") if key in config}
    said = {"value": config["substring"]} if "substring" in config else {}
    return {"type": _grader_type(grader).replace("-", "_"), **kept, **said}


def _grader_checks(graders: list[_YamlTable], source: Path) -> Iterator[tuple[str, Check | None]]:
    """Checks for graders that scenarios lack, by name; None if no check does exactly the same."""
    for number, grader in enumerate(graders, start=1):
        kind, config = _grader_type(grader), _table(grader.get("config"), source)
        name = f"grader-{number}-{slug(kind, 'unknown')}"
        if kind == "diff-empty":
            yield name, UnchangedCheck(name=name, paths=["*"])
        elif kind == "run-command":
            yield name, _grader_command(name, config, source)
        elif kind not in _IMPLIED_GRADERS and kind not in _ASSERTIONS:
            yield name, None


def _grader_type(grader: _YamlTable) -> str:
    kind = grader.get("type")
    return kind if isinstance(kind, str) else ""


def _grader_command(name: str, config: _YamlTable, source: Path) -> Check | None:
    """The shell command of a grader and its expected exit code; None if it depends on output or variables."""
    command, code = config.get("command"), config.get("expected_exit_code", 0)
    whole = config.keys() <= {"command", "expected_exit_code", "timeout"}
    if not whole or not isinstance(command, str) or not command.strip() or "\0" in command or type(code) is not int:
        return None
    return CommandCheck(
        name=name, run=command, exit_code=code, timeout_seconds=_read_seconds(config.get("timeout", "2m"), source)
    )


def _stimulus_notes(stated: _YamlTable, graders: list[_YamlTable], unchecked: list[str]) -> Iterator[str]:
    if unchecked:
        yield f"no check here does exactly what {quote_names(unchecked)} does; it was left out"
    if others := sorted(str(key) for key in stated if key not in _KNOWN_KEYS):
        yield f"{quote_names(others)} has no counterpart in a task"
    if any(_judge_prompts(grader) for grader in graders):
        yield "what its `prompt` graders tell a judge is left out; the rubric is asked"


def _judge_prompts(grader: _YamlTable) -> bool:
    config = grader.get("config")
    return _grader_type(grader) == "prompt" and isinstance(config, dict) and "prompt" in config


def _read_seconds(stated: Any, source: Path) -> float:
    found = _DURATION.fullmatch(stated.strip()) if isinstance(stated, str) else None
    if found is not None and int(found[1]) > 0:
        return int(found[1]) * _SECONDS_PER_UNIT[found[2].lower()]
    if isinstance(stated, int) and not isinstance(stated, bool) and 0 < stated <= 10**6:
        return float(stated)
    raise UsageError(f"{source}: {stated!r} is not a duration; write a number with its unit, such as 90s or 5m.")


def _merged_entries(key: str, environments: list[_YamlTable]) -> list[Any]:
    lists = (each.get(key) for each in environments)
    return [item for each in lists if isinstance(each, list) for item in each]


def _tables(value: Any, source: Path) -> list[_YamlTable]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise UsageError(f"{source}: {str(value)[:100]!r} is not a list of tables. Fix it there.")
    return [_table(each, source) for each in value]


def _table(value: Any, source: Path) -> _YamlTable:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UsageError(f"{source}: {str(value)[:100]!r} is not a table. Fix it there.")
    return value


_TESTS_FOLDER = "tests"
_PLUGIN_FOLDERS = ("plugins", "src")


class SkillValidatorSuiteReader:
    """Assertions about files and commands become required checks; judges see the rubric and the answer."""

    name = "skill-validator"
    looks_for = f"a skill's folder with {_TESTS_FOLDER}/{EVAL_FILE} that has scenarios or stimuli, or that file"

    def recognises(self, path: Path) -> bool:
        """Whether a file has the list of scenarios or stimuli."""
        try:
            source = _eval_file(path)
            document = None if source is None else read_yaml(source)
            return has_keys(document, "scenarios") or has_keys(document, "stimuli")
        except (UsageError, OSError):
            return False

    def read(self, path: Path, overrides: SuiteOverrides) -> SuiteDraft:
        """Read each scenario as a task; the skill is copied without its tests."""
        agent = overrides.agent or DEFAULT_AGENT
        if not file_locations_of(agent).skills:
            raise UsageError(
                f"{agent} does not support skills, so with and without one it is the same. Name another with -a."
            )
        source = _eval_file(path)
        if source is None:
            raise UsageError(f"{path} is nothing that this format has; name {self.looks_for}.")
        skill = _find_skill(source)
        read, left_out = _runnable_scenarios(source, skill)
        name = slug(read_skill(read_bytes(skill / SKILL_FILE), skill.name).name, "skill")
        labels = make_unique(slug(each.scenario.name, "scenario") for each in read)
        drafts = tuple(
            TaskDraft(name=label, instruction=each.scenario.prompt, settings=each.settings, files=each.files)
            for label, each in zip(labels, read, strict=True)
        )
        rules, copy = draft_judging(drafts), _read_skill_copy(skill, source)
        return SuiteDraft(
            spec=SuiteSpec(
                name=name,
                tasks=["tasks/*"],
                arms=skill_arms(name, agent, overrides.model),
                baseline=WITHOUT_SKILL_ARM,
                judges=rules.judges,
                policy=rules.policy,
            ),
            tasks=rules.tasks,
            files={f"skills/{name}/{place}": file for place, file in copy.files.items()},
            comments=rules.comments,
            notes=(*left_out, *rules.notes, *_suite_notes(labels, read), *notes_on_copy(copy)),
        )


def _eval_file(path: Path) -> Path | None:
    if path.is_file():
        return path if path.suffix in (".yaml", ".yml") else None
    places = (path / _TESTS_FOLDER / EVAL_FILE, path / EVAL_FILE)
    return next((place for place in places if place.is_file()), None)


def _find_skill(source: Path) -> Path:
    """The skill that contains the tests, or the plugin's: `tests/PLUGIN/SKILL` is for `plugins/PLUGIN/skills/SKILL`."""
    folder = source.resolve().parent
    around = [folder.parent] if folder.name == _TESTS_FOLDER else [folder]
    plugin, top = folder.parent.name, folder.parent.parent.parent
    beside = [top / place / plugin / "skills" / folder.name for place in _PLUGIN_FOLDERS]
    within_plugin = [folder.parent.parent / "skills" / folder.name] if plugin == _TESTS_FOLDER else []
    for place in (*around, *beside, *within_plugin):
        if (place / SKILL_FILE).is_file():
            return place
    raise UsageError(
        f"{source} has no skill beside it: there is no {around[0] / SKILL_FILE}. Put it into the skill's folder, as "
        f"{_TESTS_FOLDER}/{EVAL_FILE}."
    )


def _read_scenarios(source: Path) -> tuple[list[VallyStimulus], list[str]]:
    """Scenarios in either format, and notes on keys that have no effect."""
    document = read_yaml(source)
    if has_keys(document, "stimuli"):
        return read_stimuli(document, source), list(notes_on_file(document))
    scenarios = convert_table(document, EvalFile, source).scenarios
    return [VallyStimulus(scenario=scenario, checks=(), notes=()) for scenario in scenarios], []


def _runnable_scenarios(source: Path, skill: Path) -> tuple[list[ReadScenario], list[str]]:
    """The scenarios that can be run, and why each of the others cannot."""
    read: list[ReadScenario] = []
    left_out: list[str] = []
    stimuli, notes = _read_scenarios(source)
    for stimulus in stimuli:
        try:
            found = read_scenario(stimulus.scenario, source, skill, stimulus.checks)
        except UsageError as reason:
            left_out.append(f"{stimulus.scenario.name!r} was left out: {str(reason).rstrip('.')}.")
        else:
            read.append(replace(found, notes=(*found.notes, *stimulus.notes)))
    if not read:
        raise UsageError(f"{source}: none of its scenarios can be run. {left_out[0]} Fix them there.")
    return read, [*left_out, *notes]


def _read_skill_copy(skill: Path, source: Path) -> SkillCopy:
    """A copy of the skill without evals and without the tests that this suite is made from."""
    copy = read_skill_files(skill)
    if skill not in source.resolve().parents:
        return copy
    own = f"{_TESTS_FOLDER}/"
    return SkillCopy(
        files={path: file for path, file in copy.files.items() if not path.startswith(own)},
        left_out=(*(path for path in copy.left_out if not path.startswith(own)), _TESTS_FOLDER),
    )


def _suite_notes(labels: Sequence[str], read: Sequence[ReadScenario]) -> Iterator[str]:
    for label, each in zip(labels, read, strict=True):
        yield from (f"{label}: {note}." for note in each.notes)
