"""The two levels of a ladder: tiers, and the configurations on each of them.

A tier counts each of its configurations once, whatever their number of runs; beside that stands the pool of all its
runs, as the source of the formulas has it. Arms with one fingerprint are replicates of one configuration.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from outweigh.compare.arm_summary import ArmSummary, summarise
from outweigh.compare.arm_table import ArmTable, Column
from outweigh.compare.evidence import Evidence
from outweigh.compare.ladder_figures import LEVEL, figures_of
from outweigh.compare.ladder_layout import LadderLayout
from outweigh.compare.ladder_values import TaskMeans, middle, pool_tables, task_means
from outweigh.compare.run_measures import mean_by_task
from outweigh.score.composite import GradeScale, grade
from outweigh.score.objective import Change
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

    `rows` are the places of each tier's configurations in `means`, `baseline_row` that of the baseline; `basis` is the
    metric of quality. `tables` are the pooled runs of tiers, `pools` those of configurations in the order of `means`.
    """

    tiers: tuple[LadderTier, ...]
    means: TaskMeans
    rows: Mapping[int, tuple[int, ...]]
    basis: str
    tables: Mapping[int, ArmTable]
    pools: Mapping[str, ArmTable]
    baseline_row: int

    def of_tier(self, number: int) -> dict[str, Column]:
        """The means by task of a tier, each of its configurations once."""
        return self.means.each_once(self.rows[number])

    def of_configurations(self) -> dict[str, dict[str, Column]]:
        """The means by task of every configuration, by name."""
        return {name: self.means.each_once([row]) for row, name in enumerate(self.pools)}


def build_levels(
    evidence: Evidence,
    layout: LadderLayout,
    tables: Mapping[str, ArmTable],
    summaries: Mapping[str, ArmSummary],
    scale: GradeScale,
    basis: str,
) -> Levels:
    """Figures of all tiers and configurations, from the tables and summaries of the arms.

    `basis` is the metric that stands for quality.
    """
    pools = {name: pool_tables(name, [tables[arm] for arm in arms]) for name, arms in layout.configurations.items()}
    means = task_means(list(pools.values()), _measures(evidence, layout))
    rows = {
        number: tuple(row for row, name in enumerate(pools) if layout.tiers[name] == number)
        for number in layout.numbers
    }
    runs = {
        number: pool_tables(layout.tier_name(number), [pools[name] for name in pools if layout.tiers[name] == number])
        for number in layout.numbers
    }
    builder = _LevelBuilder(evidence, layout, summaries, scale, basis)
    levels = Levels(
        tiers=(),
        means=means,
        rows=rows,
        basis=basis,
        tables=runs,
        pools=pools,
        baseline_row=next(row for row, arms in enumerate(layout.configurations.values()) if layout.baseline in arms),
    )
    return replace(levels, tiers=tuple(builder.tiers(levels)))


def _measures(evidence: Evidence, layout: LadderLayout) -> dict[str, list[dict[str, float]]]:
    """Phases of runs and tokens by component: the means by task of every configuration, over its replicates."""
    names = dict.fromkeys(name for arm in layout.tiers for name in evidence.measures.get(arm, {}))
    return {
        name: [
            mean_by_task([evidence.measures.get(arm, {}) for arm in arms], name)
            for arms in layout.configurations.values()
        ]
        for name in sorted(names)
    }


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


class _LevelBuilder:
    """Makes tiers and configurations of their means by task and of their pooled runs."""

    def __init__(
        self,
        evidence: Evidence,
        layout: LadderLayout,
        summaries: Mapping[str, ArmSummary],
        scale: GradeScale,
        basis: str,
    ) -> None:
        self._evidence = evidence
        self._layout = layout
        self._summaries = summaries
        self._scale = scale
        self._basis = basis

    def tiers(self, levels: Levels) -> Iterator[LadderTier]:
        """Every tier, lowest first."""
        first = levels.of_tier(self._layout.numbers[0])[self._basis]
        baseline = levels.means.each_once([levels.baseline_row])[self._basis]
        median_of_first = self._middle(levels.tables[self._layout.numbers[0]])
        families = levels.means.families
        for number in self._layout.numbers:
            pool, values = levels.tables[number], levels.of_tier(number)
            sub_arms = tuple(self._sub_arm(levels, row, first, baseline) for row in levels.rows[number])
            arms = [arm for sub_arm in sub_arms for arm in sub_arm.arms]
            summary = self._summary(pool, arms)
            figures = self._figures(arms, summary, values, families)
            yield LadderTier(
                number=number,
                name=self._layout.tier_name(number),
                sub_arms=sub_arms,
                pooled=summary,
                figures=figures,
                grade=grade(self._middle(pool), self._scale),
                grade_of_mean=grade(figures[QUALITY].point, self._scale),
                uplift=uplift(self._middle(pool), median_of_first),
                gain_over_first=relative_gain(values[self._basis], first, families),
                gain_over_baseline=relative_gain(values[self._basis], baseline, families),
            )

    def _sub_arm(self, levels: Levels, row: int, first: Column, baseline: Column) -> SubArm:
        name, table = list(levels.pools.items())[row]
        arms, values, families = self._layout.configurations[name], levels.means.each_once([row]), levels.means.families
        summary = self._summary(table, arms)
        return SubArm(
            name=name,
            tier=self._layout.tiers[name],
            arms=arms,
            summary=summary,
            grade=grade(self._middle(table), self._scale),
            figures=self._figures(arms, summary, values, families),
            gain_over_first=relative_gain(values[self._basis], first, families),
            gain_over_baseline=relative_gain(values[self._basis], baseline, families),
        )

    def _summary(self, table: ArmTable, arms: Sequence[str]) -> ArmSummary:
        if len(arms) == 1:
            return self._summaries[arms[0]]
        return summarise(table, self._changes(arms), (), self._scale)

    def _figures(
        self, arms: Sequence[str], summary: ArmSummary, values: Mapping[str, Column], families: Sequence[str] | None
    ) -> dict[str, Estimate]:
        figures = figures_of(values, families, self._changes(arms), summary.unknown_because)
        return {QUALITY: figures["pass_rate" if self._basis == "passed" else self._basis], **figures}

    def _changes(self, arms: Sequence[str]) -> list[Change]:
        return [change for arm in arms for change in self._evidence.changes.get(arm, ())]

    def _middle(self, table: ArmTable) -> float | None:
        return middle(table.columns[self._basis], self._basis)
