"""Missing and estimated values: both arms again, with what nobody knows filled in against the candidate, or for it.

Missing are the values of runs lost to infrastructure, of runs that the other arm has and this one lacks, and of runs
that do not know the metric. A missing pass or judge score may be anything from 0 to 1. A missing amount lies between
the smallest and the largest that is known of its task in either arm, or of the suite where the task has none. An
estimated amount lies between the ends of its own range.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.run_columns import last_by_task
from outweigh.compare.task_alignment import same_tasks
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import COST_OF_PASS, WORTH
from outweigh.verdict.expected_runs import ExpectedRuns, Limits, expected_runs
from outweigh.verdict.gate_sample import Families, GateSample, sample_cost_of_pass, sample_gate, sample_worth
from outweigh.verdict.missing_limits import missing_limits

Arms = tuple[ArmTable, ArmTable]

_PARTS = {COST_OF_PASS: ("passed", "cost_usd"), WORTH: ("passed", "cost_usd")}


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
    arms = expected_runs(baseline, candidate)
    limits = {metric: missing_limits(arms, metric) for metric in metrics}
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
