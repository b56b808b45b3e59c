"""What runs of trigger cases show about each skill: how often it fires when it should and when it should not, which
other skill was asked for in its place, and whether the model was told about it at all.

A run that does not show which skills were asked for is counted apart: unknown is not "did not fire".
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.model.run_record import ObservedSetup, RunRecord, TrialKey
from outweigh.model.trigger_case import TriggerCase, trigger_of, was_listed, was_used
from outweigh.stats.estimate import Estimate, Unit, unknown_estimate
from outweigh.stats.proportions import clustered_rate_interval

LEVEL = 0.95
NO_SKILL, UNKNOWN_SKILL = "no skill", "unknown"

NOT_LISTED = "the model was not told about the skill in any run, so nothing could make it fire"
NOT_SHOWN = "the runs do not show which skills the agent asked for"
NO_CASE = "there is no such case"

CaseTable = Mapping[str, TriggerCase]
"""What the cases expect, by task, for records that do not say so themselves."""


class TriggerRun(Struct, frozen=True, kw_only=True):
    """One counted run: what its case expects, and what it shows. `asked` is None where that is unknown."""

    task: str
    arm: str
    case: TriggerCase
    listed: bool | None
    used: bool | None
    asked: tuple[str, ...] | None

    @property
    def choice(self) -> str:
        """The skill that the case is about where it was asked for, else the first one that was."""
        if self.asked is None:
            return UNKNOWN_SKILL
        if self.used:
            return self.case.skill
        return self.asked[0] if self.asked else NO_SKILL


class SkillTriggers(Struct, frozen=True, kw_only=True):
    """One skill in one arm. `recall` is over runs of cases that should fire, `false_rate` over runs of the others.

    Both leave out runs in which the model was not told about the skill, or that do not show which one was asked for.
    `listed` of `listed_known` runs told the model about it. `stolen_by` counts the runs of cases that should fire in
    which another skill was asked for instead, by that skill. `missed` and `misfired` are cases, with their runs that
    went wrong and all that count.
    """

    arm: str
    skill: str
    recall: Estimate
    false_rate: Estimate
    runs: int
    listed: int
    listed_known: int
    unknown: int
    stolen_by: Mapping[str, int]
    missed: tuple["WrongCase", ...]
    misfired: tuple["WrongCase", ...]

    @property
    def never_listed(self) -> bool:
        """Whether the model is known to have been told about the skill in no run."""
        return self.listed_known == self.runs > 0 and not self.listed


class WrongCase(Struct, frozen=True, kw_only=True):
    """A case in which the skill did not do what it should, at least once."""

    task: str
    prompt: str
    wrong: int
    runs: int


class TriggerOutcomes(Struct, frozen=True, kw_only=True):
    """All trigger cases of the records. `confusion` counts runs by arm, by what was expected and by what was asked.

    `excluded` attempts do not count, and `cases` is the number of different cases.
    """

    skills: tuple[SkillTriggers, ...]
    confusion: Mapping[str, Mapping[str, Mapping[str, int]]]
    cases: int
    runs: int
    excluded: int


def gather_triggers(records: Iterable[RunRecord], cases: CaseTable | None = None) -> TriggerOutcomes:
    """Keep the last attempt of every trial, and add up the rest by arm and skill."""
    last: dict[TrialKey, RunRecord] = {}
    for record in records:
        earlier = last.get(record.trial.key)
        if _case_of(record, cases) is not None and (earlier is None or record.attempt >= earlier.attempt):
            last[record.trial.key] = record
    counted = [record for record in last.values() if record.status not in EXCLUDED_STATUSES]
    runs = sorted(_runs(counted, cases), key=lambda run: (run.arm, run.case.skill, run.task))
    groups: dict[tuple[str, str], list[TriggerRun]] = defaultdict(list)
    for run in runs:
        groups[run.arm, run.case.skill].append(run)
    return TriggerOutcomes(
        skills=tuple(_skill(arm, skill, group) for (arm, skill), group in groups.items()),
        confusion=_confusion(runs),
        cases=len({run.task for run in runs}),
        runs=len(runs),
        excluded=len(last) - len(counted),
    )


def _case_of(record: RunRecord, cases: CaseTable | None) -> TriggerCase | None:
    stated = None if cases is None else cases.get(record.trial.task_id)
    return stated or trigger_of(record)


def _runs(records: Iterable[RunRecord], cases: CaseTable | None) -> Iterable[TriggerRun]:
    for record in records:
        if (case := _case_of(record, cases)) is not None:
            loaded: ObservedSetup | None = record.loaded
            yield TriggerRun(
                task=record.trial.task_id,
                arm=record.trial.arm,
                case=case,
                listed=was_listed(loaded, case.skill),
                used=was_used(loaded, case.skill),
                asked=None if loaded is None else loaded.skills_used,
            )


def _skill(arm: str, skill: str, runs: Sequence[TriggerRun]) -> SkillTriggers:
    fire = [run for run in runs if run.case.should_fire]
    quiet = [run for run in runs if not run.case.should_fire]
    stolen = Counter(run.choice for run in fire if run.used is False and run.asked)
    return SkillTriggers(
        arm=arm,
        skill=skill,
        recall=_rate(fire),
        false_rate=_rate(quiet),
        runs=len(runs),
        listed=sum(run.listed is True for run in runs),
        listed_known=sum(run.listed is not None for run in runs),
        unknown=sum(run.used is None for run in runs),
        stolen_by=dict(stolen.most_common()),
        missed=_wrong_cases(fire),
        misfired=_wrong_cases(quiet),
    )


def _counts(run: TriggerRun) -> bool:
    """Whether a run can say anything about the skill's description."""
    return run.used is not None and run.listed is not False


def _rate(runs: Sequence[TriggerRun]) -> Estimate:
    """How often the skill fired, with an interval over cases."""
    counted = [run for run in runs if _counts(run)]
    if not counted:
        reason = NO_CASE if not runs else NOT_LISTED if any(run.listed is False for run in runs) else NOT_SHOWN
        return unknown_estimate(reason, n=0, unit=Unit.TASK, method="rate", point=None)
    fired = [run.used is True for run in counted]
    return clustered_rate_interval(fired, [run.task for run in counted], level=LEVEL)


def _wrong_cases(runs: Sequence[TriggerRun]) -> tuple[WrongCase, ...]:
    cases: dict[str, list[TriggerRun]] = defaultdict(list)
    for run in runs:
        if _counts(run):
            cases[run.task].append(run)
    found = (
        WrongCase(
            task=task,
            prompt=group[0].case.prompt,
            wrong=sum(run.used is not run.case.should_fire for run in group),
            runs=len(group),
        )
        for task, group in cases.items()
    )
    return tuple(sorted((case for case in found if case.wrong), key=lambda case: (-case.wrong / case.runs, case.task)))


def _confusion(runs: Iterable[TriggerRun]) -> dict[str, dict[str, dict[str, int]]]:
    table: dict[str, dict[str, dict[str, int]]] = {}
    for run in runs:
        expected = run.case.skill if run.case.should_fire else f"not {run.case.skill}"
        row = table.setdefault(run.arm, {}).setdefault(expected, {})
        row[run.choice] = row.get(run.choice, 0) + 1
    return table
