"""Composites of all runs of an arm: the formulas of score/composite.py on arrays.

Sums are made in the same order as there, so the numbers are the same to the last bit.
"""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from outweigh.compare.run_columns import Column, Index, mean_by_owner
from outweigh.score.composite import COST_SIGNALS, Dimension, Profile

ColumnsByName = Mapping[str, Column]


class CostAdjustments(Struct, frozen=True, kw_only=True, eq=False):
    """The adjustment of every run. `left_out` counts runs by signal, `unadjusted` those without any signal."""

    values: Column
    left_out: Mapping[str, int]
    unadjusted: int


NO_ADJUSTMENTS = CostAdjustments(values=np.zeros(0), left_out={}, unadjusted=0)


def adjust_costs(
    columns: ColumnsByName, owners: Index, reference: ColumnsByName, reference_owners: Index, tasks: int, weight: float
) -> CostAdjustments:
    """Compare the cost signals of runs with the means of the reference arm. Owners are places of tasks of both arms."""
    has_reference = np.bincount(reference_owners, minlength=tasks)[owners] > 0
    totals, known = np.zeros(len(owners)), np.zeros(len(owners), dtype=np.intp)
    left_out = {}
    for signal in COST_SIGNALS:
        mine, theirs = columns[signal], mean_by_owner(reference[signal], reference_owners, tasks)[owners]
        usable = ~np.isnan(mine) & ~np.isnan(theirs)
        left_out[signal] = int(np.count_nonzero(~usable & has_reference))
        totals[usable] += _ratios(mine[usable], theirs[usable])
        known += usable
    values = np.zeros(len(owners))
    some = known > 0
    values[some] = weight * np.clip(1.0 - totals[some] / known[some], -1.0, 1.0)
    return CostAdjustments(
        values=values, left_out=left_out, unadjusted=int(np.count_nonzero((known == 0) & has_reference))
    )


def _ratios(mine: Column, theirs: Column) -> Column:
    found = np.where(mine == 0, 1.0, 2.0)
    np.divide(mine, theirs, out=found, where=theirs != 0)
    return found


def composite_column(columns: ColumnsByName, rows: int, profile: Profile, adjustment: Column | float) -> Column:
    """The composite of every run; NaN where a dimension that the profile requires is unknown, or all are."""
    total, weighted, lacking = np.zeros(rows), np.zeros(rows), np.zeros(rows, dtype=bool)
    for dimension, weight in profile.weights:
        # Judges who may not decide have no say.
        values = columns["deciding_judge_score" if dimension is Dimension.JUDGE_SCORE else dimension.value]
        known = ~np.isnan(values)
        total[known] += weight
        weighted[known] += weight * values[known]
        lacking |= ~known & (dimension in profile.requires)
    found = np.full(rows, np.nan)
    np.divide(weighted, total, out=found, where=(total > 0) & ~lacking)
    clipped: Column = np.clip(found + adjustment, 0.0, 1.0)
    return clipped
