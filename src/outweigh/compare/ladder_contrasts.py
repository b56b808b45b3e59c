"""Whether the tiers of a ladder differ: omnibus tests, then steps and contrasts to the first tier as one family."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from outweigh.compare.arm_table import Column
from outweigh.compare.ladder_figures import LEVEL
from outweigh.compare.ladder_levels import Levels
from outweigh.compare.ladder_values import mean_of_known
from outweigh.stats.estimate import Alternative, Estimate, Significance, Unit, unknown_estimate
from outweigh.stats.max_t import Contrast, MaxT, max_t
from outweigh.stats.rank_tests import (
    TwoWayRanks,
    friedman_test,
    kruskal_wallis_test,
    scheirer_ray_hare_test,
    wilcoxon_test,
)
from outweigh.stats.ratios import fieller_interval
from outweigh.stats.sample import ROUNDING_ERROR
from outweigh.stats.variance import sum_clusters

ALPHA = 0.05


class Omnibus(Struct, frozen=True, kw_only=True):
    """Whether any tier differs in quality: Friedman for the same tasks on every tier, which decides.

    The other two take runs as independent, which they are not, and are given because readers ask for them.
    """

    friedman: Significance
    kruskal_wallis: Significance
    scheirer_ray_hare: TwoWayRanks


class TierContrast(Struct, frozen=True, kw_only=True):
    """The difference in quality between a tier and a lower one, by their numbers.

    `price_of_one_more_pass` is what one more solved task costs on the way from the lower tier to this one.
    """

    tier: int
    reference: int
    difference: Contrast
    wilcoxon: Significance
    price_of_one_more_pass: Estimate

    @property
    def shown(self) -> bool:
        """Whether the tiers differ beyond what chance explains, all contrasts of the ladder taken together."""
        adjusted = self.difference.adjusted
        return adjusted is not None and adjusted <= ALPHA


class LadderTests(Struct, frozen=True, kw_only=True):
    """All tests of a ladder. Steps and contrasts to the first tier are one family; configurations are another.

    `configurations` has the difference of each configuration to the baseline's, by name.
    """

    omnibus: Omnibus
    steps: tuple[TierContrast, ...]
    against_first: tuple[TierContrast, ...]
    configurations: Mapping[str, Contrast]
    critical: float | None


def compare_levels(levels: Levels, *, draws: int, seed: int) -> LadderTests:
    """Test the quality of tiers and configurations."""
    names, baseline_row = list(levels.pools), levels.baseline_row
    numbers = [tier.number for tier in levels.tiers]
    by_tier = {number: levels.of_tier(number) for number in numbers}
    pairs = [*zip(numbers[1:], numbers[:-1], strict=True), *((number, numbers[0]) for number in numbers[2:])]
    quality = {number: values[levels.basis] for number, values in by_tier.items()}
    units = Units(levels.means.families, len(levels.means.tasks))
    tested = units.test([units.influences(quality[a] - quality[b]) for a, b in pairs], draws=draws, seed=seed)
    contrasts = {
        pair: TierContrast(
            tier=pair[0],
            reference=pair[1],
            difference=difference,
            wilcoxon=_wilcoxon(quality[pair[0]] - quality[pair[1]], units),
            price_of_one_more_pass=price_of_one_more_pass(by_tier[pair[0]], by_tier[pair[1]], units),
        )
        for pair, difference in zip(pairs, tested.contrasts, strict=True)
    }
    matrix = levels.means.values[levels.basis]
    others = [row for row in range(len(names)) if row != baseline_row]
    of_rows = units.test(
        [units.influences(matrix[row] - matrix[baseline_row]) for row in others], draws=draws, seed=seed
    )
    return LadderTests(
        omnibus=_omnibus(levels, np.column_stack([quality[number] for number in numbers])),
        steps=tuple(contrasts[pair] for pair in zip(numbers[1:], numbers[:-1], strict=True)),
        against_first=tuple(contrasts[number, numbers[0]] for number in numbers[1:]),
        configurations={names[row]: contrast for row, contrast in zip(others, of_rows.contrasts, strict=True)},
        critical=tested.critical,
    )


class Units:
    """The independent units of a ladder: tasks, or families of tasks where the records name several."""

    def __init__(self, families: Sequence[str] | None, tasks: int) -> None:
        places: dict[str, int] = {}
        owners = range(tasks) if families is None else [places.setdefault(name, len(places)) for name in families]
        self.owners: NDArray[np.intp] = np.array(owners, dtype=np.intp)
        self.count = tasks if families is None else len(places)
        self.unit = Unit.TASK if families is None else Unit.CLUSTER

    def influences(self, values: Column) -> tuple[float, Column]:
        """The mean of the known values, and how much each unit adds to its error; NaN where nothing is known."""
        known = ~np.isnan(values)
        if not known.any():
            return float("nan"), np.full(self.count, np.nan)
        mean = float(values[known].mean())
        excess = np.where(known, values - mean, 0.0)
        sums: Column = np.bincount(self.owners, excess, self.count).astype(np.float64)
        return mean, sums * (self.count / int(known.sum()))

    def known(self, values: Column) -> int:
        """How many units have a known value."""
        return len(np.unique(self.owners[~np.isnan(values)]))

    def test(self, differences: Sequence[tuple[float, Column]], *, draws: int, seed: int) -> MaxT:
        """Test several differences of means together, given with their influences; one that is NaN takes no part."""
        known = [(mean, influences) for mean, influences in differences if not math.isnan(mean)]
        table = np.column_stack([influences for _, influences in known]) if known else np.zeros((self.count, 0))
        tested = max_t([mean for mean, _ in known], table, level=LEVEL, draws=draws, seed=seed)
        contrasts = iter(tested.contrasts)
        both = tuple(_UNKNOWN_DIFFERENCE if math.isnan(mean) else next(contrasts) for mean, _ in differences)
        return replace(tested, contrasts=both)


_UNKNOWN_DIFFERENCE = Contrast(
    estimate=None,
    standard_error=None,
    t=None,
    interval=None,
    simultaneous=None,
    p_value=None,
    adjusted=None,
    holm=None,
    reason="no task has a known score on both",
)


def price_of_one_more_pass(mine: Mapping[str, Column], lower: Mapping[str, Column], units: Units) -> Estimate:
    """More dollars per run over more passes per run, with Fieller's interval, which may have no end."""
    method = "price of one more pass, Fieller"
    dollars, passes = mine["cost_usd"] - lower["cost_usd"], mine["passed"] - lower["passed"]
    known = ~np.isnan(dollars) & ~np.isnan(passes)
    if not known.any():
        reason = "the cost, or whether runs pass, is unknown"
        return unknown_estimate(reason, n=0, unit=units.unit, method=method, point=None)
    owners = units.owners[known]
    if passes[known].mean() <= ROUNDING_ERROR:
        reason = "the step solves no more tasks, so there is no price"
        return unknown_estimate(reason, n=len(np.unique(owners)), unit=units.unit, method=method, point=None)
    more_dollars, more_passes = (sum_clusters(each[known], owners).sums for each in (dollars, passes))
    return fieller_interval(more_dollars, more_passes, level=LEVEL, unit=units.unit)


def _wilcoxon(deltas: Column, units: Units) -> Significance:
    known = ~np.isnan(deltas)
    sums = sum_clusters(deltas[known], units.owners[known])
    return wilcoxon_test(sums.sums / sums.sizes, alternative=Alternative.TWO_SIDED, unit=units.unit)


def _omnibus(levels: Levels, table: NDArray[np.float64]) -> Omnibus:
    values, tiers, tasks = [], [], []
    place = {task: index for index, task in enumerate(levels.means.tasks)}
    for row, pool in enumerate(levels.tables.values()):
        values.append(pool.columns[levels.basis])
        tiers.append(np.full(len(pool.runs), row, dtype=np.intp))
        tasks.append(np.array([place[task] for task in pool.tasks], dtype=np.intp)[pool.task_of])
    runs, of_tier, of_task = np.concatenate(values), np.concatenate(tiers), np.concatenate(tasks)
    units = table if levels.means.families is None else _family_means(table, levels.means.families)
    return Omnibus(
        friedman=friedman_test(units, unit=Unit.TASK if units is table else Unit.CLUSTER),
        kruskal_wallis=kruskal_wallis_test(runs, of_tier, unit=Unit.RUN),
        scheirer_ray_hare=scheirer_ray_hare_test(runs, of_tier, of_task, unit=Unit.RUN),
    )


def _family_means(table: NDArray[np.float64], families: Sequence[str]) -> NDArray[np.float64]:
    labels = np.array(families)
    return np.stack([mean_of_known(table[labels == family]) for family in dict.fromkeys(families)])
