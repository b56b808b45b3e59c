"""How tasks and runs vary where there is no pilot: as in public records of agents, or as somebody states.

Three sets of parameters span what is known: one that is usual where the set-up of one agent changes, one with little
variation, and one with as much as between different agents.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from outweigh.stats.variance import VarianceComponents
from outweigh.verdict.evidence_settings import GATED_METRICS, JUDGE_SCORE, PASS_RATE, EffectScale
from outweigh.verdict.task_population import (
    GateVariation,
    RunPool,
    TaskPopulation,
    Values,
    spread_of_effects,
    spread_of_logits,
)

PASS_MEAN = 0.5
# Usual, little and much: the variance of a single run, and that of the tasks' true deltas.
PASS_RUNS = (0.10, 0.067, 0.067)
PASS_DELTAS = (0.01, 0.002, 0.115)
LOG_LEVEL = 0.5
LOG_RUNS = (0.16, 0.06, 0.36)
LOG_DELTAS = (0.045, 0.01, 0.2)
RESOURCE_CORRELATION = 0.6
POOL_SIZE = 600


def public_population(gates: Sequence[str], stated: Mapping[str, VarianceComponents] | None = None) -> TaskPopulation:
    """The public variation of these gates; where components are stated, those in all sets."""
    known = {} if stated is None else stated
    variations = [_stated(name, known[name]) if name in known else _public(name) for name in gates]
    correlations = _correlations(gates)
    pool = _normal_runs(gates, correlations)
    return TaskPopulation(
        gates=tuple(gates),
        variations=tuple(variations),
        correlations=np.kron(np.eye(2), correlations).astype(np.float64),
        pools=(pool, pool),
        tasks=0,
        repeats=0,
        separated=True,
    )


def _public(name: str) -> GateVariation:
    if name == PASS_RATE:
        return _passes(np.array(PASS_RUNS), np.array(PASS_DELTAS))
    # Scores of judges are between 0 and 1 like passes, and mostly vary less.
    runs, deltas = (PASS_RUNS, PASS_DELTAS) if name == JUDGE_SCORE else (LOG_RUNS, LOG_DELTAS)
    return _numbers(name, np.array(runs), np.array(runs), np.array(deltas))


def _stated(name: str, parts: VarianceComponents) -> GateVariation:
    deltas = np.full(3, parts.true_deltas or 0.0)
    before, after = np.full(3, parts.baseline_runs or 0.0), np.full(3, parts.candidate_runs or 0.0)
    return _passes((before + after) / 2, deltas) if name == PASS_RATE else _numbers(name, before, after, deltas)


def _passes(runs: Values, deltas: Values) -> GateVariation:
    means = np.full(3, PASS_MEAN)
    levels = np.maximum(PASS_MEAN * (1 - PASS_MEAN) - runs, deltas / 4)
    deviations = spread_of_logits(means, levels)
    effects = spread_of_effects(means, deviations, deltas)
    return GateVariation(
        baseline=means,
        candidate=means,
        level_deviation=np.sqrt(np.maximum(deviations**2 - effects**2 / 4, 0.0)),
        effect_deviation=effects,
        run_deviations=(np.zeros(3), np.zeros(3)),
    )


def _numbers(name: str, before: Values, after: Values, deltas: Values) -> GateVariation:
    ratio = GATED_METRICS[name].scale is EffectScale.RATIO
    return GateVariation(
        baseline=np.zeros(3),
        candidate=np.zeros(3),
        level_deviation=np.full(3, LOG_LEVEL if ratio else 0.0),
        effect_deviation=np.sqrt(deltas),
        run_deviations=(np.sqrt(before), np.sqrt(after)),
    )


def _correlations(gates: Sequence[str]) -> Values:
    """Resources go together: what takes longer mostly costs more."""
    resource = np.array([GATED_METRICS[name].scale is EffectScale.RATIO for name in gates], dtype=np.float64)
    found: Values = RESOURCE_CORRELATION * np.outer(resource, resource)
    np.fill_diagonal(found, 1.0)
    return found


def _normal_runs(gates: Sequence[str], correlations: Values) -> RunPool:
    random = np.random.default_rng(0)
    residuals = random.standard_normal((POOL_SIZE, len(gates))) @ np.linalg.cholesky(correlations).T
    residuals = (residuals - residuals.mean(axis=0)) / residuals.std(axis=0)
    return RunPool(
        residuals=residuals.astype(np.float32),
        start=np.zeros(POOL_SIZE, dtype=np.float32),
        width=np.ones(POOL_SIZE, dtype=np.float32),
        first=np.zeros(1, dtype=np.intp),
        size=np.full(1, POOL_SIZE),
    )
