"""Why a difference in cost may be about the order of runs or the prompt cache, and not about the arm."""

import numpy as np

from outweigh.compare.arm_table import ArmTable, Column
from outweigh.compare.delta import align_tasks
from outweigh.stats.effect import cliff_delta
from outweigh.stats.equivalence import excludes
from outweigh.stats.estimate import Unit
from outweigh.stats.mean import mean_interval
from outweigh.stats.sample import has_no_spread

ORDER_TOLERANCE = 0.5
CACHE_TOLERANCE = 0.10


def cost_confounded(baseline: ArmTable, candidate: ArmTable) -> str | None:
    """The reason why cost must not be gated, or None when nothing speaks against it."""
    return _order_confounded(baseline, candidate) or _cache_confounded(baseline, candidate)


def _order_confounded(baseline: ArmTable, candidate: ArmTable) -> str | None:
    ours, theirs = _positions(baseline), _positions(candidate)
    if ours is None or theirs is None:
        return None
    lag = cliff_delta(theirs, ours, level=0.95, unit=Unit.RUN).point
    if lag is None or abs(lag) <= ORDER_TOLERANCE:
        return None
    late, early = (candidate.name, baseline.name) if lag > 0 else (baseline.name, candidate.name)
    return f"the runs of {late} came after those of {early}, so cost may reflect a warmed cache; interleave the arms"


def _positions(arm: ArmTable) -> Column | None:
    """When each run took place: by its position in the plan, else by the clock."""
    positions = [run.position for run in arm.runs]
    if positions and None not in positions:
        return np.array(positions, dtype=np.float64)
    moments = [run.started_at.timestamp() for run in arm.runs if run.started_at is not None]
    return np.array(moments) if moments and len(moments) == len(arm.runs) else None


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
    read, written = arm.columns["cache_read_tokens"], arm.columns["cache_write_tokens"]
    known = ~np.isnan(read) & ~np.isnan(written)
    reads, both = (
        np.bincount(arm.task_of[known], part[known], len(arm.tasks)).astype(np.float64)
        for part in (read, read + written)
    )
    rates = np.full(len(arm.tasks), np.nan)
    np.divide(reads, both, out=rates, where=both > 0)
    return rates
