"""One gate's task-level deltas, oriented so that more is better, and the tests that suit them."""

from collections.abc import Mapping
from itertools import compress

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from outweigh.compare.arm_table import ArmTable, Column, Index, TaskSums
from outweigh.compare.change_table import with_column
from outweigh.compare.run_columns import find_tasks
from outweigh.compare.task_alignment import places_of_shared_tasks
from outweigh.compare.task_variance import select_tasks, shared_moments
from outweigh.stats.means import suite_error
from outweigh.stats.sample import has_no_spread
from outweigh.stats.variance import TaskMoments, cluster_errors, sum_clusters
from outweigh.verdict.evidence_settings import TOTAL_TOLERANCE, WORTH, WORTH_GATE, EffectScale, GatedMetric
from outweigh.verdict.p_values import (
    SPARSE_BELOW_TASKS,
    AnytimePValues,
    ConstantPValues,
    EqualPValues,
    PValues,
    SparsePValues,
    StudentPValues,
    UnknownPValues,
)

# Means of equal runs differ by rounding errors of this size.
BENEFIT_ROUNDING = 1e-12


class GateSample(Struct, frozen=True, kw_only=True, eq=False):
    """What a gate rests on. `unknown` says why it cannot be judged; `families` are labels above the tasks, if any.

    `benefits` of a resource are minus the logs of task ratios, which speak of the typical run. `total` is the same
    gate by the ratio of means, which speaks of the bill: one pseudo-value per task, whose mean is minus the log of the
    ratio and whose scatter gives its error (delta method on logs). `equal` says that both arms are known to be equal,
    at zero.
    """

    gated: GatedMetric
    margin: float
    tasks: tuple[str, ...]
    benefits: Column
    families: tuple[str, ...] | None
    noise: tuple[TaskMoments, TaskMoments] | None
    unknown: str | None
    tolerance: float | None = None
    total: "GateSample | None" = None
    equal: bool = False

    @property
    def limit(self) -> float:
        """The margin on the scale of the benefits."""
        return self.gated.on_scale(self.margin)

    @property
    def tolerance_limit(self) -> float:
        """The tolerance on the scale of the benefits; the margin where there is none, and never below it."""
        return max(self.limit, self.limit if self.tolerance is None else self.gated.on_scale(self.tolerance))

    @property
    def total_limit(self) -> float:
        """What a saving may add to the total, on the scale of the benefits: 10 %, within margin and tolerance."""
        return min(self.tolerance_limit, max(self.limit, self.gated.on_scale(TOTAL_TOLERANCE)))

    def without(self, place: int, tasks: tuple[str, ...] | None = None) -> "GateSample":
        """The same gate with one task left out; `tasks` are the others, where somebody has them already."""
        left_out, total = self.tasks[place], self.total
        tasks = self.tasks[:place] + self.tasks[place + 1 :] if tasks is None else tasks
        if total is not None and total.tasks is self.tasks:
            total = total.without(place, tasks)
        elif total is not None and (found := find_tasks(total.tasks, [left_out])[0]) is not None:
            total = total.without(found)
        families = self.families

        def keep() -> NDArray[np.bool_]:
            others: NDArray[np.bool_] = np.arange(len(self.tasks)) != place
            return others

        return replace(
            self,
            tasks=tasks,
            benefits=np.delete(self.benefits, place),
            families=None if families is None else families[:place] + families[place + 1 :],
            noise=None if self.noise is None else (self.noise[0].select(keep), self.noise[1].select(keep)),
            total=total,
        )


Families = Mapping[str, str]


def sample_gate(
    gated: GatedMetric,
    margin: float,
    baseline: ArmTable,
    candidate: ArmTable,
    families: Families | None,
    tolerance: float | None = None,
) -> GateSample:
    """Take one delta per task that both arms know: points of a rate, or minus the log of a ratio.

    A resource that is 0 in every run of a task in both arms is the same there.
    """
    places, logs = places_of_shared_tasks(baseline, candidate), gated.scale is EffectScale.RATIO
    before = shared_moments(baseline, gated.metric, places[0], logs=logs)
    after = shared_moments(candidate, gated.metric, places[1], logs=logs)
    amounts = _amounts(gated.metric, baseline, candidate, places) if logs else None
    # The mean log of a task with a zero is minus infinity, on one side or on both.
    with np.errstate(invalid="ignore"):
        differences = before.means - after.means if logs else after.means - before.means
    known = np.isfinite(differences)
    if amounts is not None and not known.all():
        zeros = [arm.means == 0 for arm in amounts]
        differences = np.where(zeros[0] & zeros[1], 0.0, differences)
        known = np.isfinite(differences)
    benefits = differences if known.all() else differences[known]
    benefits[np.abs(benefits) < BENEFIT_ROUNDING] = 0.0
    names = names_of_rows(baseline, places[0])
    tasks = _some(names, known)
    sample = GateSample(
        gated=gated,
        margin=margin,
        tolerance=tolerance,
        tasks=tasks,
        benefits=benefits,
        families=None if families is None else tuple(families[task] for task in tasks),
        noise=(select_tasks(before, known), select_tasks(after, known)),
        unknown=None,
    )
    return sample if amounts is None else _with_total(sample, names, amounts, families)


def names_of_rows(arm: ArmTable, places: Index | None) -> tuple[str, ...]:
    """The tasks at these different places; where all are, the very tuple of the arm."""
    if places is None or len(places) == len(arm.tasks):
        return arm.tasks
    return tuple(arm.tasks[place] for place in places.tolist())


def _some(names: tuple[str, ...], chosen: NDArray[np.bool_]) -> tuple[str, ...]:
    """The chosen names; where all are, the very same tuple."""
    return names if chosen.all() else tuple(compress(names, chosen.tolist()))


def _amounts(
    metric: str, baseline: ArmTable, candidate: ArmTable, places: tuple[Index | None, Index | None]
) -> tuple[TaskMoments, TaskMoments]:
    """The metric itself, not its logs, for the tasks that both arms ran."""
    before = shared_moments(baseline, metric, places[0], logs=False)
    return before, shared_moments(candidate, metric, places[1], logs=False)


def _with_total(
    sample: GateSample, names: tuple[str, ...], amounts: tuple[TaskMoments, TaskMoments], families: Families | None
) -> GateSample:
    """Add the ratio of means, over all tasks whose amounts both arms know, zeros included."""
    means = [arm.means for arm in amounts]
    known = np.isfinite(means[0]) & np.isfinite(means[1])
    if not known.all():
        means = [each[known] for each in means]
    before, after = (select_tasks(arm, known) for arm in amounts)
    if known.any() and means[0].max() == means[1].max() == 0:
        return replace(sample, equal=True)
    if not known.any() or not (means[0].mean() > 0 and means[1].mean() > 0):
        return replace(sample, total=replace(sample, benefits=np.zeros(0), tasks=(), families=None, noise=None))
    tasks = _some(names, known)
    total = replace(
        sample,
        tasks=tasks,
        benefits=total_benefits(*means),
        families=None if families is None else tuple(families[task] for task in tasks),
        noise=(before.scaled(1 / float(means[0].mean())), after.scaled(1 / float(means[1].mean()))),
    )
    return replace(sample, total=total)


def total_benefits(before: Column, after: Column) -> Column:
    """Minus the log of the ratio of means, as one pseudo-value per task: their mean is it, their scatter its error."""
    means = before.mean(), after.mean()
    benefits: Column = after / means[1]
    # In place, because there may be millions of tasks.
    benefits -= before / means[0]
    benefits += np.log(means[1] / means[0])
    return np.negative(benefits, out=benefits)


def sample_cost_of_pass(
    gated: GatedMetric,
    margin: float,
    baseline: ArmTable,
    candidate: ArmTable,
    families: Families | None,
    tolerance: float | None = None,
) -> GateSample:
    """Dollars per pass, as a ratio of ratios of means; one pseudo-value per task."""
    places = places_of_shared_tasks(baseline, candidate)
    costs, passes = (_amounts(metric, baseline, candidate, places) for metric in ("cost_usd", "passed"))
    known = np.all([np.isfinite(arm.means) for arm in (*costs, *passes)], axis=0)
    tasks = _some(names_of_rows(baseline, places[0]), known)
    sample = GateSample(
        gated=gated,
        margin=margin,
        tolerance=tolerance,
        tasks=tasks,
        benefits=np.zeros(0),
        families=None if families is None else tuple(families[task] for task in tasks),
        noise=None,
        unknown=None,
    )
    means = [arm.means[known] for arm in (*costs, *passes)]
    if not known.any() or not all(values.mean() > 0 for values in means):
        return replace(sample, tasks=(), families=None)
    dearer, fewer = total_benefits(means[0], means[1]), total_benefits(means[2], means[3])
    return replace(sample, benefits=dearer - fewer)


def sample_worth(value_usd: float, baseline: ArmTable, candidate: ArmTable, families: Families | None) -> GateSample:
    """Dollars per task that the candidate is worth more: the value of its passes less what they cost."""
    arms = [_with_worth(arm, value_usd) for arm in (baseline, candidate)]
    return sample_gate(WORTH_GATE, WORTH_GATE.margin, arms[0], arms[1], families)


def _with_worth(arm: ArmTable, value_usd: float) -> ArmTable:
    table = with_column(arm, WORTH, lambda part: value_usd * part.columns["passed"] - part.columns["cost_usd"])
    return replace(table, added={WORTH: lambda _: _worth_sums(arm, value_usd)}) if arm.added else table


def _worth_sums(arm: ArmTable, value_usd: float) -> TaskSums:
    """Where missing values are filled in, all runs of a task know them, or none does."""
    passes, dollars = arm.sums("passed"), arm.sums("cost_usd")
    counts = np.minimum(passes.counts, dollars.counts)
    return TaskSums(counts=counts, sums=np.where(counts > 0, value_usd * passes.sums - dollars.sums, 0.0))


def p_values_of(sample: GateSample, *, fixed_suite: bool, planned_tasks: int | None) -> PValues:
    """The tests that suit the data."""
    benefits, bounded = sample.benefits, sample.gated.scale is EffectScale.POINTS
    if sample.unknown is not None or len(benefits) < 2:
        return UnknownPValues()
    if sample.equal:
        return EqualPValues()
    if fixed_suite:
        return _suite_p_values(sample)
    if sample.families is not None and len(set(sample.families)) < 2:
        return UnknownPValues()  # tasks of one family are alike, so they say nothing about others
    if not bounded:
        return UnknownPValues() if has_no_spread(benefits, 1.0) else _usual_p_values(sample, planned_tasks)
    return _bounded_p_values(sample, planned_tasks)


def _bounded_p_values(sample: GateSample, planned_tasks: int | None) -> PValues:
    """The tests of a rate, which count where few tasks differ."""
    units = _units(sample)
    if has_no_spread(sample.benefits, 1.0):
        return ConstantPValues(delta=float(units.mean()), tasks=len(units))
    usual = _usual_p_values(sample, planned_tasks)
    gains, losses = int(np.count_nonzero(units > 0)), int(np.count_nonzero(units < 0))
    if gains + losses < SPARSE_BELOW_TASKS:
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
