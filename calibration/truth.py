"""What is true in a world, computed and not simulated."""

from math import exp, hypot

import numpy as np

from calibration.worlds import World

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(200)


def pass_rates(world: World) -> tuple[float, float]:
    """The pass rates of baseline and candidate over all tasks that the world could offer."""
    before = mean_of_logistic(world.logit_mean, world.logit_deviation)
    after = mean_of_logistic(
        world.logit_mean + world.effect, hypot(world.logit_deviation, world.effect_deviation, world.family_deviation)
    )
    broken = 1 / (1 + exp(-world.lost_logit))
    return before, (1 - world.lost) * after + world.lost * broken


def pass_delta(world: World) -> float:
    """How much more often the candidate passes."""
    before, after = pass_rates(world)
    return after - before


def duration_ratio(world: World) -> float:
    """Geometric mean of the candidate's times over the baseline's."""
    return exp(world.log_time)


def cost_of_pass_ratio(world: World) -> float:
    """Mean cost per pass, candidate over baseline."""
    before, after = pass_rates(world)
    # Both arms' log costs scatter alike, so their means differ as their medians do.
    return exp((world.log_time + world.log_tokens) / 2 + world.log_cost) * before / after


def mean_of_logistic(mean: float, deviation: float) -> float:
    """Average the logistic curve over a normal law by Gauss-Hermite quadrature."""
    chances = 1 / (1 + np.exp(-(mean + deviation * _NODES)))
    return float(_WEIGHTS @ chances / _WEIGHTS.sum())
