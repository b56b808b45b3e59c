"""Excluded runs: whether the arms lost unequal shares of their attempts, and what they decide if every lost one failed.

A run that is excluded counts neither for its arm nor against it. Where one arm loses more runs than the other, or where
counting them as failures would lead to another decision, the runs that are left do not decide.
"""

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from functools import partial
from typing import overload

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from outweigh.compare.arm_table import ArmTable, Column, Index
from outweigh.compare.comparison import Comparison
from outweigh.compare.deltas import count_missing_runs
from outweigh.compare.run_columns import (
    ChosenRuns,
    Computed,
    JoinedRuns,
    Names,
    find_tasks,
    is_stored,
    join_runs,
    names_of,
    numbers_of,
)
from outweigh.compare.run_scores import ScoredRuns
from outweigh.model.failure import EXCLUDED_STATUSES, Status
from outweigh.score.run_score import Score
from outweigh.stats.hypothesis_tests import fisher_exact_p
from outweigh.verdict.blockers import EXCLUSION_TOLERANCE
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import GATED_METRICS, EffectScale

UNEQUAL_EXCLUSIONS = 0.05
"""The level of the exact test that the arms lost different shares of their attempts."""

FORBIDDEN = (Decision.IMPROVED, Decision.NEUTRAL, Decision.TRADE_OFF)
"""Decisions that excluded runs may forbid. A regression stands."""

_RATES = frozenset(gated.metric for gated in GATED_METRICS.values() if gated.scale is EffectScale.POINTS)


def unequal_exclusions(comparison: Comparison) -> str | None:
    """Why the arms' losses are too unequal to decide anything, in words; None where they are not."""
    baseline, candidate = comparison.baseline_table, comparison.candidate_table
    counts = count_missing_runs(baseline, candidate), count_missing_runs(candidate, baseline)
    lost, attempts = ([getattr(arm, name) for arm in counts] for name in ("excluded_attempts", "attempts"))
    shares = [arm.excluded_share for arm in counts]
    apart = round(abs(shares[0] - shares[1]), 9) > EXCLUSION_TOLERANCE
    if not apart and fisher_exact_p(lost[0], attempts[0], lost[1], attempts[1]) > UNEQUAL_EXCLUSIONS:
        return None
    return (
        f"the arms lost different shares of their attempts to infrastructure: {lost[0]} of {attempts[0]} of "
        f"{baseline.name}, {lost[1]} of {attempts[1]} of {candidate.name}; find out why, and run them again"
    )


def count_as_failures(comparison: Comparison) -> Comparison | None:
    """The same comparison with every excluded attempt as a run that failed; None where there is none.

    Such a run fails whatever its task asks for, and took what its record says. A superseded attempt fails beside the
    one that took its place.
    """
    arms = comparison.baseline_table, comparison.candidate_table
    lost = [_lost(arm) for arm in arms]
    if not any(map(len, lost)):
        return None
    before, after = (_with_failures(arm, runs, arms) for arm, runs in zip(arms, lost, strict=True))
    return replace(comparison, baseline_table=before, candidate_table=after)


def _lost(arm: ArmTable) -> Sequence[Score]:
    if not (is_stored(arm.excluded) or is_stored(arm.superseded)):
        return ScoredRuns(score for score in (*arm.excluded, *arm.superseded) if not score.counted)
    statuses = names_of(arm.superseded, "status")
    excluded = np.array([status in EXCLUDED_STATUSES for status in statuses.values], dtype=bool)[statuses.codes]
    return JoinedRuns(arm.excluded, ChosenRuns(arm.superseded, excluded))


def _with_failures(arm: ArmTable, lost: Sequence[Score], arms: tuple[ArmTable, ArmTable]) -> ArmTable:
    found = names_of(lost, "task_id")
    among = [_find(lost, found.values, arm, each) for each in (arm, *arms)]
    places = among.pop(0)
    new = [task for task, place in zip(found.values, places, strict=True) if place is None]
    tasks = (*arm.tasks, *new) if new else arm.tasks
    added = iter(range(len(arm.tasks), len(tasks)))
    rows = np.array([next(added) if place is None else place for place in places], dtype=np.intp)[found.codes]
    of_both = [np.array([-1 if place is None else place for place in each], np.intp) for each in among]
    asked = {metric: _are_asked(arms, metric, of_both)[found.codes] for metric in _RATES}
    measured = {metric.name for metric in arm.metrics if metric.formula is not None} | {"deciding_judge_score"}
    failed = FailedRuns(lost, asked["passed"])
    more = ArmTable(
        name=arm.name,
        runs=failed,
        excluded=(),
        tasks=tasks,
        owners=rows,
        columns=Computed(
            {metric: partial(_values, lost, metric, asked.get(metric), measured) for metric in arm.columns}, keep=False
        ),
    )
    return replace(
        arm,
        runs=join_runs(arm.runs, failed),
        excluded=[],
        superseded=[],
        tasks=tasks,
        owners=lambda: np.concatenate([arm.task_of, rows]),
        rows=None,
        parts=(),
        kept={},
        joined=(arm, more),
        columns=Computed({metric: partial(_joined, arm, more, metric) for metric in arm.columns}, keep=False),
        ranges={},
    )


def _find(lost: Sequence[Score], names: Sequence[str], arm: ArmTable, other: ArmTable) -> list[int | None]:
    """Where the tasks of lost runs are in either arm; usually all of these runs are excluded ones."""
    if len(lost) == len(arm.excluded):
        known = arm.lost_places(other.tasks)
        return [known[name] for name in names]
    return find_tasks(other.tasks, names)


def _are_asked(arms: tuple[ArmTable, ArmTable], metric: str, places: Sequence[Index]) -> NDArray[np.bool_]:
    """Whether a run of each of these tasks knows the metric; others have no checks, or no judges, that could fail it.

    `places` say where the tasks are in both arms, -1 where one is not there.
    """
    known = [np.append(arm.known_per_task(metric) > 0, False) for arm in arms]
    found: NDArray[np.bool_] = known[0][places[0]] | known[1][places[1]]
    return found


def _joined(arm: ArmTable, more: ArmTable, metric: str) -> Column:
    return np.concatenate([arm.columns[metric], more.columns[metric]])


def _values(lost: Sequence[Score], metric: str, asked: NDArray[np.bool_] | None, measured: Set[str]) -> Column:
    """What lost runs have of a metric: nothing of a rate that their task is asked for, else what they know."""
    if asked is not None:
        return np.where(asked, 0.0, np.nan)
    return numbers_of(lost, metric) if metric in measured else np.full(len(lost), np.nan)


class FailedRuns(Sequence[Score]):
    """Lost runs as failures. Those that are not `checked` belong to tasks without checks."""

    def __init__(self, lost: Sequence[Score], checked: NDArray[np.bool_]) -> None:
        self._lost = lost
        self._checked = checked

    def __len__(self) -> int:
        return len(self._lost)

    def __iter__(self) -> Iterator[Score]:
        for score, checked in zip(self._lost, self._checked.tolist(), strict=True):
            failed = {"passed": 0.0, "objective": 0.0} if checked else {}
            yield replace(score, status=Status.AGENT_ERROR, vacuous=not checked, **failed)

    @overload
    def __getitem__(self, place: int) -> Score: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Score]: ...
    def __getitem__(self, place: int | slice) -> Score | Sequence[Score]:
        return list(self)[place]

    def numbers(self, field: str) -> Column:
        """A field of every run as a number."""
        if field == "vacuous":
            return np.where(self._checked, 0.0, 1.0)
        found = numbers_of(self._lost, field)
        return np.where(self._checked, 0.0, found) if field in ("passed", "objective") else found

    def names(self, field: str) -> tuple[Sequence[object], NDArray[np.int32]]:
        """The different values of a field, and the place of every run's own among them."""
        if field == "status":
            return [Status.AGENT_ERROR], np.zeros(len(self), dtype=np.int32)
        if field == "vacuous":
            return [False, True], (~self._checked).astype(np.int32)
        return names_of(self._lost, field)

    def counts(self, field: str) -> Counter[object]:
        """How many runs have each value of a field."""
        values, codes = self.names(field)
        return Names(values, codes).counts()


def turned_by_failures(decision: Decision, turned: Decision) -> str:
    """Why a decision is not made that would be another if every excluded run had failed."""
    return (
        f"excluded runs could change the decision: if every run lost to infrastructure counted as a failure, it "
        f"would be {turned.value}, not {decision.value}; find out why they were lost, and run them again"
    )
