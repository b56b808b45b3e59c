"""Whether a difference in resources may come from something else than the arms: the order of the runs, the state of the
cache, or where costs come from.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from math import sqrt
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from outweigh.compare.arm_table import ArmTable, Column, Index, cost_provenances
from outweigh.compare.run_columns import count_values, numbers_of
from outweigh.compare.task_alignment import align_tasks, places_of_shared_tasks, reduce_together
from outweigh.stats.estimate import Unit, excludes
from outweigh.stats.means import mean_interval
from outweigh.stats.proportions import cliff_delta
from outweigh.stats.sample import has_no_spread

ORDER_TOLERANCE = 0.5
ORDER_DEVIATIONS = 2.5
"""How far the order within tasks may be from a random one, in standard deviations; 1 in 80 random orders exceeds it."""

CACHE_TOLERANCE = 0.10

_TASKS_AT_ONCE = 100_000
_RANKS = 4096
_RANKED_PARTS = 4


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
    field = _clock(baseline, candidate)
    if field is None:
        return None
    ranks = _ranks(baseline, candidate, field)
    found = reduce_together(baseline, candidate, lambda one, other: _order_of_part(one, other, field, ranks))
    lag, within = _lag(baseline, candidate, field, found), _lag_within_tasks([part.within for part in found])
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


class _Order(NamedTuple):
    """The times of the runs of both arms by rank, and how far one came after the other by the runs of a task."""

    earlier: Index
    later: Index
    within: Mapping[tuple[int, int], tuple[int, float]]


def _clock(baseline: ArmTable, candidate: ArmTable) -> str | None:
    """What says when the runs of both arms took place: the clock, or their position where an arm has none."""
    for field in ("started_at", "position"):
        known = [any(arm.each_part(partial(_has_moments, field=field))) for arm in (baseline, candidate)]
        if all(known):
            return field
    return None


def _has_moments(arm: ArmTable, *, field: str) -> bool:
    return len(_moments(arm, field).times) > 0


def _ranks(baseline: ArmTable, candidate: ArmTable, field: str) -> Column:
    """Moments between which the runs are counted. Any will do; these are from some parts of both arms."""
    found = []
    for arm in (baseline, candidate):
        parts = arm.parts or (arm,)
        found += [_moments(part, field).times for part in parts[:: 1 + len(parts) // _RANKED_PARTS]]
    times = np.concatenate(found)
    return np.linspace(times.min(), times.max(), _RANKS) if len(times) else np.zeros(1)


def _order_of_part(baseline: ArmTable, candidate: ArmTable, field: str, ranks: Column) -> _Order:
    ours, theirs = _moments(baseline, field), _moments(candidate, field)
    step = (ranks[-1] - ranks[0]) / len(ranks) or 1.0
    earlier, later = (
        np.bincount(np.clip((arm.times - ranks[0]) / step, 0, len(ranks) - 1).astype(np.intp), minlength=len(ranks))
        for arm in (ours, theirs)
    )
    return _Order(earlier, later, dict(_lags_by_runs(align_tasks(baseline, candidate), ours, theirs)))


def _lag(baseline: ArmTable, candidate: ArmTable, field: str, found: Sequence[_Order]) -> float | None:
    """How far one arm came after the other, from -1 to 1. Runs of the same rank are told apart where that matters."""
    before = np.sum([part.earlier for part in found], axis=0).astype(np.float64)
    after = np.sum([part.later for part in found], axis=0).astype(np.float64)
    pairs = before.sum() * after.sum()
    below = np.cumsum(before) - before
    lag = float((after * (below - (before.sum() - below - before))).sum() / pairs)
    unsure = float((before * after).sum() / pairs)
    if (abs(lag) - unsure > ORDER_TOLERANCE) or (abs(lag) + unsure < ORDER_TOLERANCE):
        return lag
    ours, theirs = (
        np.concatenate(arm.each_part(lambda part: _moments(part, field).times)) for arm in (baseline, candidate)
    )
    return cliff_delta(theirs, ours, level=0.95, unit=Unit.RUN).point


def _lags_by_runs(shared: Index, ours: Moments, theirs: Moments) -> Iterator[tuple[tuple[int, int], tuple[int, float]]]:
    """By the numbers of a task's runs in both arms: how many tasks have these, and how far one arm came after."""
    before, after = ours.runs[shared[:, 0]], theirs.runs[shared[:, 1]]
    most = int(after.max(initial=0)) + 1
    for size in (divmod(number, most) for number in np.unique(before * most + after).tolist()):
        # A task with a single run in an arm says nothing: where arms take turns, one of them is always first.
        if min(size) < 2:
            continue
        alike, total = shared[(before == size[0]) & (after == size[1])], 0.0
        for start in range(0, len(alike), _TASKS_AT_ONCE):
            some = alike[start : start + _TASKS_AT_ONCE]
            earlier, later = ours.by_task(some[:, 0], size[0]), theirs.by_task(some[:, 1], size[1])
            columns = ((later[:, place], earlier[:, other]) for place in range(size[1]) for other in range(size[0]))
            total += float(sum(np.count_nonzero(one > two) - np.count_nonzero(one < two) for one, two in columns))
        yield size, (len(alike), total / (size[0] * size[1]))


def _lag_within_tasks(found: Sequence[Mapping[tuple[int, int], tuple[int, float]]]) -> float | None:
    """How far one arm came after the other within tasks, from -1 to 1; None where that may be a random order."""
    tasks = total = spread = 0.0
    for (before, after), (alike, lag) in chain.from_iterable(part.items() for part in found):
        tasks += alike
        total += lag
        spread += alike * (before + after + 1) / (3 * before * after)
    if not tasks or abs(total) <= ORDER_DEVIATIONS * sqrt(spread):
        return None
    lag = total / tasks
    return lag if abs(lag) > ORDER_TOLERANCE else None


def _moments(arm: ArmTable, field: str) -> Moments:
    times = numbers_of(arm.runs, field)
    known = ~np.isnan(times)
    if set(count_values(arm.runs, "reused")) != {False}:
        known &= numbers_of(arm.runs, "reused") == 0
    if arm.rows is not None and known.all():
        return Moments(times=times, runs=arm.rows)
    times, owners = times[known], arm.task_of[known]
    if len(owners) and (np.diff(owners) < 0).any():
        order = np.argsort(owners, kind="stable")
        times, owners = times[order], owners[order]
    return Moments(times=times, runs=np.bincount(owners, minlength=len(arm.tasks)))


def _cache_confounded(baseline: ArmTable, candidate: ArmTable) -> str | None:
    before, after = (
        _hit_rates(arm) if places is None else _hit_rates(arm)[places]
        for arm, places in zip((baseline, candidate), places_of_shared_tasks(baseline, candidate), strict=True)
    )
    shifts = after - before
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
    reads, both = arm.add_up(("cache reads", "cache traffic"), _reads_and_traffic)
    rates = np.full(len(arm.tasks), np.nan)
    np.divide(reads.sums, both.sums, out=rates, where=both.sums > 0)
    return rates


def _reads_and_traffic(arm: ArmTable) -> tuple[Column, Column]:
    """What each run read from the cache, where it is known what it wrote, and both together."""
    read, written = arm.columns["cache_read_tokens"], arm.columns["cache_write_tokens"]
    both = read + written
    return np.where(np.isnan(both), np.nan, read), both
