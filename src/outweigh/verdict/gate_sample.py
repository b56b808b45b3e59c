"""One gate's task-level deltas, oriented so that more is better, or the reason why there are none."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from outweigh.compare.arm_table import ArmTable, Column
from outweigh.compare.delta import align_tasks
from outweigh.compare.task_moments import select_tasks, task_moments
from outweigh.stats.cluster import cluster_errors, sum_clusters
from outweigh.stats.mean import suite_error
from outweigh.stats.sample import has_no_spread
from outweigh.stats.variance import TaskMoments
from outweigh.verdict.gated_metric import GatedMetric, Scale
from outweigh.verdict.tails import SPARSE, AnytimeTails, ConstantTails, SparseTails, StudentTails, Tails, UnknownTails

# Means of equal runs leave dust of this size, which is no difference.
DUST = 1e-12


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
    rows, logs = align_tasks(baseline, candidate), gated.scale is Scale.RATIO
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
        benefits=np.where(np.abs(benefits) < DUST, 0.0, benefits),
        families=None if families is None else tuple(families[task] for task in tasks),
        noise=(select_tasks(before, known), select_tasks(after, known)),
        unknown=None,
    )


def tails_of(sample: GateSample, *, fixed_suite: bool, planned_tasks: int | None) -> Tails:
    """The tests that suit the data."""
    benefits, bounded = sample.benefits, sample.gated.scale is Scale.POINTS
    if sample.unknown is not None or len(benefits) < 2:
        return UnknownTails()
    if fixed_suite:
        return _suite_tails(sample)
    units = _units(sample)
    if has_no_spread(benefits, 1.0):
        return ConstantTails(delta=float(units.mean()), tasks=len(units)) if bounded else UnknownTails()
    usual = _usual_tails(sample, planned_tasks)
    gains, losses = int(np.count_nonzero(units > 0)), int(np.count_nonzero(units < 0))
    if bounded and gains + losses < SPARSE:
        return SparseTails(usual=usual, gains=gains, losses=losses, tasks=len(units))
    return usual


def _units(sample: GateSample) -> Column:
    """What counting counts: tasks, or families where the tasks have any, since their tasks are not independent."""
    if sample.families is None:
        return sample.benefits
    sums = sum_clusters(sample.benefits, sample.families)
    return sums.sums / sums.sizes


def _usual_tails(sample: GateSample, planned_tasks: int | None) -> Tails:
    benefits = sample.benefits
    mean, deviation, tasks = float(benefits.mean()), float(benefits.std(ddof=1)), len(benefits)
    if planned_tasks is not None:
        return AnytimeTails(mean=mean, deviation=deviation, tasks=tasks, planned_tasks=planned_tasks)
    if sample.families is not None:
        errors = cluster_errors(benefits, sample.families)
        # CR2 with its own degrees of freedom holds its level for uneven families too.
        return StudentTails(mean=mean, error=errors.cr2, df=min(errors.cr2_df, errors.clusters - 1))
    return StudentTails(mean=mean, error=deviation / tasks**0.5, df=tasks - 1)


def _suite_tails(sample: GateSample) -> Tails:
    if sample.noise is None:
        return UnknownTails()
    variances, runs = (
        np.stack([getattr(arm, name).astype(np.float64) for arm in sample.noise]) for name in ("variances", "counts")
    )
    if runs.min() < 2 or not variances.max() > 0:
        return UnknownTails()
    error, df = suite_error(variances, runs)
    return StudentTails(mean=float(sample.benefits.mean()), error=error, df=df)
