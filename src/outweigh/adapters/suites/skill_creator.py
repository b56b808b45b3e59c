"""A skill with the evals that its author wrote for it, as an experiment: the same agent without it and with it."""

from pathlib import Path
from typing import Any

from outweigh.adapters.suites.eval_task import EvalTask, label_of, read_task, workspace_files
from outweigh.adapters.suites.judged import rules_for
from outweigh.adapters.suites.naming import apart, folder_name
from outweigh.adapters.suites.skill_copy import copy_skill
from outweigh.adapters.suites.skill_notes import notes_on, notes_on_copy, notes_on_document
from outweigh.adapters.suites.skill_place import (
    SKILL_FILE,
    SkillPlace,
    cases_in,
    evals_of,
    find_skill,
    looks_like_evals,
)
from outweigh.adapters.suites.source_files import read_bytes, read_json
from outweigh.errors import UsageError
from outweigh.ports.suites import DEFAULT_AGENT, SuiteWishes
from outweigh.task.arm import ArmSpec
from outweigh.task.places import places_of
from outweigh.task.skill_file import read_skill
from outweigh.task.suite import DEFAULT_REPEATS, SuiteSpec
from outweigh.task.suite_draft import SuiteDraft, TaskDraft

WITHOUT, WITH = "without_skill", "with_skill"
SHOWN_REASONS = 3


class SkillCreator:
    """`evals/evals.json` as skill-creator and agentskills.io describe it, and as people have bent it since."""

    name = "skill-creator"
    looks_for = "a skill's folder with evals/evals.json, or that file"

    def recognises(self, path: Path) -> bool:
        """A list of prompts and what is expected of each."""
        try:
            evals = evals_of(path)
        except (OSError, ValueError):
            return False
        return evals is not None and looks_like_evals(evals)

    def read(self, path: Path, wishes: SuiteWishes) -> SuiteDraft:
        """Each eval is a task; what is expected of it becomes checks and a rubric."""
        agent = wishes.agent or DEFAULT_AGENT
        _refuse_without_skills(agent)
        place = find_skill(path)
        document = read_json(place.evals)
        tasks, left_out = _tasks(document, place)
        skill = _skill_name(place)
        named = dict(zip(apart(task.wanted_name for task in tasks), tasks, strict=True))
        drafts = tuple(
            TaskDraft(
                name=name, instruction=task.instruction, settings=task.settings, files=workspace_files(task.inputs)
            )
            for name, task in named.items()
        )
        rules, copy = rules_for(drafts), copy_skill(place.skill)
        return SuiteDraft(
            spec=SuiteSpec(
                name=skill,
                tasks=["tasks/*"],
                arms={
                    WITHOUT: ArmSpec(agent=agent, model=wishes.model),
                    WITH: ArmSpec(extends=WITHOUT, skills=[f"skills/{skill}"]),
                },
                baseline=WITHOUT,
                repeats=DEFAULT_REPEATS,
                judges=rules.judges,
                policy=rules.policy,
            ),
            tasks=rules.tasks,
            files={f"skills/{skill}/{path}": file for path, file in copy.files.items()},
            comments={**_comments(skill, len(drafts)), **rules.comments},
            notes=(
                *left_out,
                *rules.notes,
                *notes_on(named, skill, WITHOUT),
                *notes_on_document(document, place, skill),
                *notes_on_copy(copy),
            ),
        )


def _refuse_without_skills(agent: str) -> None:
    if not places_of(agent).skills:
        raise UsageError(f"{agent} knows no skills, so with and without one it is the same. Name another agent by -a.")


def _skill_name(place: SkillPlace) -> str:
    """Agents know a skill by the name in its front matter, and expect its folder to be called so."""
    stated = read_skill(read_bytes(place.skill / SKILL_FILE), place.skill.name).name
    return folder_name(stated, folder_name(place.skill.name, "skill"))


def _tasks(document: Any, place: SkillPlace) -> tuple[list[EvalTask], list[str]]:
    """The evals that can be run, and of each other one why it cannot."""
    cases = cases_in(document)
    if not cases:
        raise UsageError(
            f'{place.evals} has no evals: a list, or {{"evals": […]}}, of tables with `prompt` and `expected_output` '
            "or `expectations`. Write some."
        )
    tasks: list[EvalTask] = []
    left_out: list[str] = []
    for number, case in enumerate(cases, start=1):
        try:
            tasks.append(read_task(case, number, place))
        except UsageError as reason:
            left_out.append(f"{label_of(case, number)} was left out: {str(reason).rstrip('.')}.")
    if not tasks:
        more = f" (and {len(left_out) - SHOWN_REASONS} more)" if len(left_out) > SHOWN_REASONS else ""
        raise UsageError(
            f"{place.evals}: none of its evals can be run. {' '.join(left_out[:SHOWN_REASONS])}{more} Mend them there."
        )
    return tasks, left_out


def _comments(skill: str, tasks: int) -> dict[str, str]:
    return {
        "": f"Does the skill {skill} make a difference? The same agent without it and with it, on {tasks} evals of its "
        "author.",
        "repeats": "Runs of every eval in every arm. A verdict takes 6 evals or more; `outweigh plan -c` says what can "
        "be seen.",
        f"arms.{WITH}": "The only difference: a copy of the skill, without its evals, which say what is expected.",
    }
