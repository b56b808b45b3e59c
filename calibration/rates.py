"""Counting decisions over many draws of a world."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibration.cells import Readings, share_of
from calibration.worlds import Draw, World, draw
from outweigh.stats.hypothesis_tests import adjust_benjamini_hochberg
from outweigh.verdict.collapse import DROP_LEVEL, count_collapses
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule import apply_rule, examine_candidate
from outweigh.verdict.evidence_rule_v1 import ERROR_RATES_V1, apply_rule_v1
from outweigh.verdict.evidence_settings import ERROR_RATES, ErrorRates
from outweigh.verdict.gate_test import examine_gate
from outweigh.verdict.task_drops import MINIMUM_RUNS, fisher_drop_p


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """How often each decision was made."""

    world: str
    tasks: int
    repeats: int
    draws: int
    shares: dict[Decision, float]

    def of(self, decision: Decision) -> float:
        """The share of one decision."""
        return self.shares.get(decision, 0.0)


def rates(world: World, tasks: int, repeats: int, draws: int, seed: int) -> Rates:
    """Decide many experiments of one world."""
    return _rates(world, tasks, repeats, [decide(each) for each in _experiments(world, tasks, repeats, draws, seed)])


def rates_v1(world: World, tasks: int, repeats: int, draws: int, seed: int, promised: ErrorRates) -> Rates:
    """Decide the same experiments by version 1 of the rule."""
    experiments = _experiments(world, tasks, repeats, draws, seed)
    return _rates(world, tasks, repeats, [decide_v1(each, promised) for each in experiments])


def decision_readings(
    world: World, tasks: int, repeats: int, with_cost: bool, unknown: tuple[str, ...], draws: int, seed: int
) -> Readings:
    """How often each decision is made, with cost as a gate and some gates unknown where asked for."""
    decisions = Counter(
        decide(each, with_cost=with_cost, unknown=unknown) for each in _experiments(world, tasks, repeats, draws, seed)
    )
    return {decision.value: share_of(decisions[decision], draws) for decision in Decision}


def decide(experiment: Draw, *, with_cost: bool = False, unknown: Collection[str] = ()) -> Decision:
    """The evidence policy's decision, collapsed tasks included."""
    if collapse_rings(experiment):
        return Decision.REGRESSED
    (finding,) = apply_rule([examine_candidate(experiment.gates(with_cost=with_cost, unknown=unknown))])
    return finding.decision


def decide_without_totals(experiment: Draw) -> Decision:
    """What the rule would say with cost as a gate if resources were judged by the typical run alone."""
    if collapse_rings(experiment):
        return Decision.REGRESSED
    gates = [replace(gate, total=None) for gate in experiment.gates(with_cost=True)]
    (finding,) = apply_rule([examine_candidate(gates)])
    return finding.decision


def decide_v1(experiment: Draw, promised: ErrorRates = ERROR_RATES_V1, *, with_cost: bool = False) -> Decision:
    """The decision by version 1, hard drops of single tasks included."""
    (finding,) = apply_rule_v1([[examine_gate(gate) for gate in experiment.gates(with_cost=with_cost)]], promised)
    return Decision.REGRESSED if _drop_survives_correction(experiment) else finding.decision


def collapse_rings(experiment: Draw, level: float = ERROR_RATES.task_alarm) -> bool:
    """Whether more tasks collapsed than chance explains, which no gate has to agree with."""
    # Most experiments have no such drop, and counting takes longer than deciding.
    if not any(p_value <= DROP_LEVEL for p_value in _drop_p_values(experiment)):
        return False
    before, after = ({str(task): runs for task, runs in enumerate(arm.T.tolist())} for arm in experiment.passes)
    return count_collapses(before, after).rings(level)


def _drop_survives_correction(experiment: Draw) -> bool:
    if len(experiment.passes[0]) < MINIMUM_RUNS:
        return False
    return bool((adjust_benjamini_hochberg(_drop_p_values(experiment)) <= ERROR_RATES_V1.task_alarm).any())


def _drop_p_values(experiment: Draw) -> list[float]:
    """Exact p-values of "passes less often", one per task."""
    before, after = experiment.passes
    repeats = len(before)
    return [
        fisher_drop_p(repeats, int(first), repeats, int(second))
        for first, second in zip(before.sum(axis=0), after.sum(axis=0), strict=True)
    ]


def _experiments(world: World, tasks: int, repeats: int, draws: int, seed: int) -> Iterator[Draw]:
    dice = np.random.default_rng(seed)
    return (draw(world, tasks, repeats, dice) for _ in range(draws))


def _rates(world: World, tasks: int, repeats: int, decisions: Sequence[Decision]) -> Rates:
    shares = {decision: number / len(decisions) for decision, number in Counter(decisions).items()}
    return Rates(world=world.name, tasks=tasks, repeats=repeats, draws=len(decisions), shares=shares)
