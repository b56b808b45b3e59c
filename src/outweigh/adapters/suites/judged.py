"""How runs of drafted tasks are told apart where judges have to do it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from outweigh.errors import name_some
from outweigh.task.judge import JudgeSpec
from outweigh.task.rubric import BinaryCriterion, Rubric
from outweigh.task.suite import PolicySpec
from outweigh.task.suite_draft import TaskDraft
from outweigh.verdict.gated_metric import JUDGE_SCORE

REVIEWER = JudgeSpec(name="reviewer", backend="claude-cli")
_JUDGES_COMMENT = """\
Who scores the runs by the tasks' rubrics. Any backend will do; a model of another family than the agent's is fairer.
Name its model, so that it is the same judge next month. Before you trust it, label some runs yourself:
`outweigh judge RUNS --calibrate LABELS`."""
_POLICY_COMMENT = """\
Some tasks have no check that a machine could run, so no pass rate: the score of the judges decides instead. What judges
say never ships by itself. Once every task has a required check, take this out and the usual gates apply; add duration,
non_cache_tokens or cost where these must not get worse."""


_NOTE = (
    "Judges decide, because some tasks have no checks. {} had nothing to be judged by: a criterion asks whether the "
    "checks passed, so that one score holds for all tasks."
)
_CHECKED = Rubric(
    criteria=[BinaryCriterion(name="checks", description="Every required check passes after the run.")],
    notes="This task is told by its checks alone. What they said stands with the run.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Who judges, which rule decides, and what stands above both in the suite file; `tasks` as that rule needs them."""

    tasks: tuple[TaskDraft, ...]
    judges: list[JudgeSpec] = field(default_factory=list)
    policy: PolicySpec = field(default_factory=PolicySpec)
    comments: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def rules_for(tasks: Sequence[TaskDraft]) -> Rules:
    """A judge where there is a rubric; the usual policy where every task has a required check, else that judge's.

    Then every task must have something to be judged by: a score that only some tasks can have decides nothing.
    """
    if not any(map(_has_rubric, tasks)):
        return Rules(tasks=tuple(tasks))
    if all(map(_has_required_check, tasks)):
        return Rules(tasks=tuple(tasks), judges=[REVIEWER], comments={"judges": _JUDGES_COMMENT})
    checked = [task.name for task in tasks if _has_required_check(task) and not _has_rubric(task)]
    return Rules(
        tasks=tuple(_judged_by_checks(task) if task.name in checked else task for task in tasks),
        judges=[REVIEWER],
        policy=PolicySpec(gates=[JUDGE_SCORE]),
        comments={"judges": _JUDGES_COMMENT, "policy": _POLICY_COMMENT},
        notes=(_NOTE.format(name_some(checked)),) if checked else (),
    )


def _judged_by_checks(task: TaskDraft) -> TaskDraft:
    return replace(task, settings=msgspec.structs.replace(task.settings, rubric=_CHECKED))


def _has_rubric(task: TaskDraft) -> bool:
    return task.settings.rubric is not None or task.settings.rubric_file is not None


def _has_required_check(task: TaskDraft) -> bool:
    """Declared, or the script that is a check by itself where none is declared."""
    if not task.settings.checks:
        return "tests/test.sh" in task.files
    return any(check.required for check in task.settings.checks)
