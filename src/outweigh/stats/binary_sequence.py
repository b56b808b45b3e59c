"""Evidence from passes and failures that may be looked at after every trial: e-values and a sequence for one rate.

Both compare the data under one probability with a beta mixture over all of them; the ratio is a martingale when that
probability is true, so it ever exceeds 1/alpha with probability alpha at most.
"""

import math
from collections.abc import Callable

from outweigh.stats.confidence_sequence import tune_normal_mixture
from outweigh.stats.estimate import Estimate, Interval, Significance, Unit

UNIFORM_PRIOR = 1.0
KRICHEVSKY_TROFIMOV_PRIOR = 0.5

_RATE_METHOD = "beta-binomial confidence sequence"


def weigh_discordant_pairs(wins: int, losses: int, prior: float = UNIFORM_PRIOR) -> Significance:
    """Return the e-value (as statistic) against "wins and losses are equally likely"; stop when it reaches 1/alpha.

    The p-value is min(1, 1/e) and stays valid however the moment of stopping was chosen.
    """
    _check_counts(wins, losses)
    log_e = log_beta_binomial_mixture(wins, losses, 0.5, prior, prior)
    return Significance(
        p_value=min(1.0, math.exp(-log_e)) if log_e > -700 else 1.0,
        statistic=math.exp(log_e) if log_e < 700 else math.inf,
        n=wins + losses,
        unit=Unit.PAIR,
        method="beta-binomial e-value of discordant pairs",
        warnings=() if wins + losses else ("no pair is discordant, so there is nothing to weigh",),
    )


def rate_confidence_sequence(successes: int, trials: int, planned_trials: int, level: float = 0.95) -> Estimate:
    """Estimate one success rate with an interval valid at every look, tightest near `planned_trials`."""
    _check_counts(successes, trials - successes)
    if trials == 0:
        return _rate_estimate(None, None, 0, ("a rate needs at least 1 trial",))
    threshold, strength = -math.log(1 - level), _prior_strength(planned_trials, 1 - level)
    point = successes / trials

    def is_refuted(rate: float) -> bool:
        prior_successes, prior_failures = strength * rate, strength * (1 - rate)
        log_e = log_beta_binomial_mixture(successes, trials - successes, rate, prior_successes, prior_failures)
        return log_e >= threshold

    low, high = _find_end(is_refuted, 0.0, point), _find_end(is_refuted, 1.0, point)
    interval = Interval(low=low, high=high, level=level, method=_RATE_METHOD)
    return _rate_estimate(point, interval, trials, ())


def log_beta_binomial_mixture(
    successes: float, failures: float, rate: float, prior_successes: float, prior_failures: float
) -> float:
    """Return the log ratio of the data's probability under a beta mixture of rates to that under one rate."""
    mixed = _log_beta(prior_successes + successes, prior_failures + failures)
    return mixed - _log_beta(prior_successes, prior_failures) - _log_likelihood(successes, failures, rate)


def _log_likelihood(successes: float, failures: float, rate: float) -> float:
    return successes * math.log(rate) + failures * math.log1p(-rate)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _prior_strength(planned_trials: int, alpha: float) -> float:
    """Return how many trials the prior weighs, which is centred at the rate under test."""
    return max(tune_normal_mixture(planned_trials, alpha) - 1, 1e-3)


def _find_end(is_refuted: Callable[[float], bool], edge: float, point: float) -> float:
    """Bisect between an edge of [0, 1] and the observed rate, which is never refuted; round towards the edge."""
    outside, inside = edge + math.copysign(1e-9, 0.5 - edge), point
    if abs(inside - outside) < 1e-8 or not is_refuted(outside):
        return edge
    while abs(inside - outside) > 1e-10:
        middle = (outside + inside) / 2
        outside, inside = (middle, inside) if is_refuted(middle) else (outside, middle)
    return outside


def _check_counts(first: int, second: int) -> None:
    if first < 0 or second < 0:
        raise ValueError(f"counts cannot be negative: {first} and {second}")


def _rate_estimate(point: float | None, interval: Interval | None, trials: int, warnings: tuple[str, ...]) -> Estimate:
    return Estimate(
        point=point,
        interval=interval,
        standard_error=None,
        n=trials,
        unit=Unit.RUN,
        method=_RATE_METHOD,
        warnings=warnings,
    )
