"""Counting decisions over many draws of a world."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from calibration.cells import Readings, share_of
from calibration.worlds import Draw, World, draw
from outweigh.stats.hypothesis_tests import adjust_benjamini_hochberg
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule_v1 import ERROR_RATES_V1, apply_rule_v1
from outweigh.verdict.evidence_settings import ErrorRates
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


def rates(
    world: World, tasks: int, repeats: int, draws: int, seed: int, promised: ErrorRates = ERROR_RATES_V1
) -> Rates:
    """Decide many experiments of one world."""
    dice = np.random.default_rng(seed)
    decisions = Counter(decide(draw(world, tasks, repeats, dice), promised) for _ in range(draws))
    return Rates(
        world=world.name,
        tasks=tasks,
        repeats=repeats,
        draws=draws,
        shares={decision: number / draws for decision, number in decisions.items()},
    )


def decision_readings(
    world: World, tasks: int, repeats: int, with_cost: bool, unknown: tuple[str, ...], draws: int, seed: int
) -> Readings:
    """How often each decision is made, with cost as a gate and some gates unknown where asked for."""
    dice = np.random.default_rng(seed)
    decisions = Counter(
        decide(draw(world, tasks, repeats, dice), with_cost=with_cost, unknown=unknown) for _ in range(draws)
    )
    return {decision.value: share_of(decisions[decision], draws) for decision in Decision}


def decide(
    experiment: Draw,
    promised: ErrorRates = ERROR_RATES_V1,
    *,
    with_cost: bool = False,
    unknown: Collection[str] = (),
) -> Decision:
    """The evidence policy's decision, hard per-task drops included."""
    gates = experiment.gates(with_cost=with_cost, unknown=unknown)
    (finding,) = apply_rule_v1([[examine_gate(gate) for gate in gates]], promised)
    return Decision.REGRESSED if supported_drop(experiment) else finding.decision


def supported_drop(experiment: Draw) -> bool:
    """Whether a single task got worse beyond chance, which no gate has to agree with."""
    before, after = experiment.passes
    repeats = len(before)
    if repeats < MINIMUM_RUNS:
        return False
    p_values = [
        fisher_drop_p(repeats, int(b), repeats, int(a))
        for b, a in zip(before.sum(axis=0), after.sum(axis=0), strict=True)
    ]
    return bool((adjust_benjamini_hochberg(p_values) <= ERROR_RATES_V1.task_alarm).any())
