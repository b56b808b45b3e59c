"""Planned looks at many simulated experiments at once: when each ends, and how, as `planned_looks` has it.

What may still be reached is what the rule shows at other critical values: a statistic that, if the trend goes on, has a
given chance of being significant at the last look counts as significant.
"""

from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from outweigh.model.look_plan import LookPlan
from outweigh.stats.distributions import normal_quantile, normal_sf
from outweigh.verdict.decision import Decision
from outweigh.verdict.gate_tests_on_arrays import (
    Counts,
    CriticalValue,
    ExaminedGate,
    Flags,
    SimulatedGate,
    all_of,
    cut_to_tasks,
    t_critical_value,
)
from outweigh.verdict.planned_looks import IMPROVED_CHANCE, OTHER_CHANCE, look_rates
from outweigh.verdict.rule_on_arrays import (
    ExperimentMoments,
    SimulatedRule,
    claims_of,
    decide_by_moments,
    moments_of,
)


class EndedExperiments(Struct, frozen=True, kw_only=True, eq=False):
    """One flag per experiment for each decision, and the tasks that it took."""

    decided: Mapping[Decision, Flags]
    tasks: Counts


def decide_at_looks(gates: Sequence[SimulatedGate], plan: LookPlan, rule: SimulatedRule) -> EndedExperiments:
    """Look at every experiment until it is decided, or nothing is likely to be decided any more."""
    experiments = len(gates[0].benefits)
    decided = {decision: np.zeros(experiments, dtype=bool) for decision in Decision}
    tasks = np.full(experiments, plan.sizes[-1])
    going_on = np.arange(experiments)
    for look, size in enumerate(plan.sizes):
        seen = [_rows(cut_to_tasks(gate, size), going_on) for gate in gates]
        at_look = replace(rule, rates=look_rates(plan, look, rule.rates))
        moments = moments_of(seen, at_look)
        found = decide_by_moments(moments, at_look).decided
        last = size == plan.sizes[-1]
        ends = ~found[Decision.INCONCLUSIVE] | (last | _futile(moments, plan, look, rule))
        for decision, flags in found.items():
            decided[decision][going_on[ends & flags]] = True
        tasks[going_on[ends]] = size
        going_on = going_on[~ends]
        if not len(going_on):
            break
    return EndedExperiments(decided=decided, tasks=tasks)


def _rows(gate: SimulatedGate, rows: Counts) -> SimulatedGate:
    return SimulatedGate(
        limits=gate.limits,
        benefits=gate.benefits[rows],
        amounts=None if gate.amounts is None else (gate.amounts[0][rows], gate.amounts[1][rows]),
        passes=None if gate.passes is None else (gate.passes[0][rows], gate.passes[1][rows]),
        runs=gate.runs,
    )


def _futile(moments: ExperimentMoments, plan: LookPlan, look: int, rule: SimulatedRule) -> Flags:
    """Whether neither an improvement nor another decision is likely to be reached by the last look."""
    share, last = plan.fractions[look], look_rates(plan, len(plan.sizes) - 1, rule.rates)
    trend = ExperimentMoments(
        # Exact counts show no trend yet, and collapses are not foreseen.
        gates=[replace(gate, typical=replace(gate.typical, gains=None, losses=None)) for gate in moments.gates],
        together=moments.together,
    )
    gains = claims_of(trend, replace(rule, rates=last, critical=_reachable(share, IMPROVED_CHANCE)))
    others = claims_of(trend, replace(rule, rates=last, critical=_reachable(share, OTHER_CHANCE)))
    # The two sides of sameness cannot both go well: at best the effect ends just between them.
    middle = _reachable(share, 0.5)
    wide = all_of(
        (
            ExaminedGate(gate, middle, totals=rule.version > 1).margin_is_wide(last.non_inferiority)
            for gate in trend.gates
        ),
        len(moments.together.mean),
    )
    return ~(gains.improvement | others.worse | others.dearer | (others.same_on_all & wide))


def _reachable(share: float, chance: float) -> CriticalValue:
    """From where a statistic at this share of the tasks has the chance to be significant at the end.

    With z at the share t, z at the end is normal around z / √t with variance (1 − t) / t.
    """

    def critical(alpha: float, tasks: int) -> float:
        needed = -sqrt(share) * normal_quantile(alpha) + normal_quantile(chance) * sqrt(1 - share)
        return t_critical_value(normal_sf(needed), tasks)

    return critical
