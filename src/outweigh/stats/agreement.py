"""How far raters agree beyond chance: Krippendorff's alpha, overall, between tasks and within tasks, and Cohen's
kappa of two.

Runs of one task are not independent, so all intervals are over tasks. A rating may be missing.
"""

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from outweigh.stats.estimate import Estimate, Unit, unknown_estimate
from outweigh.stats.jackknife import jackknife_estimate
from outweigh.stats.sample import Sample

Ratings = Sequence[Sequence[float | None]] | NDArray[np.float64]
Index = NDArray[np.intp]

_ONE_VALUE = "all ratings are the same value, so there is no disagreement to compare with"
_MEAN_DECIMALS = 12


class MeasurementScale(StrEnum):
    """What the distance between two ratings means."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"


class TaskAlphas(Struct, frozen=True, kw_only=True):
    """Krippendorff's alpha of the same ratings in three ways.

    `overall` compares with ratings of all runs, so that telling easy tasks from hard ones is enough to raise it.
    `between` is the alpha of the tasks' mean ratings. `within` compares with ratings of the same task only, and so
    shows whether raters see which of its runs is better; `by_task` is this for each task alone. `runs` are those that
    at least two raters rated.
    """

    overall: Estimate
    between: Estimate
    within: Estimate
    by_task: Mapping[str, float | None]
    runs: int


def alphas_by_task(ratings: Ratings, tasks: Sequence[str], *, scale: MeasurementScale, level: float) -> TaskAlphas:
    """All alphas of ratings[rater][run], NaN or None where missing; `tasks` names the task of every run."""
    matrix = np.asarray(ratings, dtype=np.float64)
    table = _tabulate(matrix, tasks)
    means = _task_means(matrix, table)
    disagreement = _disagreement_by_task(table, scale)
    return TaskAlphas(
        overall=_alpha(table, scale, level),
        between=krippendorff_alpha(means, table.task_names, scale=MeasurementScale.INTERVAL, level=level),
        within=_within_task_alpha(table, disagreement, scale, level),
        by_task=dict(zip(table.task_names, disagreement.alphas(), strict=True)),
        runs=int(table.tasks.size),
    )


def krippendorff_alpha(ratings: Ratings, tasks: Sequence[str], *, scale: MeasurementScale, level: float) -> Estimate:
    """Alpha of ratings[rater][item], NaN or None where missing; `tasks` names the task of every item."""
    return _alpha(_tabulate(np.asarray(ratings, dtype=np.float64), tasks), scale, level)


class _Table(Struct, frozen=True, kw_only=True):
    """The ratings of the items that at least two raters rated; a code is the place of a value among the values.

    `items` and `codes` have one entry per rating; `tasks` and what follows have one per item.
    """

    items: Index
    codes: Index
    values: Sample
    pairable: NDArray[np.bool_]
    task_names: tuple[str, ...]
    tasks: Index
    ratings_per_item: Sample
    disagreeing_pairs: Sample

    @property
    def defect(self) -> str | None:
        """Why nothing can be computed from these ratings."""
        if np.isinf(self.values).any():
            return "a rating is infinite"
        return None if self.tasks.size else "no item has two ratings"


def _tabulate(matrix: Sample, tasks: Sequence[str]) -> _Table:
    if matrix.shape[-1] != len(tasks):
        raise ValueError(f"every rated item has a task, got {matrix.shape[-1]} items and {len(tasks)} tasks")
    pairable = (~np.isnan(matrix)).sum(axis=0) >= 2
    by_item = matrix.T[pairable]
    names, task_of = np.unique(np.asarray(tasks, dtype=object)[pairable].astype(str), return_inverse=True)
    items, raters = np.nonzero(~np.isnan(by_item))
    values, codes = np.unique(by_item[items, raters], return_inverse=True)
    per_item = np.bincount(items, minlength=len(by_item)).astype(np.float64)
    return _Table(
        items=items,
        codes=codes,
        values=values,
        pairable=pairable,
        task_names=tuple(map(str, names)),
        tasks=task_of,
        ratings_per_item=per_item,
        disagreeing_pairs=_disagreeing_pairs(items, codes, per_item),
    )


def _disagreeing_pairs(groups: Index, codes: Index, sizes: Sample) -> Sample:
    """How many ordered pairs of ratings of each group differ."""
    values = int(codes.max(initial=0)) + 1
    cells, counts = np.unique(groups * values + codes, return_counts=True)
    agreeing = np.bincount(cells // values, counts.astype(np.float64) ** 2, sizes.size)
    return sizes**2 - agreeing


def _alpha(table: _Table, scale: MeasurementScale, level: float) -> Estimate:
    method, tasks = f"Krippendorff alpha, {scale}", len(table.task_names)
    if table.defect is not None:
        return unknown_estimate(table.defect, n=tasks, unit=Unit.TASK, method=method, point=None)
    point = _weighted_alpha(table, scale, np.ones(table.tasks.size))
    if math.isnan(point):
        return unknown_estimate(_ONE_VALUE, n=tasks, unit=Unit.TASK, method=method, point=None)

    def without(left_out: Index) -> float:
        return _weighted_alpha(table, scale, (~np.isin(table.tasks, left_out)).astype(np.float64))

    return jackknife_estimate(point, without, tasks=tasks, level=level, method=method)


def _weighted_alpha(table: _Table, scale: MeasurementScale, weights: Sample) -> float:
    """1 - observed / expected disagreement with each item counted `weights` times; NaN when none is expected."""
    totals = np.bincount(table.codes, weights[table.items], table.values.size).astype(np.float64)
    if np.count_nonzero(totals) < 2:
        return math.nan
    within, overall = _disagreement(table, scale, totals)
    observed = float((weights * within / (table.ratings_per_item - 1)).sum())
    return 1 - (float(totals.sum()) - 1) * observed / overall


def _disagreement(table: _Table, scale: MeasurementScale, totals: Sample) -> tuple[Sample, float]:
    """Sum over pairs of their distance, within each item and over all ratings."""
    if scale is MeasurementScale.NOMINAL:
        return table.disagreeing_pairs, float(totals.sum() ** 2 - (totals**2).sum())
    # An ordinal rating lies at its mean rank among all ratings.
    positions = table.values if scale is MeasurementScale.INTERVAL else np.cumsum(totals) - totals / 2
    centred = positions - np.average(positions, weights=totals)
    return _item_distances(table, positions[table.codes]), float(totals.sum() * (totals * centred**2).sum())


def _item_distances(table: _Table, positions: Sample) -> Sample:
    """Sum over the pairs of each item of their squared distance, each pair counted once."""
    return table.ratings_per_item * _squared_deviations(positions, table.items, table.tasks.size)


def _squared_deviations(values: Sample, groups: Index, group_count: int) -> Sample:
    """Sum of the squared deviations from the mean of each group."""
    sizes = np.bincount(groups, minlength=group_count)
    means = np.bincount(groups, values, group_count) / np.maximum(sizes, 1)
    return np.bincount(groups, (values - means[groups]) ** 2, group_count).astype(np.float64)


def _task_means(matrix: Sample, table: _Table) -> Sample:
    """Each rater's mean over the runs of each task, NaN where it rated none of them."""
    rated = matrix[:, table.pairable]
    means = np.full((rated.shape[0], len(table.task_names)), np.nan)
    for rater, row in enumerate(rated):
        known = ~np.isnan(row)
        counts = np.bincount(table.tasks[known], minlength=means.shape[1])
        sums = np.bincount(table.tasks[known], row[known], means.shape[1])
        np.divide(sums, counts, out=means[rater], where=counts > 0)
    # Means of equal numbers may differ by a rounding error, which is no disagreement.
    return np.round(means, _MEAN_DECIMALS)


class _TaskDisagreement(Struct, frozen=True, kw_only=True):
    """Each task's number of ratings times the disagreement observed in its runs, and times the one expected.

    Both are 0 for a task that cannot show agreement: one run only, or the same rating throughout.
    """

    observed: Sample
    expected: Sample

    def alphas(self) -> list[float | None]:
        """The alpha of each task alone."""
        pairs = zip(self.observed.tolist(), self.expected.tolist(), strict=True)
        return [1 - observed / expected if expected > 0 else None for observed, expected in pairs]


def _disagreement_by_task(table: _Table, scale: MeasurementScale) -> _TaskDisagreement:
    tasks = len(table.task_names)
    owners = table.tasks[table.items]
    sizes = np.bincount(owners, minlength=tasks).astype(np.float64)
    differing = _disagreeing_pairs(owners, table.codes, sizes)
    if scale is MeasurementScale.NOMINAL:
        within, overall = table.disagreeing_pairs, differing
    else:
        positions = table.values[table.codes] if scale is MeasurementScale.INTERVAL else _ranks_in_task(table, sizes)
        within = _item_distances(table, positions)
        overall = sizes * _squared_deviations(positions, owners, tasks)
    observed = np.bincount(table.tasks, within / (table.ratings_per_item - 1), tasks)
    telling = (np.bincount(table.tasks, minlength=tasks) > 1) & (differing > 0)
    return _TaskDisagreement(
        observed=np.where(telling, observed, 0.0),
        expected=np.where(telling, overall / np.maximum(sizes - 1, 1), 0.0),
    )


def _ranks_in_task(table: _Table, sizes: Sample) -> Sample:
    """The mean rank of every rating among those of its task, as a share of their number."""
    owners, values = table.tasks[table.items], table.values.size
    cells, cell_of, counts = np.unique(owners * values + table.codes, return_inverse=True, return_counts=True)
    first = np.concatenate([[0.0], np.cumsum(sizes)[:-1]])[cells // max(values, 1)]
    ranks = np.cumsum(counts) - counts / 2 - first
    shares: Sample = ranks[cell_of] / sizes[owners]
    return shares


def _within_task_alpha(
    table: _Table, disagreement: _TaskDisagreement, scale: MeasurementScale, level: float
) -> Estimate:
    method = f"Krippendorff alpha within tasks, {scale}"
    telling = disagreement.expected > 0
    observed, expected = disagreement.observed[telling], disagreement.expected[telling]
    if table.defect is not None or expected.size == 0:
        reason = table.defect or "no task has two runs that were rated differently, so nothing shows within tasks"
        return unknown_estimate(reason, n=0, unit=Unit.TASK, method=method, point=None)
    point = 1 - float(observed.sum() / expected.sum())

    def without(left_out: Index) -> float:
        kept = np.delete(observed, left_out).sum() / np.delete(expected, left_out).sum()
        return 1 - float(kept)

    return jackknife_estimate(point, without, tasks=int(expected.size), level=level, method=method)


KAPPA_METHOD = "Cohen kappa"


def cohen_kappa(one: Sequence[float], other: Sequence[float], tasks: Sequence[str], *, level: float) -> Estimate:
    """(observed - expected) / (1 - expected) agreement on the same items; `tasks` names the task of every item."""
    if not len(one) == len(other) == len(tasks):
        raise ValueError(f"two raters rate the same items, got {len(one)} and {len(other)} ratings of {len(tasks)}")
    if not tasks:
        return unknown_estimate("no item has two ratings", n=0, unit=Unit.TASK, method=KAPPA_METHOD, point=None)
    names, task_of = np.unique(np.asarray(tasks), return_inverse=True)
    values, codes = np.unique(np.array([one, other], dtype=np.float64), return_inverse=True)
    cells = codes.reshape(2, len(one))
    point = _kappa(cells, int(values.size))
    if math.isnan(point):
        reason = "both raters gave everything the same rating, so chance alone would agree too"
        return unknown_estimate(reason, n=int(names.size), unit=Unit.TASK, method=KAPPA_METHOD, point=None)

    def without(left_out: Index) -> float:
        return _kappa(cells[:, ~np.isin(task_of, left_out)], int(values.size))

    return jackknife_estimate(point, without, tasks=int(names.size), level=level, method=KAPPA_METHOD)


def _kappa(cells: Index, values: int) -> float:
    """NaN where chance alone explains full agreement."""
    ours, theirs = (np.bincount(row, minlength=values) / row.size for row in cells)
    expected = float(ours @ theirs)
    observed = float(np.mean(cells[0] == cells[1]))
    return math.nan if expected >= 1 else (observed - expected) / (1 - expected)
