"""Adjusted p-values for many questions at once: Bonferroni, Holm, Benjamini-Hochberg and step-down max-t.

All of them answer in the order of the input. A p-value that is not known counts as 1: it is never rejected and
still counts as a question that was asked.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from outweigh.stats.bootstrap import bootstrap_means

Floats = NDArray[np.float64]


def adjust_bonferroni(p_values: Sequence[float | None]) -> Floats:
    """Multiply every p-value by their number, which holds the family-wise error rate under any dependence."""
    known = _known(p_values)
    return np.minimum(known * len(known), 1)


def adjust_holm(p_values: Sequence[float | None]) -> Floats:
    """Step down from the smallest p-value: as safe as Bonferroni and never less powerful."""
    known = _known(p_values)
    order = np.argsort(known, kind="stable")
    steps = np.maximum.accumulate(known[order] * np.arange(len(known), 0, -1))
    return _restore_order(np.minimum(steps, 1), order)


def adjust_benjamini_hochberg(p_values: Sequence[float | None]) -> Floats:
    """Step up from the largest p-value: holds the false discovery rate, for exploring many tests."""
    known = _known(p_values)
    order = np.argsort(known, kind="stable")
    steps = known[order] * len(known) / np.arange(1, len(known) + 1)
    return _restore_order(np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1), order)


def adjust_max_t(statistics: ArrayLike, centred_draws: ArrayLike, *, two_sided: bool = True) -> Floats:
    """Step down by the bootstrap law of the largest statistic (Romano and Wolf), which uses their dependence.

    `centred_draws` (draws × hypotheses) are the same statistics in shared draws, centred so that every null is true.
    One-sided means that large statistics speak against their null.
    """
    observed, null = np.asarray(statistics, dtype=np.float64), np.array(centred_draws, dtype=np.float64)
    if two_sided:
        observed, null = np.abs(observed), np.abs(null)
    adjusted = np.ones(len(observed))
    (testable,) = np.nonzero(np.isfinite(observed))
    if len(testable) == 0 or len(null) == 0:
        return adjusted
    order = testable[np.argsort(-observed[testable], kind="stable")]
    # A draw whose statistic is unknown counts as more extreme than anything observed.
    null[np.isnan(null)] = np.inf
    largest_left = np.maximum.accumulate(null[:, order[::-1]], axis=1)[:, ::-1]
    exceedances = (largest_left >= observed[order]).sum(axis=0)
    adjusted[order] = np.maximum.accumulate((1 + exceedances) / (1 + len(null)))
    return adjusted


def t_statistics(deltas: ArrayLike) -> Floats:
    """Return the one-sample t statistic of every column (tasks × hypotheses); NaN where it cannot be known."""
    table = np.asarray(deltas, dtype=np.float64)
    if len(table) < 2:
        return np.full(table.shape[1], np.nan)
    means, residuals = _centre(table)
    variances = np.mean(residuals**2, axis=0)
    return _studentize(means, np.where(variances > (1e-12 * means) ** 2, variances, np.nan), len(table))


def centred_t_draws(deltas: ArrayLike, draws: int, seed: int) -> Floats:
    """Return the t statistics of every column in shared task draws, centred at the observed means."""
    table = np.asarray(deltas, dtype=np.float64)
    if len(table) < 2:
        return np.full((draws, table.shape[1]), np.nan)
    _, residuals = _centre(table)
    means, squares = np.hsplit(bootstrap_means(np.hstack([residuals, residuals**2]), draws, seed), 2)
    variances = squares - means**2
    return _studentize(means, np.where(variances > 1e-12 * squares, variances, 0), len(table))


def _centre(table: Floats) -> tuple[Floats, Floats]:
    known = np.where(np.isfinite(table), table, np.nan)
    means: Floats = known.mean(axis=0)
    return means, known - means


def _studentize(means: Floats, variances: Floats, tasks: int) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return means / np.sqrt(variances / (tasks - 1))


def _known(p_values: Sequence[float | None]) -> Floats:
    values = np.array([1 if p is None else p for p in p_values], dtype=np.float64)
    values[np.isnan(values)] = 1
    if ((values < 0) | (values > 1)).any():
        raise ValueError("a p-value lies between 0 and 1")
    return values


def _restore_order(adjusted: Floats, order: NDArray[np.intp]) -> Floats:
    restored = np.empty_like(adjusted)
    restored[order] = adjusted
    return restored
