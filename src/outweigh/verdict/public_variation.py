"""How tasks and runs vary where there is no pilot: as in public records of agents, or as somebody states.

Three populations span what is known: one that is usual where the set-up of one agent changes, one with little
variation, and one with as much as between different agents.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from outweigh.stats.logit_normal import spread_of_effects, spread_of_logits
from outweigh.stats.variance import VarianceComponents
from outweigh.verdict.evidence_settings import GATED_METRICS, JUDGE_SCORE, PASS_RATE, EffectScale
from outweigh.verdict.possible_populations import PossiblePopulations
from outweigh.verdict.run_scatter import RunScatter
from outweigh.verdict.task_population import GateVariation, TaskPopulation

Values = NDArray[np.float64]

PASS_MEAN = 0.5
# Usual, little and much: the variance of a single run, and that of the tasks' true deltas.
PASS_RUNS = (0.10, 0.067, 0.067)
PASS_DELTAS = (0.01, 0.002, 0.115)
LOG_LEVEL = 0.5
LOG_RUNS = (0.16, 0.06, 0.36)
LOG_DELTAS = (0.045, 0.01, 0.2)
RESOURCE_CORRELATION = 0.6
POOL_SIZE = 600


def public_populations(
    gates: Sequence[str], stated: Mapping[str, VarianceComponents] | None = None
) -> PossiblePopulations:
    """The public variation of these gates; where components are stated, those in all of them."""
    known = {} if stated is None else stated
    correlations = _correlations(gates)
    residuals = _normal_runs(gates, correlations)
    usual, *bounds = (_population(gates, known, place, correlations, residuals) for place in range(len(PASS_RUNS)))
    return PossiblePopulations(estimate=usual, others=tuple(bounds), refitted=False)


def _population(
    gates: Sequence[str],
    stated: Mapping[str, VarianceComponents],
    place: int,
    correlations: Values,
    residuals: NDArray[np.float32],
) -> TaskPopulation:
    parts = [_parts(name, stated.get(name), place) for name in gates]
    deviations = np.array([[before, after] for _, before, after in parts]).T
    nothing = np.zeros(len(gates))
    return TaskPopulation(
        gates=tuple(gates),
        variations=tuple(
            _passes((before**2 + after**2) / 2, deltas) if name == PASS_RATE else _numbers(name, deltas)
            for name, (deltas, before, after) in zip(gates, parts, strict=True)
        ),
        correlations=np.kron(np.eye(2), correlations).astype(np.float64),
        scatter=RunScatter(passing=nothing, deviations=deviations, uneven=nothing, residuals=(residuals, residuals)),
        tasks=0,
        repeats=0,
        separated=True,
    )


def _parts(name: str, stated: VarianceComponents | None, place: int) -> tuple[float, float, float]:
    """The variance of a gate's true deltas, and the deviations of single runs in both arms."""
    if stated is not None:
        variances = stated.baseline_runs or 0.0, stated.candidate_runs or 0.0
        return stated.true_deltas or 0.0, float(np.sqrt(variances[0])), float(np.sqrt(variances[1]))
    # Scores of judges are between 0 and 1 like passes, and mostly vary less.
    rates = name in (PASS_RATE, JUDGE_SCORE)
    runs, deltas = (PASS_RUNS, PASS_DELTAS) if rates else (LOG_RUNS, LOG_DELTAS)
    deviation = float(np.sqrt(runs[place]))
    return deltas[place], deviation, deviation


def _passes(runs: float, deltas: float) -> GateVariation:
    mean, variance = np.array([PASS_MEAN]), np.array([deltas])
    levels = np.maximum(PASS_MEAN * (1 - PASS_MEAN) - np.array([runs]), variance / 4)
    deviation = spread_of_logits(mean, levels)
    effect = float(spread_of_effects(mean, deviation, variance)[0])
    return GateVariation(
        baseline=PASS_MEAN,
        candidate=PASS_MEAN,
        level_deviation=float(np.sqrt(max(float(deviation[0]) ** 2 - effect**2 / 4, 0.0))),
        effect_deviation=effect,
    )


def _numbers(name: str, deltas: float) -> GateVariation:
    ratio = GATED_METRICS[name].scale is EffectScale.RATIO
    return GateVariation(
        baseline=0.0,
        candidate=0.0,
        level_deviation=LOG_LEVEL if ratio else 0.0,
        effect_deviation=float(np.sqrt(deltas)),
    )


def _correlations(gates: Sequence[str]) -> Values:
    """Resources go together: what takes longer mostly costs more."""
    resource = np.array([GATED_METRICS[name].scale is EffectScale.RATIO for name in gates], dtype=np.float64)
    found: Values = RESOURCE_CORRELATION * np.outer(resource, resource)
    np.fill_diagonal(found, 1.0)
    return found


def _normal_runs(gates: Sequence[str], correlations: Values) -> NDArray[np.float32]:
    random = np.random.default_rng(0)
    residuals = random.standard_normal((POOL_SIZE, len(gates))) @ np.linalg.cholesky(correlations).T
    residuals = (residuals - residuals.mean(axis=0)) / residuals.std(axis=0)
    found: NDArray[np.float32] = residuals.astype(np.float32)
    return found
