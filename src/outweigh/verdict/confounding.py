"""Whether a difference in resources may come from something else than the arms: the order of the runs, the state of the
cache, or where costs come from.
"""

from math import sqrt

import numpy as np
from msgspec import Struct

from outweigh.compare.arm_table import ArmTable, Column, Index, align_tasks, cost_provenances
from outweigh.compare.run_columns import numbers_of
from outweigh.stats.estimate import Unit, excludes
from outweigh.stats.means import mean_interval
from outweigh.stats.proportions import cliff_delta
from outweigh.stats.sample import has_no_spread

ORDER_TOLERANCE = 0.5
ORDER_DEVIATIONS = 2.5
"""How far the order within tasks may be from a random one, in standard deviations; 1 in 80 random orders exceeds it."""

CACHE_TOLERANCE = 0.10

_TASKS_AT_ONCE = 100_000


class Moments(Struct, frozen=True, kw_only=True, eq=False):
    """The times of runs in order of their tasks, and how many of them each task has."""

    times: Column
    runs: Index

    def by_task(self, tasks: Index, size: int) -> Column:
        """A row for each of these tasks, which have so many runs each."""
        starts = np.cumsum(self.runs) - self.runs
        rows: Column = self.times[starts[tasks][:, None] + np.arange(size)]
        return rows


def cost_confounded(baseline: ArmTable, candidate: ArmTable) -> str | None:
    """The reason why cost must not be gated, or None when nothing speaks against it."""
    return order_confounded(baseline, candidate) or dollars_confounded(baseline, candidate)


def dollars_confounded(baseline: ArmTable, candidate: ArmTable) -> str | None:
    """Why dollars must not be gated although the order of the runs speaks against no resource."""
    return _provenance_differs(baseline, candidate) or _cache_confounded(baseline, candidate)


def _provenance_differs(baseline: ArmTable, candidate: ArmTable) -> str | None:
    ours, theirs = ({provenance.kind.value for provenance in cost_provenances(arm)} for arm in (baseline, candidate))
    if not ours or not theirs or ours == theirs:
        return None
    sources = f"{' and '.join(sorted(ours))} against {' and '.join(sorted(theirs))}"
    return f"the arms' costs come from different sources ({sources}); price both the same way"


def order_confounded(baseline: ArmTable, candidate: ArmTable) -> str | None:
    """Why no resource must be gated: one arm ran after the other, as a whole or within the tasks.

    Reused runs have an age limit of their own.
    """
    moments = _moments(baseline, candidate)
    if moments is None:
        return None
    ours, theirs = moments
    lag = cliff_delta(theirs.times, ours.times, level=0.95, unit=Unit.RUN).point
    within = _lag_within_tasks(align_tasks(baseline, candidate), ours, theirs)
    if lag is not None and abs(lag) > ORDER_TOLERANCE:
        place = ""
    elif within is not None:
        lag, place = within, ", task by task"
    else:
        return None
    late, early = (candidate.name, baseline.name) if lag > 0 else (baseline.name, candidate.name)
    return (
        f"the runs of {late} came after those of {early}{place}, so anything that changed in between (a warm cache, "
        "another load) counts as a difference between the arms; interleave the arms"
    )


def _lag_within_tasks(shared: Index, ours: Moments, theirs: Moments) -> float | None:
    """How far one arm came after the other within tasks, from -1 to 1; None where that may be a random order.

    A task with a single run in an arm says nothing: where arms take turns, one of them is always first.
    """
    before, after = ours.runs[shared[:, 0]], theirs.runs[shared[:, 1]]
    tasks = total = spread = 0.0
    for size in set(zip(before.tolist(), after.tolist(), strict=True)):
        if min(size) < 2:
            continue
        alike = shared[(before == size[0]) & (after == size[1])]
        for start in range(0, len(alike), _TASKS_AT_ONCE):
            some = alike[start : start + _TASKS_AT_ONCE]
            earlier, later = ours.by_task(some[:, 0], size[0]), theirs.by_task(some[:, 1], size[1])
            total += float(np.sign(later[:, :, None] - earlier[:, None, :]).mean(axis=(1, 2)).sum())
        tasks += len(alike)
        spread += len(alike) * (size[0] + size[1] + 1) / (3 * size[0] * size[1])
    if not tasks or abs(total) <= ORDER_DEVIATIONS * sqrt(spread):
        return None
    lag = total / tasks
    return lag if abs(lag) > ORDER_TOLERANCE else None


def _moments(baseline: ArmTable, candidate: ArmTable) -> tuple[Moments, Moments] | None:
    """When the runs of both arms took place: by the clock, and by their position in the plan where an arm has none."""
    for field in ("started_at", "position"):
        ours, theirs = (_moments_of(arm, field) for arm in (baseline, candidate))
        if len(ours.times) and len(theirs.times):
            return ours, theirs
    return None


def _moments_of(arm: ArmTable, field: str) -> Moments:
    times = numbers_of(arm.runs, field)
    known = ~np.isnan(times) & (numbers_of(arm.runs, "reused") == 0)
    times, owners = times[known], arm.task_of[known]
    if len(owners) and (np.diff(owners) < 0).any():
        order = np.argsort(owners, kind="stable")
        times, owners = times[order], owners[order]
    return Moments(times=times, runs=np.bincount(owners, minlength=len(arm.tasks)))


def _cache_confounded(baseline: ArmTable, candidate: ArmTable) -> str | None:
    rows = align_tasks(baseline, candidate)
    shifts = _hit_rates(candidate)[rows[:, 1]] - _hit_rates(baseline)[rows[:, 0]]
    shifts = shifts[~np.isnan(shifts)]
    if len(shifts) < 2 or abs(float(shifts.mean())) <= CACHE_TOLERANCE:
        return None
    interval = mean_interval(shifts, level=0.99, unit=Unit.TASK).interval
    if not (excludes(interval, 0.0) or has_no_spread(shifts, 1.0)):
        return None
    return (
        f"the share of cached prompt tokens that were read, not written, differs by {100 * float(shifts.mean()):+.0f} "
        "points between the arms, so cost reflects the state of the cache; compare with equal cache state"
    )


def _hit_rates(arm: ArmTable) -> Column:
    """Per task, the part of the cache traffic that was a read; NaN where a task had none or nobody knows."""
    reads, both = (arm.sums_of(name, column).sums for name, column in (("reads", _reads), ("cache traffic", _traffic)))
    rates = np.full(len(arm.tasks), np.nan)
    np.divide(reads, both, out=rates, where=both > 0)
    return rates


def _reads(arm: ArmTable) -> Column:
    """What each run read from the cache, where it is known what it wrote."""
    return np.where(np.isnan(arm.columns["cache_write_tokens"]), np.nan, arm.columns["cache_read_tokens"])


def _traffic(arm: ArmTable) -> Column:
    return arm.columns["cache_read_tokens"] + arm.columns["cache_write_tokens"]
