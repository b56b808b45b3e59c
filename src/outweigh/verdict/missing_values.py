"""Missing and estimated values: both arms again, with what nobody knows filled in against the candidate, or for it.

Missing are the values of runs lost to infrastructure, of runs that the other arm has and this one lacks, and of runs
that do not know the metric. A missing pass or judge score may be anything from 0 to 1. A missing amount lies between
the smallest and the largest that is known of its task in either arm, or of the suite where the task has none. An
estimated amount lies between the ends of its own range.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

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
Limits = Mapping[str, tuple[Column, Column]]
"""For every metric the smallest and the largest value that a missing one can have, task by task."""

_PARTS = {COST_OF_PASS: ("passed", "cost_usd"), WORTH: ("passed", "cost_usd")}
_RATES = {gated.metric for gated in GATED_METRICS.values() if gated.scale is EffectScale.POINTS}


class ExpectedRuns(Struct, frozen=True, kw_only=True, eq=False):
    """One arm over all tasks that either arm has a record of, and how many runs of each there should be.

    `places` says where the tasks of the arm are among all; they may lack some.
    """

    arm: ArmTable
    tasks: tuple[str, ...]
    places: Index
    runs: Index

    def known(self, metric: str) -> TaskSums:
        """The sums of what is known."""
        return self._over_all(self.arm.sums(metric))

    def filled(self, metrics: Sequence[str], limits: Limits, *, worst: bool) -> ArmTable:
        """The arm with its missing passes failed and its missing amounts at their largest, or the other way round."""
        # A failed run is worst among rates, and the largest amount among resources.
        ends = {metric: limits[metric][0 if (metric in _RATES) is worst else 1] for metric in metrics}
        return replace(
            self.arm,
            tasks=self.tasks,
            owners=lambda: np.concatenate([self.places[self.arm.task_of], self._absent]),
            rows=None,
            parts=(),
            kept={},
            added={metric: partial(self._filled_sums, metric, end, worst) for metric, end in ends.items()},
            columns=Computed(
                {metric: partial(self._filled_column, metric, end, worst) for metric, end in ends.items()}, keep=False
            ),
        )

    @property
    def _absent(self) -> Index:
        """The tasks of the runs of which there is no record that counts."""
        recorded = np.bincount(self.places, self.arm.runs_per_task(), len(self.tasks)).astype(np.intp)
        return np.repeat(np.arange(len(self.tasks)), self.runs - recorded)

    def _over_all(self, sums: TaskSums) -> TaskSums:
        if len(self.places) == len(self.tasks) and self.arm.tasks is self.tasks:
            return sums
        counts, amounts = np.zeros(len(self.tasks), dtype=np.intp), np.zeros(len(self.tasks))
        counts[self.places], amounts[self.places] = sums.counts, sums.sums
        return TaskSums(counts=counts, sums=amounts)

    def _filled_sums(self, metric: str, end: Column, worst: bool, logs: bool) -> TaskSums:
        sums = self._over_all(
            self.arm.sums_of(
                f"{metric} {worst} {logs}",
                lambda part: _log(_with_ends(part, metric, worst)) if logs else _with_ends(part, metric, worst),
            )
            if metric in self.arm.ranges
            else self.arm.sums(metric, logs=logs)
        )
        lacking = np.where(np.isnan(end), 0, self.runs - sums.counts)
        some = np.flatnonzero(lacking)
        found = sums.sums.copy()
        found[some] += lacking[some] * (_log(end[some]) if logs else end[some])
        return TaskSums(counts=sums.counts + lacking, sums=found)

    def _filled_column(self, metric: str, end: Column, worst: bool) -> Column:
        column = _with_ends(self.arm, metric, worst)
        return np.concatenate(
            [np.where(np.isnan(column), end[self.places[self.arm.task_of]], column), end[self._absent]]
        )


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
    limits: Limits
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
    lacking = {metric: sum(_missing(arm, metric, limits[metric][0]) for arm in arms) for metric in metrics}
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
        expected=sum(int(arm.runs.sum()) for arm in arms),
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
    places = [places_among(arm.tasks, tasks) for arm in arms]
    excluded = [arm.lost_per_task(tasks) for arm in arms]
    counted = [
        np.bincount(own, arm.runs_per_task(), len(tasks)).astype(np.intp) for arm, own in zip(arms, places, strict=True)
    ]
    recorded = [
        own + gone + counts_by_place(tasks, stale) for own, gone, stale in zip(counted, excluded, aside, strict=True)
    ]
    # What one arm has of a task and the other lacks may have been lost, or picked: nobody can tell.
    absent = [np.maximum(recorded[1 - place] - recorded[place], 0) for place in range(2)]
    before, after = (
        ExpectedRuns(arm=arm, tasks=tasks, places=own, runs=runs + gone + never)
        for arm, own, runs, gone, never in zip(arms, places, counted, excluded, absent, strict=True)
    )
    return before, after


def _limits(arms: tuple[ExpectedRuns, ExpectedRuns], metric: str) -> tuple[Column, Column]:
    """The smallest and the largest that a missing value of each task can be."""
    tasks = len(arms[0].tasks)
    if metric in _RATES:
        # A task without checks, or without judges, has nothing that a run could know.
        asked = np.logical_or(*(arm.known(metric).counts > 0 for arm in arms))
        return np.where(asked, 0.0, np.nan), np.where(asked, 1.0, np.nan)
    low, high = np.full(tasks, np.inf), np.full(tasks, -np.inf)
    for expected in arms:
        found = expected.arm.each_part(partial(_extremes, metric=metric))
        lows, highs = (np.concatenate([part[side] for part in found]) for side in range(2))
        low[expected.places] = np.minimum(low[expected.places], lows)
        high[expected.places] = np.maximum(high[expected.places], highs)
    some, more = high > -np.inf, high > 0
    least, most = low[more].min(initial=np.inf), high[more].max(initial=-np.inf)
    if not more.any():
        return np.where(some, 0.0, np.nan), np.where(some, 0.0, np.nan)
    return np.where(more, low, np.where(some, 0.0, least)), np.where(some, high, most)


def _extremes(arm: ArmTable, *, metric: str) -> tuple[Column, Column]:
    """The least amount of each task that is not zero, which has no logarithm, and the largest of all."""
    column = arm.columns[metric]
    if arm.rows is not None and len(column) and column.min() > 0:  # false where one is unknown
        starts = np.cumsum(arm.rows) - arm.rows
        return np.minimum.reduceat(column, starts), np.maximum.reduceat(column, starts)
    known = ~np.isnan(column)
    values, owners = column[known], arm.task_of[known]
    low, high = np.full(len(arm.tasks), np.inf), np.full(len(arm.tasks), -np.inf)
    np.minimum.at(low, owners[values > 0], values[values > 0])
    np.maximum.at(high, owners, values)
    return low, high


def _missing(arm: ExpectedRuns, metric: str, limit: Column) -> int:
    """How many values are unknown of those that somebody could know."""
    return int((arm.runs - arm.known(metric).counts)[~np.isnan(limit)].sum())


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
