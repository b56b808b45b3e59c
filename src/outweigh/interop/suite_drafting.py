"""What suite readers share when they draft a suite: names of folders, arms if the source has none, judges and
policy.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import msgspec

from outweigh.errors import UsageError, quote_names
from outweigh.model.arm import ArmSpec
from outweigh.model.rubric import BinaryCriterion, Rubric
from outweigh.model.suite import JudgeSpec, PolicySpec
from outweigh.ports.suites import DraftFile, TaskDraft
from outweigh.verdict.evidence_settings import JUDGE_SCORE

FULL_COMMIT_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NOT_IN_SLUG = re.compile(r"[^\w.-]+")
_LONGEST_SLUG = 60


def slug(text: str, otherwise: str) -> str:
    """The text in lower case with words joined by dashes; `otherwise` if nothing is left of it."""
    name = _NOT_IN_SLUG.sub("-", text.strip().lower())[:_LONGEST_SLUG].strip("-._")
    return name or otherwise


def make_unique(names: Iterable[str]) -> list[str]:
    """The names, with a number added to each that occurred before; the result has no duplicates."""
    taken: set[str] = set()
    following: dict[str, int] = {}
    found = []
    for name in names:
        candidate, number = name, following.get(name, 2)
        while candidate in taken:
            candidate, number = f"{name}-{number}", number + 1
        following[name] = number
        taken.add(candidate)
        found.append(candidate)
    return found


def refuse_repeated_ids(named: Sequence[tuple[str, Path]], noun: str) -> None:
    """Raise a UsageError if two neighbouring files have the same id; the files are in order of their ids."""
    for (name, source), (following, other) in pairwise(named):
        if name == following:
            raise UsageError(f"{other}: {name!r} is the id of {source} too; give each {noun} its own.")


BASELINE, CANDIDATE = "baseline", "candidate"
_PLACEHOLDER_PROMPT = "Look at what you did once more before you say that it is done."


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmsDraft:
    """Arms with their files, the comments above them in the suite, and notes for the user."""

    arms: Mapping[str, ArmSpec]
    baseline: str
    files: Mapping[str, DraftFile] = field(default_factory=dict)
    comments: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def placeholder_arms(agent: str, model: str | None) -> ArmsDraft:
    """Arms for tasks that come without: the plain agent, and the same with a sentence to be replaced by the user's
    change.
    """
    return ArmsDraft(
        arms={
            BASELINE: ArmSpec(agent=agent, model=model),
            CANDIDATE: ArmSpec(extends=BASELINE, extra_prompt=_PLACEHOLDER_PROMPT),
        },
        baseline=BASELINE,
        comments={
            f"arms.{CANDIDATE}": "The change in question: files, skills, instructions, a tool server, another model.\n"
            "The sentence below only holds its place."
        },
        notes=(
            f"The tasks do not say what is compared. arms.{CANDIDATE} in suite.toml has one sentence that holds the "
            "place of your change: put files, skills or instructions there instead.",
        ),
    )


DEFAULT_JUDGE = JudgeSpec(name="reviewer", backend="claude-cli")
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
_CHECKS_RUBRIC = Rubric(
    criteria=[BinaryCriterion(name="checks", description="Every required check passes after the run.")],
    notes="This task is told by its checks alone. What they said stands with the run.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftJudging:
    """The judges, the policy and the comments above both in the suite; `tasks` as the policy needs them."""

    tasks: tuple[TaskDraft, ...]
    judges: list[JudgeSpec] = field(default_factory=list)
    policy: PolicySpec = field(default_factory=PolicySpec)
    comments: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def draft_judging(tasks: Sequence[TaskDraft], judge: JudgeSpec = DEFAULT_JUDGE) -> DraftJudging:
    """The judge if any task has a rubric; the default policy if every task has a required check, else its score.

    In that case every task needs a rubric: a score that only some tasks have decides nothing.
    """
    if not any(map(_has_rubric, tasks)):
        return DraftJudging(tasks=tuple(tasks))
    if all(map(_has_required_check, tasks)):
        return DraftJudging(tasks=tuple(tasks), judges=[judge], comments={"judges": _JUDGES_COMMENT})
    checked = [task.name for task in tasks if _has_required_check(task) and not _has_rubric(task)]
    return DraftJudging(
        tasks=tuple(_with_checks_rubric(task) if task.name in checked else task for task in tasks),
        judges=[judge],
        policy=PolicySpec(gates=[JUDGE_SCORE]),
        comments={"judges": _JUDGES_COMMENT, "policy": _POLICY_COMMENT},
        notes=(_NOTE.format(quote_names(checked)),) if checked else (),
    )


def _with_checks_rubric(task: TaskDraft) -> TaskDraft:
    return replace(task, settings=msgspec.structs.replace(task.settings, rubric=_CHECKS_RUBRIC))


def _has_rubric(task: TaskDraft) -> bool:
    return task.settings.rubric is not None or task.settings.rubric_file is not None


def _has_required_check(task: TaskDraft) -> bool:
    """Whether a required check is declared or, without any declared, there is a `test.sh`."""
    if not task.settings.checks:
        return "tests/test.sh" in task.files
    return any(check.required for check in task.settings.checks)
