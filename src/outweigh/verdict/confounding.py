"""Whether a difference in resources may come from something else than the arms: the order of the runs, the state of the
cache, or where costs come from.
"""

from collections.abc import Callable, Mapping, Sequence
from math import sqrt

import numpy as np

from outweigh.compare.arm_table import ArmTable, Column, align_tasks
from outweigh.score.run_score import Score
from outweigh.stats.estimate import Unit, excludes
from outweigh.stats.means import mean_interval
from outweigh.stats.proportions import cliff_delta
from outweigh.stats.sample import has_no_spread

ORDER_TOLERANCE = 0.5
ORDER_DEVIATIONS = 2.5
"""How far the order within tasks may be from a random one, in standard deviations; 1 in 80 random orders exceeds it."""

CACHE_TOLERANCE = 0.10
Moments = Mapping[str, Column]
"""The times of runs, by task."""


def cost_confounded(baseline: ArmTable, candidate: ArmTable) -> str | None:
    """The reason why cost must not be gated, or None when nothing speaks against it."""
    return order_confounded(baseline, candidate) or dollars_confounded(baseline, candidate)


def dollars_confounded(baseline: ArmTable, candidate: ArmTable) -> str | None:
    """Why dollars must not be gated although the order of the runs speaks against no resource."""
    return _provenance_differs(baseline, candidate) or _cache_confounded(baseline, candidate)


def _provenance_differs(baseline: ArmTable, candidate: ArmTable) -> str | None:
    ours, theirs = (
        {run.cost_provenance.kind.value for run in arm.runs if run.cost_usd is not None}
        for arm in (baseline, candidate)
    )
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
    ours, theirs = (np.concatenate(list(arm.values())) for arm in moments)
    lag = cliff_delta(theirs, ours, level=0.95, unit=Unit.RUN).point
    within = _lag_within_tasks(*moments)
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


def _lag_within_tasks(ours: Moments, theirs: Moments) -> float | None:
    """How far one arm came after the other within tasks, from -1 to 1; None where that may be a random order.

    A task with a single run in an arm says nothing: where arms take turns, one of them is always first.
    """
    lags, variances = [], []
    for task in ours.keys() & theirs.keys():
        before, after = ours[task], theirs[task]
        if min(len(before), len(after)) < 2:
            continue
        lags.append(float(np.sign(after[:, None] - before[None, :]).mean()))
        variances.append((len(before) + len(after) + 1) / (3 * len(before) * len(after)))
    if not lags or abs(sum(lags)) <= ORDER_DEVIATIONS * sqrt(sum(variances)):
        return None
    lag = sum(lags) / len(lags)
    return lag if abs(lag) > ORDER_TOLERANCE else None


def _moments(baseline: ArmTable, candidate: ArmTable) -> tuple[Moments, Moments] | None:
    """When the runs of both arms took place: by the clock, and by their position in the plan where an arm has none."""
    arms = [[run for run in arm.runs if not run.reused] for arm in (baseline, candidate)]
    for moment in (_clock, _position):
        ours, theirs = (_by_task(runs, moment) for runs in arms)
        if ours and theirs:
            return ours, theirs
    return None


def _by_task(runs: Sequence[Score], moment: Callable[[Score], float | None]) -> Moments:
    found: dict[str, list[float]] = {}
    for run in runs:
        if (time := moment(run)) is not None:
            found.setdefault(run.task_id, []).append(time)
    return {task: np.array(times) for task, times in found.items()}


def _clock(run: Score) -> float | None:
    return None if run.started_at is None else run.started_at.timestamp()


def _position(run: Score) -> float | None:
    return None if run.position is None else float(run.position)


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
