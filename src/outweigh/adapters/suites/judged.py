"""How runs of drafted tasks are told apart where judges have to do it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from outweigh.task.judge import JudgeSpec
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Who judges, which rule decides, and what stands above both in the suite file."""

    judges: list[JudgeSpec] = field(default_factory=list)
    policy: PolicySpec = field(default_factory=PolicySpec)
    comments: Mapping[str, str] = field(default_factory=dict)


def rules_for(tasks: Sequence[TaskDraft]) -> Rules:
    """A judge where there is a rubric; the usual policy where every task has a required check, else that judge's."""
    if not any(task.settings.rubric is not None or task.settings.rubric_file is not None for task in tasks):
        return Rules()
    if all(_has_required_check(task) for task in tasks):
        return Rules(judges=[REVIEWER], comments={"judges": _JUDGES_COMMENT})
    return Rules(
        judges=[REVIEWER],
        policy=PolicySpec(gates=[JUDGE_SCORE]),
        comments={"judges": _JUDGES_COMMENT, "policy": _POLICY_COMMENT},
    )


def _has_required_check(task: TaskDraft) -> bool:
    """Declared, or the script that is a check by itself where none is declared."""
    if not task.settings.checks:
        return "tests/test.sh" in task.files
    return any(check.required for check in task.settings.checks)
