"""What of a skill's evals could not be carried over, or not as it was."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from outweigh.adapters.suites.eval_task import EvalTask
from outweigh.adapters.suites.naming import folder_name
from outweigh.adapters.suites.skill_copy import SkillCopy
from outweigh.adapters.suites.skill_place import CASE_LISTS, SKILL_FILE, SkillPlace
from outweigh.errors import name_some

_READ = frozenset((*CASE_LISTS, "skill_name", "skill", "$schema"))


def notes_on(tasks: Mapping[str, EvalTask], skill: str, baseline: str) -> Iterator[str]:
    """On the evals that became tasks, by the names that they have now."""
    for name, task in tasks.items():
        for raw in task.expected.unread:
            yield f"{name}: nobody here can tell what this assertion means, so it was left out: {raw}"
        if shared := task.inputs.shared:
            yield f"{name}: {name_some(shared)}, a part of the skill, is input, so {baseline} has it too."
        if kept_back := task.inputs.kept_back:
            yield f"{name}: {name_some(kept_back)}, a part of the skill, comes with the skill only."
    if told := [name for name, task in tasks.items() if task.inputs.unnamed]:
        yield f"The prompts of {name_some(told)} do not name their files; a last line of the instruction does."
    if calling := [name for name, task in tasks.items() if _calls(skill, task.instruction)]:
        yield f"The prompts of {name_some(calling)} call the skill by its name, which means nothing to {baseline}."
    yield from _unused("of its evals", Counter(key for task in tasks.values() for key in task.leftover_keys))


def _calls(skill: str, prompt: str) -> bool:
    """As a command, or as a skill; the name alone may be an everyday word."""
    name = re.escape(skill)
    called = rf"(?:^|\s)[/$]{name}(?![\w-])|(?<![\w-]){name}[`'\"]?\s+skill\b|\bskill\s+[`'\"]?{name}(?![\w-])"
    return re.search(called, prompt, re.IGNORECASE) is not None


def notes_on_document(document: Any, place: SkillPlace, skill: str) -> Iterator[str]:
    """On what stands around the evals."""
    if not isinstance(document, dict):
        return
    stated = document.get("skill_name")
    if isinstance(stated, str) and folder_name(stated, skill) != skill:
        yield f"{place.evals.name} speaks of the skill {stated!r}, and {SKILL_FILE} of {skill!r}: its name here."
    yield from _unused("of the whole file", Counter(str(key) for key in document if key not in _READ))


def notes_on_copy(copy: SkillCopy) -> Iterator[str]:
    """On what the agent does not get of the skill."""
    if copy.left_out:
        names = name_some(copy.left_out, 10)
        yield f"Not in the copy of the skill, because an agent could look up there what is expected: {names}."


def _unused(whose: str, keys: Mapping[str, int]) -> Iterator[str]:
    for key, count in sorted(keys.items()):
        times = "once" if count == 1 else f"{count} times"
        yield f"`{key}` {whose} ({times}) has no counterpart in a suite."
