"""How sure the order of a ladder is: chances of being best, of being on the frontier and of each grade, and ranks.

All come from one set of bootstrap draws of the tasks. Draws of means are stretched around the estimate, so that they
are as wide with few tasks as the t intervals beside them.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from outweigh.compare.arm_table import ArmTable, Column
from outweigh.compare.ladder_contrasts import Units
from outweigh.compare.ladder_figures import LEVEL
from outweigh.compare.ladder_values import middle
from outweigh.score.composite import GradeScale, grade
from outweigh.stats.bootstrap import bootstrap, expanded_percentile_interval
from outweigh.stats.distributions import normal_quantile, t_quantile
from outweigh.stats.estimate import Estimate, Unit, unknown_estimate

Draws = NDArray[np.float64]
_MEDIAN_METHOD = "expanded percentile task bootstrap"


class Standing(Struct, frozen=True, kw_only=True):
    """The place of one tier or configuration among the others, by quality. `None` where its quality is unknown.

    `ranks` are the ends of the interval of its rank, from 1. `grades` are the chances of each letter.
    """

    rank: int | None
    ranks: tuple[int, int] | None
    chance_best: float | None
    chance_on_frontier: float | None
    grades: Mapping[str, float]
    median: Estimate
    uplift: Estimate


class Competitor(Struct, frozen=True, kw_only=True, eq=False):
    """What the standing of a tier or configuration is made of: its means by task, and its pooled runs."""

    name: str
    values: Mapping[str, Column]
    table: ArmTable


def standings(
    competitors: Sequence[Competitor],
    first: Competitor,
    basis: str,
    scale: GradeScale,
    tasks: Sequence[str],
    families: Sequence[str] | None,
    *,
    draws: int,
    seed: int,
) -> dict[str, Standing]:
    """The standing of every competitor; uplifts are over the median of `first`."""
    units = Units(families, len(tasks))
    if units.count < 2:
        return {each.name: _unknown_standing(each, basis, units.count) for each in competitors}
    weights = bootstrap(lambda drawn: drawn.astype(np.float64), units.count, draws, seed)[:, units.owners]
    quality, cost, passed = (
        _mean_draws([each.values[name] for each in competitors], weights, units.count)
        for name in (basis, "cost_usd", "passed")
    )
    best = _chances_of_best(quality)
    frontier = _chances_on_frontier(cost, passed)
    ranks = _rank_intervals(quality)
    places = {task: place for place, task in enumerate(tasks)}
    of_first = _median_draws(first.table, basis, weights, places)
    order = _points([each.values[basis] for each in competitors])
    found = {}
    for row, each in enumerate(competitors):
        medians = _median_draws(each.table, basis, weights, places)
        found[each.name] = Standing(
            rank=None if math.isnan(order[row]) else 1 + int((order > order[row] + 1e-12).sum()),
            ranks=ranks[row],
            chance_best=best[row],
            chance_on_frontier=frontier[row],
            grades=_grade_chances(medians, scale),
            median=_median_estimate(medians, middle(each.table.columns[basis], basis), units.count),
            uplift=_uplift_estimate(each, first, medians, of_first, basis, units.count),
        )
    return found


def _points(columns: Sequence[Column]) -> Column:
    return np.array([_mean(column) for column in columns])


def _mean(column: Column) -> float:
    known = column[~np.isnan(column)]
    return float(known.mean()) if known.size else math.nan


def _mean_draws(columns: Sequence[Column], weights: Draws, units: int) -> Draws:
    """The mean of every competitor in every draw, stretched to the width of a t interval; NaN where unknown."""
    table = np.column_stack(columns)
    known = ~np.isnan(table)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (weights @ np.where(known, table, 0.0)) / (weights @ known.astype(np.float64))
    points = _points(columns)
    stretch = math.sqrt(units / (units - 1)) * t_quantile((1 + LEVEL) / 2, units - 1) / normal_quantile((1 + LEVEL) / 2)
    # A draw that holds no task that knows the value says as much as the data.
    stretched: Draws = points + stretch * (np.where(np.isnan(means), points, means) - points)
    return stretched


def _known_in_all(draws: Draws) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(draws).all(axis=0), dtype=np.bool_)


def _chances_of_best(quality: Draws) -> list[float | None]:
    """The share of draws in which each is best; equal ones share a draw."""
    known = _known_in_all(quality)
    if not known.any():
        return [None] * quality.shape[1]
    top = np.max(quality[:, known], axis=1, keepdims=True)
    is_top = np.where(known, quality >= top - 1e-12, False)
    shares = (is_top / is_top.sum(axis=1, keepdims=True)).mean(axis=0)
    return [float(share) if seen else None for share, seen in zip(shares.tolist(), known.tolist(), strict=True)]


def _chances_on_frontier(cost: Draws, passed: Draws) -> list[float | None]:
    """The share of draws in which no other competitor dominates each."""
    known = _known_in_all(cost) & _known_in_all(passed)
    costs, passes = cost[:, known], passed[:, known]
    dominated = np.zeros(costs.shape, dtype=bool)
    for other in range(costs.shape[1]):
        price, rate = costs[:, [other]], passes[:, [other]]
        dominated |= (price <= costs) & (rate >= passes) & ((price < costs) | (rate > passes))
    shares = iter((1 - dominated.mean(axis=0)).tolist())
    return [next(shares) if seen else None for seen in known.tolist()]


def _rank_intervals(quality: Draws) -> list[tuple[int, int] | None]:
    """The central ranks by quality, from 1; equal ones have the better rank at one end, and the worse at the other."""
    known = _known_in_all(quality)
    values = quality[:, known]
    above = np.zeros(values.shape, dtype=np.int64)
    equal = np.zeros(values.shape, dtype=np.int64)
    for other in range(values.shape[1]):
        above += values[:, [other]] > values + 1e-12
        equal += np.abs(values[:, [other]] - values) <= 1e-12
    tail = (1 - LEVEL) / 2
    low = np.quantile(1 + above, tail, axis=0, method="lower") if values.size else np.zeros(0)
    high = np.quantile(above + equal, 1 - tail, axis=0, method="higher") if values.size else np.zeros(0)
    ends = iter(zip(low.tolist(), high.tolist(), strict=True))
    return [(int(pair[0]), int(pair[1])) if seen and (pair := next(ends)) else None for seen in known.tolist()]


def _median_draws(table: ArmTable, basis: str, weights: Draws, places: Mapping[str, int]) -> Column:
    """The middle of the pooled runs in every draw, in which a run counts as often as its task was drawn."""
    column = table.columns[basis]
    known = ~np.isnan(column)
    if not known.any():
        return np.full(len(weights), np.nan)
    tasks = np.array([places[task] for task in table.tasks], dtype=np.intp)[table.task_of][known]
    values = column[known]
    if basis == "passed":
        of_runs = weights[:, tasks]
        total = of_runs.sum(axis=1)
        rates = np.full(len(total), np.nan)
        np.divide(of_runs @ values, total, out=rates, where=total > 0)
        return rates
    order = np.argsort(values, kind="stable")
    ranked = np.cumsum(weights[:, tasks[order]], axis=1)
    half = ranked[:, [-1]] / 2
    ordered = values[order]
    lower = np.minimum((ranked < half).sum(axis=1), len(ordered) - 1)
    upper = np.minimum((ranked <= half).sum(axis=1), len(ordered) - 1)
    medians: Column = np.where(half[:, 0] > 0, (ordered[lower] + ordered[upper]) / 2, np.nan)
    return medians


def _grade_chances(medians: Column, scale: GradeScale) -> dict[str, float]:
    known = medians[~np.isnan(medians)]
    distinct, counts = np.unique(known, return_counts=True)
    chances: dict[str, float] = {}
    for value, count in zip(distinct.tolist(), counts.tolist(), strict=True):
        letter = grade(value, scale)
        if letter is not None:
            chances[letter] = chances.get(letter, 0.0) + count / known.size
    return chances


def _median_estimate(medians: Column, point: float | None, units: int) -> Estimate:
    if point is None:
        return unknown_estimate("no run has a known score", n=units, unit=Unit.TASK, method=_MEDIAN_METHOD, point=None)
    return expanded_percentile_interval(medians[~np.isnan(medians)], point, units, LEVEL)


def _uplift_estimate(
    mine: Competitor, first: Competitor, medians: Column, of_first: Column, basis: str, units: int
) -> Estimate:
    """(median − first) / first in every draw."""
    point, reference = (middle(each.table.columns[basis], basis) for each in (mine, first))
    if mine is first:
        reason = "it is what the others are compared with"
        return unknown_estimate(reason, n=units, unit=Unit.TASK, method=_MEDIAN_METHOD, point=0.0)
    if point is None or reference is None or reference == 0:
        reason = "the first tier scores 0" if reference == 0 else "a score is unknown on one of the two"
        return unknown_estimate(reason, n=units, unit=Unit.TASK, method=_MEDIAN_METHOD, point=None)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = medians / of_first - 1
    return expanded_percentile_interval(ratios[np.isfinite(ratios)], point / reference - 1, units, LEVEL)


def _unknown_standing(each: Competitor, basis: str, units: int) -> Standing:
    reason = f"a bootstrap needs at least 2 tasks, not {units}"
    nothing = unknown_estimate(reason, n=units, unit=Unit.TASK, method=_MEDIAN_METHOD, point=None)
    point = middle(each.table.columns[basis], basis)
    median = unknown_estimate(reason, n=units, unit=Unit.TASK, method=_MEDIAN_METHOD, point=point)
    return Standing(
        rank=None, ranks=None, chance_best=None, chance_on_frontier=None, grades={}, median=median, uplift=nothing
    )
