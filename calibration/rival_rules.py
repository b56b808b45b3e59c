"""Rules that others decide by, restated from their documentation and applied to many experiments at once.

A rule answers +1 (improved), −1 (regressed) or 0 for each experiment.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import lgamma

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibration.worlds import Draw
from outweigh.score.composite import OBJECTIVE_FIRST
from outweigh.stats.distributions import normal_cdf, normal_quantile
from outweigh.stats.estimate import Alternative, Unit
from outweigh.stats.hypothesis_tests import mcnemar_exact
from outweigh.verdict.composite_policy import DECIMALS, CompositeThresholds
from outweigh.verdict.evidence_settings import GATED_METRICS

ALPHA = 0.05
RESAMPLES = 2_000
Answers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """Several experiments of one size: experiments × runs × tasks for both arms, with resources as amounts."""

    passes: tuple[Floats, Floats]
    times: tuple[Floats, Floats]
    tokens: tuple[Floats, Floats]
    costs: tuple[Floats, Floats]


def batch(experiments: Sequence[Draw]) -> Batch:
    """Stack experiments."""
    return Batch(
        passes=_stacked([each.passes for each in experiments]),
        times=_amounts([each.times for each in experiments]),
        tokens=_amounts([each.tokens for each in experiments]),
        costs=_amounts([each.costs for each in experiments]),
    )


def by_delta(many: Batch) -> Answers:
    """Whatever passes more often is better."""
    before, after = (arm.mean(axis=(1, 2)) for arm in many.passes)
    return _answers(after > before, after < before)


def by_pooled_fisher(many: Batch) -> Answers:
    """Fisher's exact test, two-sided at 5 %, with all runs of an arm in one bag."""
    runs = many.passes[0][0].size
    before, after = (arm.sum(axis=(1, 2)).astype(int) for arm in many.passes)
    different = np.array(
        [fisher_two_sided(runs, *passes) <= ALPHA for passes in zip(before.tolist(), after.tolist(), strict=True)]
    )
    return _answers(different & (after > before), different & (after < before))


def by_mcnemar(many: Batch) -> Answers:
    """McNemar's exact test, two-sided at 5 %, on pairs of runs with the same task and repeat."""
    before, after = many.passes
    wins, losses = (after > before).sum(axis=(1, 2)), (after < before).sum(axis=(1, 2))
    different = np.array([_mcnemar(*counts) <= ALPHA for counts in zip(wins.tolist(), losses.tolist(), strict=True)])
    return _answers(different & (wins > losses), different & (wins < losses))


def by_bootstrap(many: Batch) -> Answers:
    """Bias-corrected and accelerated bootstrap over tasks, with the margins of the evidence policy.

    Improved where every 95 % interval stays above minus its margin and one lies above 0; regressed where one lies below
    minus its margin, or the pass rate's below 0. Resources are ratios of means.
    """
    intervals = [
        (*_bca_of_delta(*(arm.mean(axis=1) for arm in many.passes)), _limit("pass_rate"), 0.0),
        *(
            (*_bca_of_saving(*(arm.mean(axis=1) for arm in arms)), _limit(name), _limit(name))
            for name, arms in (("duration", many.times), ("non_cache_tokens", many.tokens), ("cost", many.costs))
        ),
    ]
    no_worse = np.all([low > -margin for low, _, margin, _ in intervals], axis=0)
    better = np.any([low > 0 for low, _, _, _ in intervals], axis=0)
    worse = np.any([high < -harm for _, high, _, harm in intervals], axis=0)
    return _answers(no_worse & better & ~worse, worse)


def by_gates(many: Batch) -> Answers:
    """Policy `gates`: no worse in pass rate, median duration and median tokens; regressed when all three are worse."""
    worse = np.array(
        [
            many.passes[1].mean(axis=(1, 2)) < many.passes[0].mean(axis=(1, 2)),
            *(np.median(arms[1], axis=(1, 2)) > np.median(arms[0], axis=(1, 2)) for arms in (many.times, many.tokens)),
        ]
    )
    return _answers(~worse.any(axis=0), worse.all(axis=0))


def by_composite(many: Batch) -> Answers:
    """Policy `composite` with its defaults; passing is the only check, and time and tokens are the signals of cost."""
    thresholds = CompositeThresholds()
    before, after = many.passes
    ratios = [arms[1] / arms[0].mean(axis=1, keepdims=True) for arms in (many.tokens, many.times)]
    bonus = OBJECTIVE_FIRST.cost_weight * np.clip(1 - np.mean(ratios, axis=0), -1, 1)
    deltas = np.round(np.clip(after + bonus, 0, 1).mean(axis=1) - before.mean(axis=1), DECIMALS)
    drops = np.round(after.mean(axis=1) - before.mean(axis=1), DECIMALS) < 0
    regressed = ((deltas < -thresholds.regression_composite_drop) | drops).any(axis=1)
    return _answers(~regressed & (deltas.sum(axis=1) > thresholds.min_composite_gain), regressed)


RIVAL_RULES: dict[str, Callable[[Batch], Answers]] = {
    "delta > 0": by_delta,
    "pooled Fisher": by_pooled_fisher,
    "McNemar on runs": by_mcnemar,
    "BCa with margins": by_bootstrap,
    "`gates`": by_gates,
    "`composite`": by_composite,
}


@cache
def fisher_two_sided(runs: int, passes_before: int, passes_after: int) -> float:
    """Chance of a table that is as unlikely as this one or more so, with as many runs in both arms."""
    passes = passes_before + passes_after
    hits = range(max(0, passes - runs), min(runs, passes) + 1)
    logs = np.array([_log_choose(runs, hit) + _log_choose(runs, passes - hit) for hit in hits])
    chances = np.exp(logs - _log_choose(2 * runs, passes))
    own = chances[passes_after - hits.start]
    return float(min(1.0, chances[chances <= own * (1 + 1e-7)].sum()))


@cache
def _mcnemar(wins: int, losses: int) -> float:
    p_value = mcnemar_exact(wins, losses, alternative=Alternative.TWO_SIDED, unit=Unit.PAIR).p_value
    return 1.0 if p_value is None else p_value


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _bca_of_delta(before: Floats, after: Floats) -> tuple[Floats, Floats]:
    """Interval of the mean delta of every experiment."""
    deltas = after - before
    tasks = deltas.shape[1]
    jackknife = (deltas.sum(axis=1, keepdims=True) - deltas) / (tasks - 1)
    return bca_interval(deltas @ _weights(tasks).T, deltas.mean(axis=1), jackknife)


def _bca_of_saving(before: Floats, after: Floats) -> tuple[Floats, Floats]:
    """Interval of minus the log ratio of means of every experiment."""
    weights, sums = _weights(before.shape[1]).T, [arm.sum(axis=1, keepdims=True) for arm in (before, after)]
    resampled = np.log((before @ weights) / (after @ weights))
    jackknife = np.log((sums[0] - before) / (sums[1] - after))
    return bca_interval(resampled, np.log(sums[0] / sums[1])[:, 0], jackknife)


def bca_interval(resampled: Floats, points: Floats, jackknife: Floats) -> tuple[Floats, Floats]:
    """Ends of the 95 % interval of every row: resamples, its point, and its values with one task left out."""
    ordered = np.sort(resampled, axis=1)
    rows, draws = ordered.shape
    below = (resampled < points[:, None]).mean(axis=1) + (resampled == points[:, None]).mean(axis=1) / 2
    bias = np.array([normal_quantile(min(max(share, 0.5 / draws), 1 - 0.5 / draws)) for share in below.tolist()])
    pulls = jackknife.mean(axis=1, keepdims=True) - jackknife
    spread = (pulls**2).sum(axis=1)
    # Where all tasks are alike there is nothing but rounding, and nothing to correct.
    acceleration = (pulls**3).sum(axis=1) / (6 * np.maximum(spread, 1e-24) ** 1.5)
    ends = []
    for z in (normal_quantile(ALPHA / 2), normal_quantile(1 - ALPHA / 2)):
        shifted = bias + (bias + z) / (1 - acceleration * (bias + z))
        ranks = np.array([round(normal_cdf(value) * (draws - 1)) for value in shifted.tolist()])
        ends.append(ordered[np.arange(rows), ranks])
    return ends[0], ends[1]


@cache
def _weights(tasks: int) -> Floats:
    """Shares of the tasks in every resample, the same for all experiments and metrics."""
    counts = np.random.default_rng(tasks).multinomial(tasks, np.full(tasks, 1 / tasks), RESAMPLES)
    shares: Floats = counts / tasks
    return shares


def _limit(name: str) -> float:
    gated = GATED_METRICS[name]
    return gated.on_scale(gated.margin)


def _answers(improved: ArrayLike, regressed: ArrayLike) -> Answers:
    return np.asarray(improved, dtype=np.int64) - np.asarray(regressed, dtype=np.int64)


def _stacked(arms: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    return np.stack([before for before, _ in arms]), np.stack([after for _, after in arms])


def _amounts(logs: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    before, after = _stacked(logs)
    return np.exp(before), np.exp(after)
