"""The two levels of a ladder: tiers, and the configurations on each of them.

A tier counts each of its configurations once, whatever their number of runs; beside that stands the pool of all its
runs, as the source of the formulas has it. Arms with one fingerprint are replicates of one configuration.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from outweigh.compare.arm_summary import ArmSummary, summarise
from outweigh.compare.arm_table import ArmTable, Column
from outweigh.compare.evidence import Evidence
from outweigh.compare.ladder_figures import LEVEL, figures_of
from outweigh.compare.ladder_layout import LadderLayout
from outweigh.compare.ladder_values import TaskMeans, pool_tables, task_means
from outweigh.score.composite import GradeScale, grade
from outweigh.stats.estimate import Estimate, Interval, Quantity, Unit, known, unknown, unknown_estimate
from outweigh.stats.ratios import ratio_interval
from outweigh.stats.variance import sum_clusters


class SubArm(Struct, frozen=True, kw_only=True):
    """One configuration of a tier, by the name of the first of its replicates.

    `figures` are means over tasks, with their intervals. `gain_over_first` and `gain_over_baseline` are relative gains
    of the mean quality over the first tier and over the baseline.
    """

    name: str
    tier: int
    arms: tuple[str, ...]
    summary: ArmSummary
    grade: str | None
    figures: Mapping[str, Estimate]
    gain_over_first: Estimate
    gain_over_baseline: Estimate


class LadderTier(Struct, frozen=True, kw_only=True):
    """One tier. `figures` count each of its configurations once, `pooled` all its runs.

    `uplift` is of the median of the pooled runs, as the source has it; the gains are of means. Both grades say what
    they are of: the median of the pooled runs, and the mean with each configuration once.
    """

    number: int
    name: str
    sub_arms: tuple[SubArm, ...]
    pooled: ArmSummary
    figures: Mapping[str, Estimate]
    grade: str | None
    grade_of_mean: str | None
    uplift: Quantity
    gain_over_first: Estimate
    gain_over_baseline: Estimate

    @property
    def quality(self) -> Estimate:
        """What tiers are ranked by; unknown where neither judges nor checks tell it."""
        return self.figures[QUALITY]


QUALITY = "quality"
"""The figure that tiers are ranked by: the composite, or the pass rate where nobody judged."""


class Levels(Struct, frozen=True, kw_only=True, eq=False):
    """Both levels, and the means by task that their figures are made of, for tests and draws.

    `rows` are the places of each tier's configurations in `means`; `basis` is the metric of quality.
    """

    tiers: tuple[LadderTier, ...]
    means: TaskMeans
    rows: Mapping[int, tuple[int, ...]]
    basis: str
    tables: Mapping[int, ArmTable] = field(default_factory=dict)


def build_levels(
    evidence: Evidence, layout: LadderLayout, tables: Mapping[str, ArmTable], scale: GradeScale, basis: str
) -> Levels:
    """Figures of all tiers and configurations. `basis` is the metric that stands for quality."""
    pooled = {name: pool_tables(name, [tables[arm] for arm in arms]) for name, arms in layout.configurations.items()}
    means = task_means(list(pooled.values()), {})
    rows = {
        number: tuple(row for row, name in enumerate(pooled) if layout.tiers[name] == number)
        for number in layout.numbers
    }
    by_tier = {number: means.each_once(rows[number]) for number in layout.numbers}
    first = by_tier[layout.numbers[0]][basis]
    base_row = next(row for row, arms in enumerate(layout.configurations.values()) if layout.baseline in arms)
    baseline = means.each_once([base_row])[basis]
    runs = {
        number: pool_tables(layout.tier_name(number), [pooled[name] for name in pooled if layout.tiers[name] == number])
        for number in layout.numbers
    }
    median_of_first = _middle(runs[layout.numbers[0]], basis)
    tiers = []
    for number in layout.numbers:
        sub_arms = tuple(
            _sub_arm(
                evidence, layout, name, table, means.each_once([row]), means.families, scale, (first, baseline, basis)
            )
            for row, (name, table) in enumerate(pooled.items())
            if row in rows[number]
        )
        arms = [arm for sub_arm in sub_arms for arm in sub_arm.arms]
        summary = _summary(evidence, runs[number], arms, scale)
        figures = _figures(evidence, arms, summary, by_tier[number], means.families, basis)
        tiers.append(
            LadderTier(
                number=number,
                name=layout.tier_name(number),
                sub_arms=sub_arms,
                pooled=summary,
                figures=figures,
                grade=_grade(runs[number], basis, scale),
                grade_of_mean=grade(figures[QUALITY].point, scale),
                uplift=uplift(_middle(runs[number], basis), median_of_first),
                gain_over_first=relative_gain(by_tier[number][basis], first, means.families),
                gain_over_baseline=relative_gain(by_tier[number][basis], baseline, means.families),
            )
        )
    return Levels(tiers=tuple(tiers), means=means, rows=rows, basis=basis, tables=runs)


def uplift(score: float | None, first: float | None) -> Quantity:
    """(score − first) / first."""
    if score is None or first is None:
        return unknown("the composite needs a judge score and a pass rate on both tiers")
    return (
        unknown("the first tier scores 0, so a ratio to it is undefined")
        if first == 0
        else known((score - first) / first)
    )


def relative_gain(mine: Column, reference: Column, families: Sequence[str] | None) -> Estimate:
    """(mean − reference) / reference over the tasks that both know, by the delta method on the log of their ratio."""
    method = "relative gain of means, delta method on logs"
    both = ~np.isnan(mine) & ~np.isnan(reference)
    ours, theirs, unit = mine[both], reference[both], Unit.TASK
    if not both.any():
        return unknown_estimate("no task has a score on both sides", n=0, unit=unit, method=method, point=None)
    if theirs.sum() == 0:
        reason = "the reference scores 0, so a ratio to it is undefined"
        return unknown_estimate(reason, n=int(both.sum()), unit=unit, method=method, point=None)
    if np.array_equal(ours, theirs):
        reason = "it has the same mean as the reference on every task"
        return unknown_estimate(reason, n=int(both.sum()), unit=unit, method=method, point=0.0)
    if families is not None:
        labels = [family for family, is_known in zip(families, both, strict=True) if is_known]
        if len(set(labels)) > 1:
            ours, theirs, unit = sum_clusters(ours, labels).sums, sum_clusters(theirs, labels).sums, Unit.CLUSTER
    ratio = ratio_interval(ours, theirs, level=LEVEL, unit=unit)
    inside = ratio.interval
    return replace(
        ratio,
        point=None if ratio.point is None else ratio.point - 1,
        interval=None
        if inside is None
        else Interval(low=inside.low - 1, high=inside.high - 1, level=inside.level, method=inside.method),
        method=method,
    )


def _sub_arm(
    evidence: Evidence,
    layout: LadderLayout,
    name: str,
    table: ArmTable,
    values: Mapping[str, Column],
    families: Sequence[str] | None,
    scale: GradeScale,
    references: tuple[Column, Column, str],
) -> SubArm:
    first, baseline, basis = references
    arms = layout.configurations[name]
    summary = _summary(evidence, table, arms, scale)
    return SubArm(
        name=name,
        tier=layout.tiers[name],
        arms=arms,
        summary=summary,
        grade=_grade(table, basis, scale),
        figures=_figures(evidence, arms, summary, values, families, basis),
        gain_over_first=relative_gain(values[basis], first, families),
        gain_over_baseline=relative_gain(values[basis], baseline, families),
    )


def _summary(evidence: Evidence, table: ArmTable, arms: Sequence[str], scale: GradeScale) -> ArmSummary:
    changes = [change for arm in arms for change in evidence.changes.get(arm, ())]
    components = evidence.components.get(arms[0], ()) if len(arms) == 1 else ()
    return summarise(table, changes, components, scale)


def _figures(
    evidence: Evidence,
    arms: Sequence[str],
    summary: ArmSummary,
    values: Mapping[str, Column],
    families: Sequence[str] | None,
    basis: str,
) -> dict[str, Estimate]:
    changes = [change for arm in arms for change in evidence.changes.get(arm, ())]
    figures = figures_of(values, families, changes, summary.unknown_because)
    return {QUALITY: figures["pass_rate" if basis == "passed" else basis], **figures}


def _middle(table: ArmTable, basis: str) -> float | None:
    """The median of the runs' quality; of passes the rate, because a median of 0 and 1 says next to nothing."""
    column = table.columns[basis]
    column = column[~np.isnan(column)]
    if not column.size:
        return None
    return float(column.mean()) if basis == "passed" else float(np.median(column))


def _grade(table: ArmTable, basis: str, scale: GradeScale) -> str | None:
    return grade(_middle(table, basis), scale)
