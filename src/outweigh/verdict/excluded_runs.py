"""Excluded runs: whether the arms lost unequal shares of their attempts, and what they decide if every lost one failed.

A run that is excluded counts neither for its arm nor against it. Where one arm loses more runs than the other, or where
counting them as failures would lead to another decision, the runs that are left do not decide.
"""

from collections.abc import Set
from functools import partial
from itertools import compress

import numpy as np
from msgspec.structs import replace

from outweigh.compare.arm_table import ArmTable, Column
from outweigh.compare.comparison import Comparison
from outweigh.compare.deltas import count_missing_runs
from outweigh.compare.run_columns import Computed, join_runs
from outweigh.model.failure import Status
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
    if not any(_lost(arm) for arm in arms):
        return None
    asked = {metric: _tasks_that_know(arms, metric) for metric in _RATES}
    before, after = (_with_failures(arm, asked) for arm in arms)
    return replace(comparison, baseline_table=before, candidate_table=after)


def _lost(arm: ArmTable) -> list[Score]:
    return [score for score in (*arm.excluded, *arm.superseded) if not score.counted]


def _tasks_that_know(arms: tuple[ArmTable, ArmTable], metric: str) -> Set[str]:
    """Tasks of which a run knows the metric; the others have no checks, or no judges, that could fail a run."""
    return {task for arm in arms for task in compress(arm.tasks, (arm.known_per_task(metric) > 0).tolist())}


def _with_failures(arm: ArmTable, asked: dict[str, Set[str]]) -> ArmTable:
    lost = _lost(arm)
    tasks = tuple(dict.fromkeys((*arm.tasks, *(score.task_id for score in lost))))
    places = {task: place for place, task in enumerate(tasks)}
    rows = np.fromiter((places[score.task_id] for score in lost), np.intp, len(lost))
    return replace(
        arm,
        runs=join_runs(arm.runs, [_failed(score, checked=score.task_id in asked["passed"]) for score in lost]),
        excluded=[],
        superseded=[],
        tasks=tasks,
        task_of=np.concatenate([arm.task_of, rows]),
        columns=Computed(
            {metric: partial(_joined, arm, lost, metric, asked.get(metric)) for metric in arm.columns}, keep=False
        ),
        ranges={},
    )


def _joined(arm: ArmTable, lost: list[Score], metric: str, asked: Set[str] | None) -> Column:
    return np.concatenate([arm.columns[metric], _values(lost, metric, asked)])


def _failed(score: Score, *, checked: bool) -> Score:
    failed = {"passed": 0.0, "objective": 0.0} if checked else {}
    return replace(score, status=Status.AGENT_ERROR, vacuous=not checked, **failed)


def _values(lost: list[Score], metric: str, asked: Set[str] | None) -> Column:
    """What lost runs have of a metric: nothing of a rate that their task is asked for, else what they know."""
    if asked is None:
        return np.array([getattr(score, metric, None) for score in lost], dtype=np.float64)
    return np.array([0.0 if score.task_id in asked else np.nan for score in lost], dtype=np.float64)


def turned_by_failures(decision: Decision, turned: Decision) -> str:
    """Why a decision is not made that would be another if every excluded run had failed."""
    return (
        f"excluded runs could change the decision: if every run lost to infrastructure counted as a failure, it "
        f"would be {turned.value}, not {decision.value}; find out why they were lost, and run them again"
    )
