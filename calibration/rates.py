"""Counting decisions over many draws of a world."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from msgspec.structs import replace

from calibration.cells import Readings, share_of
from calibration.worlds import Draw, World, draw
from outweigh.stats.hypothesis_tests import adjust_benjamini_hochberg
from outweigh.verdict.collapse import DROP_LEVEL, count_collapses
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule import apply_rule, examine_candidate
from outweigh.verdict.evidence_rule_v1 import ERROR_RATES_V1, apply_rule_v1
from outweigh.verdict.evidence_settings import ERROR_RATES, ErrorRates
from outweigh.verdict.gate_sample import GateSample
from outweigh.verdict.gate_test import examine_gate
from outweigh.verdict.gate_tests_on_arrays import SimulatedGate, limits_of
from outweigh.verdict.rule_on_arrays import decide_many
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
    decisions = _decisions(world, tasks, repeats, draws, seed, with_cost=False, unknown=())
    shares = {decision: number / draws for decision, number in decisions.items()}
    return Rates(world=world.name, tasks=tasks, repeats=repeats, draws=draws, shares=shares)


def rates_v1(world: World, tasks: int, repeats: int, draws: int, seed: int, promised: ErrorRates) -> Rates:
    """Decide the same experiments by version 1 of the rule."""
    experiments = _experiments(world, tasks, repeats, draws, seed)
    decisions = Counter(decide_v1(each, promised) for each in experiments)
    shares = {decision: number / draws for decision, number in decisions.items()}
    return Rates(world=world.name, tasks=tasks, repeats=repeats, draws=draws, shares=shares)


def decision_readings(
    world: World, tasks: int, repeats: int, with_cost: bool, unknown: tuple[str, ...], draws: int, seed: int
) -> Readings:
    """How often each decision is made, with cost as a gate and some gates unknown where asked for."""
    decisions = _decisions(world, tasks, repeats, draws, seed, with_cost=with_cost, unknown=unknown)
    return {decision.value: share_of(decisions[decision], draws) for decision in Decision}


def _decisions(
    world: World, tasks: int, repeats: int, draws: int, seed: int, *, with_cost: bool, unknown: Collection[str]
) -> Counter[Decision]:
    """Count decisions; all at once where the form of the rule for arrays can tell, else one by one."""
    experiments = _experiments(world, tasks, repeats, draws, seed)
    if world.family_size or unknown:
        return Counter(decide(each, with_cost=with_cost, unknown=unknown) for each in experiments)
    found: Counter[Decision] = Counter()
    while block := list(islice(experiments, _BLOCK)):
        found.update(decide_together(block, with_cost=with_cost))
    return found


def decide_together(experiments: Sequence[Draw], *, with_cost: bool = False) -> list[Decision]:
    """The decisions of `decide` about experiments of one size without families, by the rule's form for arrays."""
    gates = [
        _simulated_gate(samples, experiments)
        for samples in zip(*(each.gates(with_cost=with_cost) for each in experiments), strict=True)
    ]
    decided = decide_many(gates).decided
    return [next(decision for decision in Decision if decided[decision][place]) for place in range(len(experiments))]


_BLOCK = 200
_RUNS_OF = {"duration": "times", "non_cache_tokens": "tokens", "cost": "costs"}


def _simulated_gate(samples: Sequence[GateSample], experiments: Sequence[Draw]) -> SimulatedGate:
    """One gate of several experiments."""
    benefits, name = np.stack([sample.benefits for sample in samples]), samples[0].gated.name
    if name in _RUNS_OF:
        arms = [getattr(each, _RUNS_OF[name]) for each in experiments]
        before, after = (np.stack([np.exp(pair[arm]).mean(axis=0) for pair in arms]) for arm in (0, 1))
        return SimulatedGate(limits=limits_of(samples[0]), benefits=benefits, amounts=(before, after))
    lost, kept = (np.stack([each.passes[arm].sum(axis=0) for each in experiments]).astype(np.int64) for arm in (0, 1))
    runs = len(experiments[0].passes[0])
    return SimulatedGate(limits=limits_of(samples[0]), benefits=benefits, passes=(lost, kept), runs=runs)


def decide(experiment: Draw, *, with_cost: bool = False, unknown: Collection[str] = ()) -> Decision:
    """The evidence policy's decision, collapsed tasks included."""
    if collapse_alarm(experiment):
        return Decision.REGRESSED
    (finding,) = apply_rule([examine_candidate(experiment.gates(with_cost=with_cost, unknown=unknown))])
    return finding.decision


def decide_without_totals(experiment: Draw) -> Decision:
    """What the rule would say with cost as a gate if resources were judged by the typical run alone."""
    if collapse_alarm(experiment):
        return Decision.REGRESSED
    gates = [replace(gate, total=None) for gate in experiment.gates(with_cost=True)]
    (finding,) = apply_rule([examine_candidate(gates)])
    return finding.decision


def decide_v1(experiment: Draw, promised: ErrorRates = ERROR_RATES_V1, *, with_cost: bool = False) -> Decision:
    """The decision by version 1, hard drops of single tasks included."""
    (finding,) = apply_rule_v1([[examine_gate(gate) for gate in experiment.gates(with_cost=with_cost)]], promised)
    return Decision.REGRESSED if _drop_survives_correction(experiment) else finding.decision


def collapse_alarm(experiment: Draw, level: float = ERROR_RATES.task_alarm) -> bool:
    """Whether more tasks collapsed than chance explains, which no gate has to agree with."""
    # Most experiments have no such drop, and counting takes longer than deciding.
    if not any(p_value <= DROP_LEVEL for p_value in _drop_p_values(experiment)):
        return False
    before, after = ({str(task): runs for task, runs in enumerate(arm.T.tolist())} for arm in experiment.passes)
    return count_collapses(before, after).is_alarm(level)


def _drop_survives_correction(experiment: Draw) -> bool:
    if len(experiment.passes[0]) < MINIMUM_RUNS:
        return False
    return bool((adjust_benjamini_hochberg(_drop_p_values(experiment)) <= ERROR_RATES_V1.task_alarm).any())


def _drop_p_values(experiment: Draw) -> list[float]:
    """Exact p-values of "passes less often", one per task."""
    before, after = experiment.passes
    return [
        fisher_drop_p(len(before), int(first), len(after), int(second))
        for first, second in zip(before.sum(axis=0), after.sum(axis=0), strict=True)
    ]


def _experiments(world: World, tasks: int, repeats: int, draws: int, seed: int) -> Iterator[Draw]:
    dice = np.random.default_rng(seed)
    return (draw(world, tasks, repeats, dice) for _ in range(draws))
