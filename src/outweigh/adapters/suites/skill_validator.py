"""A skill with the scenarios that skill-validator tries it on, as an experiment: without it and with it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from outweigh.adapters.suites.foreign_table import foreign_table, is_table_with
from outweigh.adapters.suites.judged import rules_for
from outweigh.adapters.suites.naming import apart, folder_name
from outweigh.adapters.suites.scenario import EVAL_FILE, EvalFile, ReadScenario, read_scenario
from outweigh.adapters.suites.skill_copy import SkillCopy, copy_skill
from outweigh.adapters.suites.skill_creator import WITH, WITHOUT
from outweigh.adapters.suites.skill_notes import notes_on_copy
from outweigh.adapters.suites.skill_place import SKILL_FILE
from outweigh.adapters.suites.source_files import read_bytes, read_yaml
from outweigh.adapters.suites.stimulus import Stimulus, notes_on_file, read_stimuli
from outweigh.errors import UsageError
from outweigh.ports.suites import DEFAULT_AGENT, SuiteWishes
from outweigh.task.arm import ArmSpec
from outweigh.task.places import places_of
from outweigh.task.skill_file import read_skill
from outweigh.task.suite import SuiteSpec
from outweigh.task.suite_draft import SuiteDraft, TaskDraft

_TESTS = "tests"
_PLUGINS = ("plugins", "src")


class SkillValidator:
    """Assertions about files and commands become required checks; judges see to the rubric and to the answer."""

    name = "skill-validator"
    looks_for = f"a skill's folder with {_TESTS}/{EVAL_FILE} that has scenarios or stimuli, or that file"

    def recognises(self, path: Path) -> bool:
        """By the list that gives the format its shape."""
        try:
            source = _source(path)
            document = None if source is None else read_yaml(source)
            return is_table_with(document, "scenarios") or is_table_with(document, "stimuli")
        except (UsageError, OSError):
            return False

    def read(self, path: Path, wishes: SuiteWishes) -> SuiteDraft:
        """Each scenario is a task; the skill is laid without its tests."""
        agent = wishes.agent or DEFAULT_AGENT
        if not places_of(agent).skills:
            raise UsageError(f"{agent} knows no skills, so with and without one it is the same. Name another by -a.")
        source = _source(path)
        if source is None:
            raise UsageError(f"{path} is nothing that this format has; name {self.looks_for}.")
        skill = _skill(source)
        read, left_out = _readable(source, skill)
        name = folder_name(read_skill(read_bytes(skill / SKILL_FILE), skill.name).name, "skill")
        labels = apart(folder_name(each.scenario.name, "scenario") for each in read)
        drafts = tuple(
            TaskDraft(name=label, instruction=each.scenario.prompt, settings=each.settings, files=each.files)
            for label, each in zip(labels, read, strict=True)
        )
        rules, copy = rules_for(drafts), _copied(skill, source)
        return SuiteDraft(
            spec=SuiteSpec(
                name=name,
                tasks=["tasks/*"],
                arms={
                    WITHOUT: ArmSpec(agent=agent, model=wishes.model),
                    WITH: ArmSpec(extends=WITHOUT, skills=[f"skills/{name}"]),
                },
                baseline=WITHOUT,
                judges=rules.judges,
                policy=rules.policy,
            ),
            tasks=rules.tasks,
            files={f"skills/{name}/{place}": file for place, file in copy.files.items()},
            comments=rules.comments,
            notes=(*left_out, *rules.notes, *_notes(labels, read), *notes_on_copy(copy)),
        )


def _source(path: Path) -> Path | None:
    if path.is_file():
        return path if path.suffix in (".yaml", ".yml") else None
    places = (path / _TESTS / EVAL_FILE, path / EVAL_FILE)
    return next((place for place in places if place.is_file()), None)


def _skill(source: Path) -> Path:
    """Around its tests, or in the plugin: `tests/PLUGIN/SKILL` is for `plugins/PLUGIN/skills/SKILL`."""
    folder = source.resolve().parent
    around = [folder.parent] if folder.name == _TESTS else [folder]
    plugin, top = folder.parent.name, folder.parent.parent.parent
    beside = [top / place / plugin / "skills" / folder.name for place in _PLUGINS]
    within_plugin = [folder.parent.parent / "skills" / folder.name] if plugin == _TESTS else []
    for place in (*around, *beside, *within_plugin):
        if (place / SKILL_FILE).is_file():
            return place
    raise UsageError(
        f"{source} has no skill beside it: there is no {around[0] / SKILL_FILE}. Put it into the skill's folder, as "
        f"{_TESTS}/{EVAL_FILE}."
    )


def _stimuli(source: Path) -> tuple[list[Stimulus], list[str]]:
    """Scenarios, in either of the two ways to write them, and what stands around them in vain."""
    document = read_yaml(source)
    if is_table_with(document, "stimuli"):
        return read_stimuli(document, source), list(notes_on_file(document))
    scenarios = foreign_table(document, EvalFile, source).scenarios
    return [Stimulus(scenario=scenario, checks=(), notes=()) for scenario in scenarios], []


def _readable(source: Path, skill: Path) -> tuple[list[ReadScenario], list[str]]:
    """Scenarios that can be run, and of each other one why it cannot."""
    read: list[ReadScenario] = []
    left_out: list[str] = []
    stimuli, notes = _stimuli(source)
    for stimulus in stimuli:
        try:
            found = read_scenario(stimulus.scenario, source, skill, stimulus.checks)
        except UsageError as reason:
            left_out.append(f"{stimulus.scenario.name!r} was left out: {str(reason).rstrip('.')}.")
        else:
            read.append(replace(found, notes=(*found.notes, *stimulus.notes)))
    if not read:
        raise UsageError(f"{source}: none of its scenarios can be run. {left_out[0]} Mend them there.")
    return read, [*left_out, *notes]


def _copied(skill: Path, source: Path) -> SkillCopy:
    """Neither evals nor, where they are its own, the tests that this suite is made of."""
    copy = copy_skill(skill)
    if skill not in source.resolve().parents:
        return copy
    own = f"{_TESTS}/"
    return SkillCopy(
        files={path: file for path, file in copy.files.items() if not path.startswith(own)},
        left_out=(*(path for path in copy.left_out if not path.startswith(own)), _TESTS),
    )


def _notes(labels: Sequence[str], read: Sequence[ReadScenario]) -> Iterator[str]:
    for label, each in zip(labels, read, strict=True):
        yield from (f"{label}: {note}." for note in each.notes)
