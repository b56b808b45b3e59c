"""One gate's task-level deltas, oriented so that more is better, and their one-sided p-values by the test that suits
the data.

A missing p-value means that the data cannot answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, inf
from typing import Protocol

import numpy as np

from outweigh.compare.arm_table import ArmTable, Column, align_tasks, select_tasks, task_moments
from outweigh.stats.distributions import binomial_cdf
from outweigh.stats.estimate import Alternative
from outweigh.stats.means import one_sided_p, suite_error
from outweigh.stats.sample import has_no_spread
from outweigh.stats.sequential import log_normal_mixture, tune_normal_mixture
from outweigh.stats.variance import TaskMoments, cluster_errors, sum_clusters
from outweigh.verdict.evidence_settings import EffectScale, GatedMetric

SPARSE_BELOW_TASKS = 5
"""With fewer tasks that differ at all, a t test is not reliable, and exact bounds are used."""


class PValues(Protocol):
    """Both one-sided tests of a mean."""

    def above(self, null: float) -> float | None:
        """P-value against "the mean is at most `null`"."""

    def below(self, null: float) -> float | None:
        """P-value against "the mean is at least `null`"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentPValues:
    """The ordinary case: a t test."""

    mean: float
    error: float
    df: float

    def above(self, null: float) -> float | None:
        """Upper tail of t."""
        return one_sided_p(self.mean, self.error, self.df, null, Alternative.GREATER)

    def below(self, null: float) -> float | None:
        """Lower tail of t."""
        return one_sided_p(self.mean, self.error, self.df, null, Alternative.LESS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantPValues:
    """Every task has the same delta of a rate, so that only the number of tasks is evidence.

    With confidence 1 − p at least p^(1/tasks) of all tasks are like these; the rest may be as bad as −1. For deltas
    that are all 0 this gives the bound −(1 − p^(1/tasks)).
    """

    delta: float
    tasks: int

    def above(self, null: float) -> float | None:
        """Chance to see nothing but such tasks if the mean were at most `null`."""
        return ((1 + null) / (1 + self.delta)) ** self.tasks if -1 <= null < self.delta else 1.0

    def below(self, null: float) -> float | None:
        """The same with the signs turned round."""
        return ConstantPValues(delta=-self.delta, tasks=self.tasks).above(-null)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparsePValues:
    """Few tasks differ at all: a claim must be shown by the usual test and by exact counting."""

    usual: PValues
    gains: int
    losses: int
    tasks: int

    def above(self, null: float) -> float | None:
        """The weaker of both p-values."""
        return _weaker(_count(self.losses, self.gains, self.tasks, null), self.usual.above(null))

    def below(self, null: float) -> float | None:
        """The same with the signs turned round."""
        return _weaker(_count(self.gains, self.losses, self.tasks, -null), self.usual.below(null))


def _weaker(one: float, other: float | None) -> float | None:
    """The larger p-value; None where one of the tests has none."""
    return None if other is None else max(one, other)


def _count(losses: int, gains: int, tasks: int, null: float) -> float:
    """Below 0, count losses against the share of tasks that could hide such a mean; from 0 on, a sign test."""
    return binomial_cdf(losses, tasks, min(1.0, -null)) if null < 0 else binomial_cdf(losses, gains + losses, 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnytimePValues:
    """Valid at every look at once: the mixture martingale of the confidence sequence, as a p-value."""

    mean: float
    deviation: float
    tasks: int
    planned_tasks: int

    def above(self, null: float) -> float | None:
        """1 / the mixture likelihood ratio against the null, and never less than the p-value of a single look."""
        if not self.mean > null:
            return 1.0
        total = self.tasks * (self.mean - null) / self.deviation
        # Tuned for the error rate of the alarm; any other choice would be valid too, only wider.
        rho = tune_normal_mixture(self.planned_tasks, 0.05)
        mixture = exp(-min(log_normal_mixture(total, self.tasks, rho), 700.0))
        # The mixture takes the estimated deviation as known; with few tasks Student's t accounts for its error.
        single = StudentPValues(mean=self.mean, error=self.deviation / self.tasks**0.5, df=self.tasks - 1).above(null)
        return _weaker(min(1.0, mixture), single)

    def below(self, null: float) -> float | None:
        """The same with the signs turned round."""
        turned = AnytimePValues(
            mean=-self.mean, deviation=self.deviation, tasks=self.tasks, planned_tasks=self.planned_tasks
        )
        return turned.above(-null)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownPValues:
    """The data cannot answer."""

    def above(self, null: float) -> float | None:  # noqa: ARG002 - nothing is known about any null
        """Unknown."""
        return None

    def below(self, null: float) -> float | None:  # noqa: ARG002
        """Unknown."""
        return None


def confidence_bound(p_values: PValues, alpha: float, low: float, high: float, *, lower: bool) -> float | None:
    """The one-sided confidence bound that belongs to the tests, by bisection; infinite where they never reject."""
    test = p_values.above if lower else p_values.below
    farthest = test(low if lower else high)
    if farthest is None:
        return None
    if farthest > alpha:
        return -inf if lower else inf
    rejected, kept = (low, high) if lower else (high, low)
    for _ in range(60):
        middle = (rejected + kept) / 2
        p_value = test(middle)
        if p_value is not None and p_value <= alpha:
            rejected = middle
        else:
            kept = middle
    return rejected


# Means of equal runs differ by rounding errors of this size.
BENEFIT_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GateSample:
    """What a gate rests on. `unknown` says why it cannot be judged; `families` are labels above the tasks, if any."""

    gated: GatedMetric
    margin: float
    tasks: tuple[str, ...]
    benefits: Column
    families: tuple[str, ...] | None
    noise: tuple[TaskMoments, TaskMoments] | None
    unknown: str | None

    @property
    def limit(self) -> float:
        """The margin on the scale of the benefits."""
        return self.gated.on_scale(self.margin)

    def without(self, place: int) -> "GateSample":
        """The same gate with one task left out."""
        keep = np.arange(len(self.benefits)) != place
        return GateSample(
            gated=self.gated,
            margin=self.margin,
            tasks=tuple(np.array(self.tasks, dtype=object)[keep]),
            benefits=self.benefits[keep],
            families=None if self.families is None else tuple(np.array(self.families, dtype=object)[keep]),
            noise=None
            if self.noise is None
            else (select_tasks(self.noise[0], keep), select_tasks(self.noise[1], keep)),
            unknown=self.unknown,
        )


def sample_gate(
    gated: GatedMetric, margin: float, baseline: ArmTable, candidate: ArmTable, families: Mapping[str, str] | None
) -> GateSample:
    """Take one delta per task that both arms know: points of a rate, or minus the log of a ratio."""
    rows, logs = align_tasks(baseline, candidate), gated.scale is EffectScale.RATIO
    before = select_tasks(task_moments(baseline, gated.metric, logs=logs), rows[:, 0])
    after = select_tasks(task_moments(candidate, gated.metric, logs=logs), rows[:, 1])
    # The mean log of a task with a zero is minus infinity, on one side or on both.
    with np.errstate(invalid="ignore"):
        differences = after.means - before.means
    known = np.isfinite(differences)
    benefits = -differences[known] if logs else differences[known]
    tasks = tuple(baseline.tasks[place] for place in rows[known, 0].tolist())
    return GateSample(
        gated=gated,
        margin=margin,
        tasks=tasks,
        benefits=np.where(np.abs(benefits) < BENEFIT_ROUNDING, 0.0, benefits),
        families=None if families is None else tuple(families[task] for task in tasks),
        noise=(select_tasks(before, known), select_tasks(after, known)),
        unknown=None,
    )


def p_values_of(sample: GateSample, *, fixed_suite: bool, planned_tasks: int | None) -> PValues:
    """The tests that suit the data."""
    benefits, bounded = sample.benefits, sample.gated.scale is EffectScale.POINTS
    if sample.unknown is not None or len(benefits) < 2:
        return UnknownPValues()
    if fixed_suite:
        return _suite_p_values(sample)
    units = _units(sample)
    if has_no_spread(benefits, 1.0):
        return ConstantPValues(delta=float(units.mean()), tasks=len(units)) if bounded else UnknownPValues()
    usual = _usual_p_values(sample, planned_tasks)
    gains, losses = int(np.count_nonzero(units > 0)), int(np.count_nonzero(units < 0))
    if bounded and gains + losses < SPARSE_BELOW_TASKS:
        return SparsePValues(usual=usual, gains=gains, losses=losses, tasks=len(units))
    return usual


def _units(sample: GateSample) -> Column:
    """The independent units: tasks, or families where the tasks have any, since tasks of a family are alike."""
    if sample.families is None:
        return sample.benefits
    sums = sum_clusters(sample.benefits, sample.families)
    return sums.sums / sums.sizes


def _usual_p_values(sample: GateSample, planned_tasks: int | None) -> PValues:
    benefits = sample.benefits
    mean, deviation, tasks = float(benefits.mean()), float(benefits.std(ddof=1)), len(benefits)
    if planned_tasks is not None:
        return AnytimePValues(mean=mean, deviation=deviation, tasks=tasks, planned_tasks=planned_tasks)
    if sample.families is not None:
        errors = cluster_errors(benefits, sample.families)
        # CR2 with its own degrees of freedom holds its level for uneven families too.
        return StudentPValues(mean=mean, error=errors.cr2, df=min(errors.cr2_df, errors.clusters - 1))
    return StudentPValues(mean=mean, error=deviation / tasks**0.5, df=tasks - 1)


def _suite_p_values(sample: GateSample) -> PValues:
    if sample.noise is None:
        return UnknownPValues()
    variances, runs = (
        np.stack([getattr(arm, name).astype(np.float64) for arm in sample.noise]) for name in ("variances", "counts")
    )
    if runs.min() < 2 or not variances.max() > 0:
        return UnknownPValues()
    error, df = suite_error(variances, runs)
    return StudentPValues(mean=float(sample.benefits.mean()), error=error, df=df)
