"""Missing and estimated values: both arms again, with what nobody knows filled in against the candidate, or for it.

Missing are the values of runs lost to infrastructure, of runs that the other arm has and this one lacks, and of runs
that do not know the metric. A missing pass or judge score may be anything from 0 to 1. A missing amount lies between
the smallest and the largest that is known of its task in either arm, or of the suite where the task has none. An
estimated amount lies between the ends of its own range.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from outweigh.compare.arm_table import ArmTable, Column, Index, TaskSums
from outweigh.compare.run_columns import Computed, count_values, counts_by_place, last_by_task
from outweigh.compare.task_alignment import places_among, same_tasks, union_of_tasks
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import COST_OF_PASS, GATED_METRICS, WORTH, EffectScale
from outweigh.verdict.gate_sample import Families, GateSample, sample_cost_of_pass, sample_gate, sample_worth

Arms = tuple[ArmTable, ArmTable]

_PARTS = {COST_OF_PASS: ("passed", "cost_usd"), WORTH: ("passed", "cost_usd")}
_RATES = {gated.metric for gated in GATED_METRICS.values() if gated.scale is EffectScale.POINTS}


class LackingTasks(NamedTuple):
    """The tasks of which values are missing, by their places in order, and how many of each."""

    places: Index
    numbers: Index


class Limits(NamedTuple):
    """The smallest and the largest that a missing value can be, for the tasks at these places; NaN where it is none."""

    places: Index
    low: Column
    high: Column

    def end(self, places: Index, *, low: bool) -> Column:
        """One end for tasks that are among these."""
        ends: Column = (self.low if low else self.high)[np.searchsorted(self.places, places)]
        return ends


class ExpectedRuns(Struct, frozen=True, kw_only=True, eq=False):
    """One arm over all tasks that either arm has a record of, and the runs that should be there and do not count.

    `places` says where the tasks of the arm are among all, of which it may lack some; None where they are all.
    """

    arm: ArmTable
    tasks: tuple[str, ...]
    places: Index | None
    absent: LackingTasks

    @property
    def expected(self) -> int:
        """How many runs there should be."""
        return len(self.arm.runs) + int(self.absent.numbers.sum())

    def known(self, metric: str) -> Index:
        """How many runs of each task know the metric."""
        return _over_all(self.arm.known_per_task(metric), self.places, len(self.tasks))

    def missing(self, metric: str) -> LackingTasks:
        """The values of a metric that are unknown."""
        return self._lacking(self.arm.known_per_task(metric))

    def filled(self, metrics: Sequence[str], limits: Mapping[str, Limits], *, worst: bool) -> ArmTable:
        """The arm with its missing passes failed and its missing amounts at their largest, or the other way round."""
        added: dict[str, Callable[[bool], TaskSums]] = {}
        columns: dict[str, Callable[[], Column]] = {}
        for metric in metrics:
            # A failed run is worst among rates, and the largest amount among resources.
            lows = (metric in _RATES) is worst
            added[metric] = partial(self._filled_sums, metric, limits[metric], lows, worst)
            columns[metric] = partial(self._filled_column, metric, limits[metric], lows, worst)
        return replace(
            self.arm,
            tasks=self.tasks,
            owners=lambda: np.concatenate([self._owners, np.repeat(*self.absent)]),
            rows=None,
            parts=(),
            kept={},
            added=added,
            columns=Computed(columns, keep=False),
        )

    def _lacking(self, known: Index) -> LackingTasks:
        """What is missing where so many runs of the arm's tasks know something."""
        runs = self.arm.runs_per_task()
        if known is runs:
            return self.absent
        numbers = _over_all(runs - known, self.places, len(self.tasks))
        numbers[self.absent.places] += self.absent.numbers
        return _counted(numbers)

    @property
    def _owners(self) -> Index:
        """The places of the tasks of the runs that count."""
        return self.arm.task_of if self.places is None else self.places[self.arm.task_of]

    def _filled_sums(self, metric: str, limits: Limits, lows: bool, worst: bool, logs: bool) -> TaskSums:
        sums = (
            self.arm.sums_of(
                f"{metric} {worst} {logs}",
                lambda part: _log(_with_ends(part, metric, worst)) if logs else _with_ends(part, metric, worst),
            )
            if metric in self.arm.ranges
            else self.arm.sums(metric, logs=logs)
        )
        counts = _over_all(sums.counts, self.places, len(self.tasks))
        found = _over_all(sums.sums, self.places, len(self.tasks))
        places, numbers = self._lacking(sums.counts)
        ends = limits.end(places, low=lows)
        there = ~np.isnan(ends)
        places, numbers, ends = places[there], numbers[there], ends[there]
        counts[places] += numbers
        found[places] += numbers * (_log(ends) if logs else ends)
        return TaskSums(counts=counts, sums=found)

    def _filled_column(self, metric: str, limits: Limits, lows: bool, worst: bool) -> Column:
        ends = np.full(len(self.tasks), np.nan)
        ends[limits.places] = limits.low if lows else limits.high
        column = _with_ends(self.arm, metric, worst)
        return np.concatenate([np.where(np.isnan(column), ends[self._owners], column), ends[np.repeat(*self.absent)]])


_Values = TypeVar("_Values", Index, Column)


def _over_all(values: _Values, places: Index | None, tasks: int) -> _Values:
    """The values of an arm's tasks as a copy over all tasks; 0 where the arm has none."""
    if places is None:
        return values.copy()
    found = np.zeros(tasks, dtype=values.dtype)
    found[places] = values
    return found


def _with_ends(arm: ArmTable, metric: str, worst: bool) -> Column:
    """A column with the worst or the best end of values that are estimated."""
    column = arm.columns[metric]
    if metric not in arm.ranges:
        return column
    end = arm.ranges[metric][1 if worst else 0]
    return np.where(np.isnan(end), column, end)


def _log(values: Column) -> Column:
    with np.errstate(divide="ignore"):
        return np.log(values)


class MissingValues(Struct, frozen=True, kw_only=True, eq=False):
    """Both arms with all runs that should be there, and how many values each gate lacks, or estimates.

    `value_usd` is what a solved task is worth, where somebody says.
    """

    arms: tuple[ExpectedRuns, ExpectedRuns]
    limits: Mapping[str, Limits]
    families: Families | None
    counts: Mapping[str, int]
    estimated: Mapping[str, int]
    expected: int
    value_usd: float | None

    @property
    def most(self) -> int:
        """The number of missing values on the gate that lacks most."""
        return max(self.counts.values(), default=0)

    @property
    def most_estimated(self) -> int:
        """The number of estimated values on the gate that estimates most."""
        return max(self.estimated.values(), default=0)

    def fill(self, gate: GateSample, *, against: bool) -> GateSample:
        """The gate with every missing or estimated value as bad for the candidate as it can be, or as good."""
        if not self.concerns(gate):
            return gate
        before, after = (
            arm.filled(_parts(gate), self.limits, worst=is_candidate is against)
            for arm, is_candidate in zip(self.arms, (False, True), strict=True)
        )
        return sample_again(gate, (before, after), self.families, self.value_usd)

    def concerns(self, gate: GateSample) -> bool:
        """Whether the gate lacks values, or estimates some."""
        return bool(self.counts.get(gate.gated.name) or self.estimated.get(gate.gated.name))


def sample_again(gate: GateSample, arms: Arms, families: Families | None, value_usd: float | None) -> GateSample:
    """The same gate on changed arms; why it could not be judged before still holds."""
    if gate.gated.name == WORTH and value_usd is not None:
        found = sample_worth(value_usd, *arms, families)
    else:
        take = sample_cost_of_pass if gate.gated.name == COST_OF_PASS else sample_gate
        found = take(gate.gated, gate.margin, *arms, families, gate.tolerance)
    if found.total is not None and gate.total is not None:
        found = replace(found, total=replace(found.total, unknown=gate.total.unknown))
    return replace(found, unknown=gate.unknown)


def _parts(gate: GateSample) -> tuple[str, ...]:
    return _PARTS.get(gate.gated.name, (gate.gated.metric,))


def find_missing_values(
    baseline: ArmTable, candidate: ArmTable, gates: Sequence[GateSample], value_usd: float | None = None
) -> MissingValues | None:
    """What the gates lack or estimate; None where every run is there and every metric was counted."""
    metrics = tuple(dict.fromkeys(metric for gate in gates for metric in _parts(gate)))
    if _is_complete(baseline, candidate, metrics):
        return None
    arms = _expected_runs(baseline, candidate)
    limits = {metric: _limits(arms, metric) for metric in metrics}
    lacking = {metric: sum(_missing(arm, metric, limits[metric]) for arm in arms) for metric in metrics}
    counts = {gate.gated.name: max(lacking[metric] for metric in _parts(gate)) for gate in gates}
    estimated = {
        gate.gated.name: max(_estimated((baseline, candidate), metric) for metric in _parts(gate)) for gate in gates
    }
    if not any((*counts.values(), *estimated.values())):
        return None
    in_families = any(gate.families is not None for gate in gates)
    return MissingValues(
        arms=arms,
        limits=limits,
        families=families_of_all_runs(baseline, candidate) if in_families else None,
        counts=counts,
        estimated=estimated,
        expected=sum(arm.expected for arm in arms),
        value_usd=value_usd,
    )


def _is_complete(baseline: ArmTable, candidate: ArmTable, metrics: Sequence[str]) -> bool:
    """Whether plainly nothing is missing: the same tasks equally often, and no excluded, unknown or estimated value."""
    return (
        not (baseline.ranges or candidate.ranges)
        and not (baseline.excluded or candidate.excluded or baseline.stale or candidate.stale)
        and same_tasks(baseline, candidate)
        and np.array_equal(baseline.runs_per_task(), candidate.runs_per_task())
        and all(
            np.array_equal(arm.known_per_task(metric), arm.runs_per_task())
            for arm in (baseline, candidate)
            for metric in metrics
        )
    )


def _expected_runs(baseline: ArmTable, candidate: ArmTable) -> tuple[ExpectedRuns, ExpectedRuns]:
    """Both arms over all tasks that either has a record of, with the runs of each that should be there."""
    arms = (baseline, candidate)
    aside = [count_values(arm.stale, "task_id") for arm in arms]
    tasks = union_of_tasks(arms)
    places = [None if arm.tasks is tasks else places_among(arm.tasks, tasks) for arm in arms]
    lost = [arm.lost_per_task(tasks) for arm in arms]
    recorded = [
        _over_all(arm.runs_per_task(), own, len(tasks)) + gone + counts_by_place(tasks, stale)
        for arm, own, gone, stale in zip(arms, places, lost, aside, strict=True)
    ]
    # What one arm has of a task and the other lacks may have been lost, or picked: nobody can tell.
    never = recorded[1] - recorded[0]
    before, after = (
        ExpectedRuns(arm=arm, tasks=tasks, places=own, absent=_counted(gone + np.maximum(more, 0)))
        for arm, own, gone, more in zip(arms, places, lost, (never, -never), strict=True)
    )
    return before, after


def _counted(numbers: Index) -> LackingTasks:
    places = np.flatnonzero(numbers)
    return LackingTasks(places, numbers[places])


def _limits(arms: tuple[ExpectedRuns, ExpectedRuns], metric: str) -> Limits:
    """The smallest and the largest that a missing value can be, for every task that lacks one."""
    places = np.union1d(*(arm.missing(metric).places for arm in arms))
    if metric in _RATES:
        # A task without checks, or without judges, has nothing that a run could know.
        asked = np.logical_or(*(arm.known(metric)[places] > 0 for arm in arms))
        return Limits(places, np.where(asked, 0.0, np.nan), np.where(asked, 1.0, np.nan))
    low, high = _extremes(arms, metric, places)
    some, more = high > -np.inf, high > 0
    if more.all():
        return Limits(places, low, high)
    # A task of which no run knows the amount may have any that is known of another.
    lows, highs = _extremes(arms, metric, np.arange(len(arms[0].tasks)))
    known = highs > 0
    if not known.any():
        none = np.where(some, 0.0, np.nan)
        return Limits(places, none, none)
    least, most = lows[known].min(), highs[known].max()
    return Limits(places, np.where(more, low, np.where(some, 0.0, least)), np.where(some, high, most))


def _extremes(arms: tuple[ExpectedRuns, ExpectedRuns], metric: str, places: Index) -> tuple[Column, Column]:
    """The least amount that is not zero, which has no logarithm, and the largest of all, of the tasks at these places.

    Infinite where there is none.
    """
    low, high = np.full(len(places), np.inf), np.full(len(places), -np.inf)
    for expected in arms:
        own = places
        if expected.places is not None:
            where = np.full(len(expected.tasks), -1)
            where[expected.places] = np.arange(len(expected.places))
            own = where[places]
        has = own >= 0
        lows, highs = _extremes_of_arm(expected.arm, metric, own[has])
        low[has], high[has] = np.minimum(low[has], lows), np.maximum(high[has], highs)
    return low, high


def _extremes_of_arm(arm: ArmTable, metric: str, tasks: Index) -> tuple[Column, Column]:
    """The same of one arm, for some of its tasks in order or in any."""
    order = np.argsort(tasks, kind="stable")
    ends = np.cumsum([len(part.tasks) for part in arm.parts or (arm,)])
    cuts = np.searchsorted(tasks[order], ends)
    starts = (0, *ends[:-1].tolist())
    chosen = [tasks[some] - start for some, start in zip(np.split(order, cuts[:-1]), starts, strict=True)]
    found = arm.each_part(partial(_extremes_of_part, metric=metric), chosen)
    low, high = np.empty(len(tasks)), np.empty(len(tasks))
    low[order], high[order] = (np.concatenate([part[side] for part in found]) for side in range(2))
    return low, high


def _extremes_of_part(arm: ArmTable, tasks: Index, *, metric: str) -> tuple[Column, Column]:
    low, high = np.full(len(tasks), np.inf), np.full(len(tasks), -np.inf)
    if not len(tasks):
        return low, high
    rows, owners = _rows_of(arm, tasks)
    values = arm.columns[metric][rows]
    known = ~np.isnan(values)
    values, places = values[known], owners[known]
    np.minimum.at(low, places[values > 0], values[values > 0])
    np.maximum.at(high, places, values)
    return low, high


def _rows_of(arm: ArmTable, tasks: Index) -> tuple[Index, Index]:
    """The rows of the runs of some tasks, and the place of each run's task among these."""
    if arm.rows is None:
        chosen = np.full(len(arm.tasks), -1)
        chosen[tasks] = np.arange(len(tasks))
        owners = chosen[arm.task_of]
        rows = np.flatnonzero(owners >= 0)
        return rows, owners[rows]
    sizes = arm.rows[tasks]
    before = np.cumsum(arm.rows)[tasks] - np.cumsum(sizes)  # the rows before these that are not chosen
    return np.arange(sizes.sum()) + np.repeat(before, sizes), np.repeat(np.arange(len(tasks)), sizes)


def _missing(arm: ExpectedRuns, metric: str, limits: Limits) -> int:
    """How many values are unknown of those that somebody could know."""
    places, numbers = arm.missing(metric)
    return int(numbers[~np.isnan(limits.end(places, low=True))].sum())


def _estimated(arms: Arms, metric: str) -> int:
    """How many values are estimated."""
    return sum(int(np.count_nonzero(~np.isnan(arm.ranges[metric][0]))) for arm in arms if metric in arm.ranges)


def families_of_all_runs(baseline: ArmTable, candidate: ArmTable) -> Families:
    """The family of every task, also of those whose runs are all excluded."""
    return {
        task: family or task
        for arm in (baseline, candidate)
        for runs in (arm.runs, arm.excluded)
        for task, family in last_by_task(runs, "family")
    }


Decide = Callable[[Sequence[GateSample]], Decision]
"""Applies the whole rule to changed gates."""


def could_be_turned(
    missing: MissingValues, gates: Sequence[GateSample], decision: Decision, decide: Decide
) -> str | None:
    """Which gates' missing or estimated values could change the decision, in words; None where they could not.

    A gain must survive all of them going against the candidate, and sameness must survive either way.
    """
    for against in (True,) if decision is Decision.IMPROVED else (True, False):
        filled = [missing.fill(gate, against=against) for gate in gates]
        turned = decide(filled)
        if turned is not decision:
            lacking = [place for place, gate in enumerate(gates) if missing.concerns(gate)]
            alone = [
                place
                for place in lacking
                if decide([*gates[:place], filled[place], *gates[place + 1 :]]) is not decision
            ]
            named = [gates[place] for place in alone or lacking]
            return _words(missing, named, decision, turned, against=against)
    return None


def _words(
    missing: MissingValues, gates: Sequence[GateSample], decision: Decision, turned: Decision, *, against: bool
) -> str:
    lacking, guessed = (
        " and ".join(f"{counts[gate.gated.name]} of {gate.gated.name}" for gate in gates if counts[gate.gated.name])
        for counts in (missing.counts, missing.estimated)
    )
    unsure = " and ".join(filter(None, (lacking and "missing", guessed and "estimated")))
    values = "; ".join(filter(None, (lacking and f"unknown: {lacking}", guessed and f"estimated: {guessed}")))
    return (
        f"{unsure} values could change the decision: {missing.expected} runs are expected, and these values are "
        f"{values}. If they were all {'bad' if against else 'good'} for the candidate, it would be "
        f"{turned.value}, not {decision.value}; run those trials again{', or supply the values' if lacking else ''}"
    )
