"""Pass rates of tasks whose logits are normal: from the mean and the variance of the rates to those of the logits."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

WIDEST_LOGIT = 10.0
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
_NODE_WEIGHTS = _NODE_WEIGHTS / _NODE_WEIGHTS.sum()


def logistic(logits: Values) -> Values:
    """Chances from logits."""
    chances: Values = 1 / (1 + np.exp(-np.clip(logits, -60, 60)))
    return chances


def mean_of_logits(rates: Values, deviations: Values) -> Values:
    """The mean of normal logits with these deviations whose pass rate has these means, by bisection."""
    low, high = np.full_like(rates, -60.0), np.full_like(rates, 60.0)
    for _ in range(40):
        middle = (low + high) / 2
        too_low = logistic(middle[:, None] + deviations[:, None] * _NODES) @ _NODE_WEIGHTS < rates
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    return (low + high) / 2


def spread_of_logits(rates: Values, variances: Values) -> Values:
    """The deviation of normal logits whose pass rate has this mean and this variance."""

    def variance(deviations: Values) -> Values:
        chances = logistic(mean_of_logits(rates, deviations)[:, None] + deviations[:, None] * _NODES)
        return (chances - rates[:, None]) ** 2 @ _NODE_WEIGHTS

    return _bisect(variance, variances, WIDEST_LOGIT)


def spread_of_effects(rates: Values, deviations: Values, variances: Values) -> Values:
    """How much effects on the logit differ between tasks, where those on the pass rate have this variance."""
    means = mean_of_logits(rates, deviations)

    def variance(effects: Values) -> Values:
        return _effect_variances(means, deviations, effects)

    return _bisect(variance, variances, 2 * np.maximum(deviations, 0.05))


def _effect_variances(means: Values, deviations: Values, effects: Values) -> Values:
    kept = np.sqrt(np.maximum(deviations**2 - effects**2 / 4, 0.0))
    levels = (means[:, None] + kept[:, None] * _NODES)[:, :, None]
    halves = (effects[:, None] / 2 * _NODES)[:, None, :]
    variances: Values = ((logistic(levels + halves) - logistic(levels - halves)) ** 2 @ _NODE_WEIGHTS) @ _NODE_WEIGHTS
    return variances


def _bisect(function: Callable[[Values], Values], targets: Values, largest: float | Values) -> Values:
    """Where an increasing function reaches its targets, between 0 and the largest."""
    low, high = np.zeros_like(targets), np.zeros_like(targets) + largest
    for _ in range(14):
        middle = (low + high) / 2
        too_low = function(middle) < targets
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    return np.where(targets > 0, (low + high) / 2, 0.0)
