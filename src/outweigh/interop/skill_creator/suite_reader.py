"""Suite reader of skill-creator: a skill with its author's evals, and the same agent without and with it."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.errors import UsageError, quote_names
from outweigh.interop.skill_creator.eval_task import EvalTask, label_eval, read_eval_task, workspace_files
from outweigh.interop.skill_creator.trigger_evals import (
    find_triggered_skill,
    is_trigger_eval,
    read_triggers,
    refuse_broken_trigger_files,
)
from outweigh.interop.skill_files import (
    CASE_LIST_KEYS,
    WITH_SKILL_ARM,
    WITHOUT_SKILL_ARM,
    SkillLocation,
    eval_cases,
    find_evals,
    find_skill,
    looks_like_evals,
    notes_on_copy,
    read_skill_files,
    skill_arms,
)
from outweigh.interop.suite_drafting import draft_judging, make_unique, slug
from outweigh.interop.suite_files import read_bytes, read_json
from outweigh.model.agent_files import SKILL_FILE, file_locations_of, read_skill
from outweigh.model.suite import DEFAULT_REPEATS, SuiteSpec
from outweigh.ports.suites import DEFAULT_AGENT, SuiteDraft, SuiteOverrides, TaskDraft

_READ_DOCUMENT_KEYS = frozenset((*CASE_LIST_KEYS, "skill_name", "skill", "$schema"))


def notes_on_tasks(tasks: Mapping[str, EvalTask], skill: str, baseline: str) -> Iterator[str]:
    """Notes on the evals that became tasks, by their new names."""
    for name, task in tasks.items():
        for raw in task.expected.unread:
            yield f"{name}: the meaning of this assertion is unknown, so it was left out: {raw}"
        if shared := task.inputs.shared:
            yield f"{name}: {quote_names(shared)}, a part of the skill, is input, so {baseline} has it too."
        if kept_back := task.inputs.kept_back:
            yield f"{name}: {quote_names(kept_back)}, a part of the skill, comes with the skill only."
    if unnamed := [name for name, task in tasks.items() if task.inputs.unnamed]:
        yield f"The prompts of {quote_names(unnamed)} do not name their files; a last line of the instruction does."
    if calling := [name for name, task in tasks.items() if _calls_skill(skill, task.instruction)]:
        yield f"The prompts of {quote_names(calling)} call the skill by its name, which means nothing to {baseline}."
    yield from _unused_keys_note("of its evals", Counter(key for task in tasks.values() for key in task.leftover_keys))


def _calls_skill(skill: str, prompt: str) -> bool:
    """Whether a prompt calls the skill as a command or a skill; its name alone may be an everyday word."""
    name = re.escape(skill)
    called = rf"(?:^|\s)[/$]{name}(?![\w-])|(?<![\w-]){name}[`'\"]?\s+skill\b|\bskill\s+[`'\"]?{name}(?![\w-])"
    return re.search(called, prompt, re.IGNORECASE) is not None


def notes_on_document(document: Any, place: SkillLocation, skill: str) -> Iterator[str]:
    """Notes on the keys around the evals."""
    if not isinstance(document, dict):
        return
    stated = document.get("skill_name")
    if isinstance(stated, str) and slug(stated, skill) != skill:
        yield f"{place.evals.name} names the skill {stated!r}, and {SKILL_FILE} of {skill!r}: its name here."
    yield from _unused_keys_note(
        "of the whole file", Counter(str(key) for key in document if key not in _READ_DOCUMENT_KEYS)
    )


def _unused_keys_note(whose: str, keys: Mapping[str, int]) -> Iterator[str]:
    for key, count in sorted(keys.items()):
        times = "once" if count == 1 else f"{count} times"
        yield f"`{key}` {whose} ({times}) has no counterpart in a suite."


SHOWN_SKIPPED_EVALS = 3


class SkillCreatorSuiteReader:
    """Reads `evals/evals.json` as skill-creator and agentskills.io describe it, and in the variants in use."""

    name = "skill-creator"
    looks_for = "a skill's folder with evals/evals.json or trigger evals, or one of these files"

    def recognises(self, path: Path) -> bool:
        """Whether a path has a list of prompts with what is expected of each."""
        try:
            evals = find_evals(path)
            return (evals is not None and looks_like_evals(evals)) or find_triggered_skill(path) is not None
        except (OSError, ValueError):
            return False

    def read(self, path: Path, overrides: SuiteOverrides) -> SuiteDraft:
        """Read each eval as a task with checks and a rubric; trigger evals become trigger cases."""
        agent = overrides.agent or DEFAULT_AGENT
        _refuse_without_skills(agent)
        refuse_broken_trigger_files(path)
        if (skill_folder := _only_triggered(path)) is not None:
            return _trigger_suite(skill_folder, agent, overrides.model)
        place = find_skill(path)
        document = read_json(place.evals)
        tasks, left_out = _tasks(document, place)
        skill = _skill_name(place)
        named = dict(zip(make_unique(task.wanted_name for task in tasks), tasks, strict=True))
        drafts = tuple(
            TaskDraft(
                name=name, instruction=task.instruction, settings=task.settings, files=workspace_files(task.inputs)
            )
            for name, task in named.items()
        )
        rules, copy = draft_judging(drafts), read_skill_files(place.skill)
        triggers, trigger_notes = read_triggers(place.skill, skill)
        return SuiteDraft(
            spec=SuiteSpec(
                name=skill,
                tasks=["tasks/*"],
                arms=skill_arms(skill, agent, overrides.model),
                baseline=WITHOUT_SKILL_ARM,
                repeats=DEFAULT_REPEATS,
                judges=rules.judges,
                policy=rules.policy,
                triggers=triggers,
            ),
            tasks=rules.tasks,
            files={f"skills/{skill}/{path}": file for path, file in copy.files.items()},
            comments={**_comments(skill, len(drafts)), **rules.comments},
            notes=(
                *left_out,
                *rules.notes,
                *trigger_notes,
                *notes_on_tasks(named, skill, WITHOUT_SKILL_ARM),
                *notes_on_document(document, place, skill),
                *notes_on_copy(copy),
            ),
        )


def _only_triggered(path: Path) -> Path | None:
    """The skill's folder where it has trigger evals and no others."""
    evals = find_evals(path)
    return None if evals is not None and looks_like_evals(evals) else find_triggered_skill(path)


def _trigger_suite(folder: Path, agent: str, model: str | None) -> SuiteDraft:
    """A suite that asks only whether the skill fires."""
    skill = _name_of(folder)
    triggers, notes = read_triggers(folder, skill)
    copy = read_skill_files(folder)
    cases = sum(len(each.should_fire) + len(each.should_not_fire) for each in triggers)
    comments = {
        "": f"Does the skill {skill} fire when it should? {cases} prompts, one request to the model each.",
        f"arms.{WITH_SKILL_ARM}": "Edit the description of this copy and run the suite again: the next version is an "
        "arm of its own, to be compared with this one.",
    }
    return SuiteDraft(
        spec=SuiteSpec(
            name=skill,
            arms=skill_arms(skill, agent, model),
            baseline=WITHOUT_SKILL_ARM,
            triggers=triggers,
            repeats=DEFAULT_REPEATS,
        ),
        tasks=(),
        files={f"skills/{skill}/{path}": file for path, file in copy.files.items()},
        comments=comments,
        notes=(*notes, *notes_on_copy(copy)),
    )


def _refuse_without_skills(agent: str) -> None:
    if not file_locations_of(agent).skills:
        raise UsageError(
            f"{agent} does not support skills, so with and without one it is the same. Name another agent with -a."
        )


def _skill_name(place: SkillLocation) -> str:
    """The name in the skill's front matter, by which agents know it, and after which its folder must be named."""
    return _name_of(place.skill)


def _name_of(folder: Path) -> str:
    stated = read_skill(read_bytes(folder / SKILL_FILE), folder.name).name
    return slug(stated, slug(folder.name, "skill"))


def _tasks(document: Any, place: SkillLocation) -> tuple[list[EvalTask], list[str]]:
    """The evals that can be run, and why each of the others cannot."""
    cases = [case for case in eval_cases(document) or () if not is_trigger_eval(case)]
    if not cases:
        raise UsageError(
            f'{place.evals} has no evals: a list, or {{"evals": […]}}, of tables with `prompt` and `expected_output` '
            "or `expectations`. Write some."
        )
    tasks: list[EvalTask] = []
    left_out: list[str] = []
    for number, case in enumerate(cases, start=1):
        try:
            tasks.append(read_eval_task(case, number, place))
        except UsageError as reason:
            left_out.append(f"{label_eval(case, number)} was left out: {str(reason).rstrip('.')}.")
    if not tasks:
        more = f" (and {len(left_out) - SHOWN_SKIPPED_EVALS} more)" if len(left_out) > SHOWN_SKIPPED_EVALS else ""
        raise UsageError(
            f"{place.evals}: none of its evals can be run. {' '.join(left_out[:SHOWN_SKIPPED_EVALS])}{more} "
            "Fix them there."
        )
    return tasks, left_out


def _comments(skill: str, tasks: int) -> dict[str, str]:
    return {
        "": f"Does the skill {skill} make a difference? The same agent without it and with it, on {tasks} evals of its "
        "author.",
        "repeats": "Runs of every eval in every arm. A verdict takes at least 6 evals, and a better pass rate alone is "
        "called improved from 7 on; `outweigh plan -c` says what can be seen.",
        f"arms.{WITH_SKILL_ARM}": "The only difference: a copy of the skill, without its evals, which say what is "
        "expected. Edit this copy and run the suite again to compare the next version.",
    }
