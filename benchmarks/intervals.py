"""Intervals and bootstraps, against scipy's bootstrap of the same numbers."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.measure import median_seconds
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from outweigh.stats.bootstrap import bootstrap_means, expanded_percentile_interval
from outweigh.stats.estimate import Unit
from outweigh.stats.means import mean_interval, median_interval

METRICS = 8
RESAMPLES = 10_000
ELEMENTS = 20_000_000
"""scipy draws about so many numbers per timing; fewer than 10,000 resamples are multiplied up."""

Table = NDArray[np.float64]


def measure(setting: Setting) -> list[Ratio]:  # noqa: ARG001 - every size is quick
    """Means and medians of many pairs, and one joint bootstrap of many arms."""
    dice = np.random.default_rng(1)
    return [
        _means(dice.normal(size=(10_000, METRICS)), 300),
        _means(dice.normal(size=(100_000, METRICS)), 1_000),
        _median(dice.normal(size=100_000), 2_000),
        _joint(dice.normal(size=(1_000, 7 * METRICS)), 50),
    ]


def _means(table: Table, target: float) -> Ratio:
    def ours() -> None:
        for column in table.T:
            mean_interval(column, level=0.95, unit=Unit.TASK)

    return _ratio(f"{METRICS} mean intervals over {len(table):,} pairs", ours, table, np.mean, target)


def _median(values: Table, target: float) -> Ratio:
    def ours() -> None:
        median_interval(values, level=0.95, unit=Unit.TASK)

    return _ratio(f"a median interval over {len(values):,} pairs", ours, values[:, None], np.median, target)


def _joint(table: Table, target: float) -> Ratio:
    def ours() -> None:
        draws = bootstrap_means(table, RESAMPLES, 1)
        for column in range(table.shape[1]):
            expanded_percentile_interval(draws[:, column], float(table[:, column].mean()), len(table))

    return _ratio("a joint bootstrap of 7 arms × 8 metrics × 1,000 tasks", ours, table, np.mean, target)


def _ratio(name: str, ours: Callable[[], None], table: Table, statistic: Callable[..., object], target: float) -> Ratio:
    """Time both in turns; scipy bootstraps one column, and so many columns take it so many times as long."""
    resamples = min(RESAMPLES, max(20, ELEMENTS // len(table)))

    def theirs() -> None:
        stats.bootstrap(
            (table[:, 0],),
            statistic,
            n_resamples=resamples,
            batch=max(1, 1_000_000 // len(table)),
            # Its default, BCa, is quadratic in the number of pairs; where that is bearable it is what people run.
            method="BCa" if len(table) <= 1_000 else "percentile",
            rng=np.random.default_rng(1),
        )

    seconds = median_seconds({"ours": ours, "theirs": theirs}, rounds=5)
    scipy_seconds = seconds["theirs"] * RESAMPLES / resamples * table.shape[1]
    return Ratio(
        name=f"scipy.stats.bootstrap, {RESAMPLES:,} resamples : {name}",
        measured=scipy_seconds / seconds["ours"],
        target=target,
        better="higher",
        note=f"{scipy_seconds:.3g} s : {1e3 * seconds['ours']:.3g} ms",
    )
