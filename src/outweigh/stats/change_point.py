"""At which of several ordered steps did pass rates fall? The posterior over steps, from passes by step and task.

The model: before the change every task passes as often as at the first step, and from the change on as often as at the
last one. An unknown share of the tasks is affected, by an unknown amount, and most of those fall; the others keep their
rate. Rates have Jeffreys' prior, and all that is unknown is integrated out on a grid of log odds. Which runs were made
may depend on earlier results: the posterior depends on outcomes only. That there is one change is assumed, and
`weigh_two_changes` tests it.
"""

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LOG_ODDS: Floats = np.arange(-5.0, 5.25, 0.5)
"""The pass rates that are considered, from 0.7 % to 99.3 %, as log odds."""
SHARES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 0.95)
"""Shares of affected tasks, all equally likely beforehand."""
FALLS = (0.7, 1.5, 3.0, 5.0)
"""By how much the log odds of an affected task fall on average, all equally likely beforehand."""
SCATTER = 0.5
"""How far affected tasks scatter around that fall, as a part of it."""
AGAINST = 0.02
"""Of the affected tasks, the part that moves against the others."""
PRIOR_SAME, PRIOR_WORSE, PRIOR_BETTER = 0.5, 0.25, 0.25

RATES: Floats = 1 / (1 + np.exp(-LOG_ODDS))
_PRIOR: Floats = np.sqrt(RATES * (1 - RATES)) / np.sqrt(RATES * (1 - RATES)).sum()
"""Jeffreys' prior, Beta(1/2, 1/2), as weights of points that are evenly spaced in log odds."""


def _moves(fall: float) -> Floats:
    """The weights of (rate before, rate after) for an affected task, by the usual fall; below 0 it is a rise.

    The middle of both has Jeffreys' prior, so that outcomes that are the same on both sides never speak for a change.
    """
    shifts = LOG_ODDS[None, :] - LOG_ODDS[:, None]
    middles = 1 / (1 + np.exp(-(LOG_ODDS[None, :] + LOG_ODDS[:, None]) / 2))
    ways = (np.exp(-0.5 * ((shifts + way * fall) / (SCATTER * fall)) ** 2) for way in (1, -1))
    falls, rises = (each / each.sum() for each in (np.sqrt(middles * (1 - middles)) * way for way in ways))
    moves: Floats = (1 - AGAINST) * falls + AGAINST * rises
    return moves


_WORSE: Floats = np.stack([_moves(fall) for fall in FALLS])
_BETTER: Floats = np.stack([_moves(-fall) for fall in FALLS])


class ChangePosterior(Struct, frozen=True, kw_only=True, eq=False):
    """What is believed about the change: `steps[i]` is the probability that step i + 1 made it worse.

    `same` is the probability that nothing changed, and `better` that a step made it better; with `steps` they sum to
    1. `before` and `after` are the expected pass rates of each task on either side of a change to the worse.
    """

    steps: Floats
    same: float
    better: float
    before: Floats
    after: Floats

    @property
    def worse(self) -> float:
        """The probability that some step made it worse."""
        return float(self.steps.sum())

    @property
    def best(self) -> int:
        """The step, from 1, that is most likely the one."""
        return int(np.argmax(self.steps)) + 1


class TwoChanges(Struct, frozen=True, kw_only=True):
    """The evidence for two changes against one, a Bayes factor, and the two steps that explain the outcomes best."""

    evidence: float
    steps: tuple[int, int]


def find_change(passes: ArrayLike, runs: ArrayLike) -> ChangePosterior:
    """The posterior from counts of passes and runs, steps × tasks; the first row is the step before any change."""
    outcomes = _Outcomes.of(passes, runs)
    falling, rising = outcomes.changes(_WORSE), outcomes.changes(_BETTER)
    worse = outcomes.log_evidence(falling)
    parts = np.concatenate(
        [
            np.log(PRIOR_WORSE / len(worse)) + _log_mean_exp(worse),
            [np.log(PRIOR_SAME) + float(outcomes.same.sum())],
            [np.log(PRIOR_BETTER) + float(_log_mean_exp(_log_mean_exp(outcomes.log_evidence(rising))))],
        ]
    )
    weights = np.exp(parts - parts.max())
    weights /= weights.sum()
    before, after = outcomes.expected_rates(falling, worse)
    return ChangePosterior(
        steps=weights[:-2], same=float(weights[-2]), better=float(weights[-1]), before=before, after=after
    )


def weigh_two_changes(passes: ArrayLike, runs: ArrayLike) -> TwoChanges | None:
    """Whether the affected tasks fell at two steps, some at each; None where there is only one step."""
    outcomes = _Outcomes.of(passes, runs)
    falling = outcomes.changes(_WORSE)
    pairs = [(first, second) for second in range(falling.shape[1]) for first in range(second)]
    if not pairs:
        return None
    either = np.stack(
        [np.logaddexp(falling[:, first], falling[:, second]) - np.log(2) for first, second in pairs], axis=1
    )
    logs = _log_mean_exp(outcomes.log_evidence(either))
    ratio = float(_log_mean_exp(logs)) - float(_log_mean_exp(_log_mean_exp(outcomes.log_evidence(falling))))
    first, second = pairs[int(np.argmax(logs))]
    return TwoChanges(evidence=float(np.exp(min(700.0, ratio))), steps=(first + 1, second + 1))


def expected_information(prior: float, if_true: Floats, if_false: Floats) -> Floats:
    """What one run is expected to tell about a yes-or-no question, in nats, from its pass rates in both cases."""
    told: Floats = (
        _entropy(prior * if_true + (1 - prior) * if_false)
        - prior * _entropy(if_true)
        - (1 - prior) * _entropy(if_false)
    )
    return np.maximum(told, 0.0)


class _Outcomes(Struct, frozen=True, kw_only=True, eq=False):
    """Likelihoods of the outcomes at every rate: `left` and `right` of each step, steps × tasks × rates.

    Each is a share of its highest value, whose logarithm is in `peaks`. `same` are log likelihoods of one rate
    throughout, and `same_rates` the rates that are expected then.
    """

    left: Floats
    right: Floats
    peaks: Floats
    same: Floats
    same_rates: Floats

    @classmethod
    def of(cls, passes: ArrayLike, runs: ArrayLike) -> "_Outcomes":
        passed, made = np.asarray(passes, dtype=np.float64), np.asarray(runs, dtype=np.float64)
        if passed.ndim != 2 or passed.shape != made.shape or len(passed) < 2 or passed.shape[1] < 1:
            raise ValueError("counts are two tables of steps × tasks, with two steps or more")
        if (passed < 0).any() or (passed > made).any():
            raise ValueError("passes are between 0 and the runs")
        failed = made - passed
        left = _likelihoods(np.cumsum(passed, axis=0)[:-1], np.cumsum(failed, axis=0)[:-1])
        right = _likelihoods(*(np.cumsum(counts[::-1], axis=0)[::-1][1:] for counts in (passed, failed)))
        whole, peak = _likelihoods(passed.sum(axis=0), failed.sum(axis=0))
        return cls(
            left=left[0],
            right=right[0],
            peaks=left[1] + right[1],
            same=np.log(whole @ _PRIOR) + peak,
            same_rates=(whole * RATES) @ _PRIOR / (whole @ _PRIOR),
        )

    def changes(self, moves: Floats) -> Floats:
        """Log likelihoods of a change at each step: falls × steps × tasks."""
        changes: Floats = np.log(_integrate(self.left, moves, self.right)) + self.peaks
        return changes

    def log_evidence(self, changes: Floats) -> Floats:
        """Log likelihoods of all outcomes: steps × (shares of affected tasks and falls)."""
        each = [self._mix(changes, share).sum(axis=-1) for share in SHARES]
        return np.concatenate(each, axis=0).T

    def expected_rates(self, changes: Floats, evidence: Floats) -> tuple[Floats, Floats]:
        """The expected rate of each task before and after the change, averaged over all that is unknown."""
        weights = np.exp(evidence - evidence.max())
        weights /= weights.sum()
        total = _integrate(self.left, _WORSE, self.right)
        sides = [
            _integrate(self.left * RATES, _WORSE, self.right) / total,
            _integrate(self.left, _WORSE, self.right * RATES) / total,
        ]
        found = np.zeros((2, len(self.same)))
        for number, share in enumerate(SHARES):
            affected = np.exp(np.log(share) + changes - self._mix(changes, share))
            belief = weights[:, number * len(FALLS) : (number + 1) * len(FALLS)].T[..., None]
            for side, rates in enumerate(sides):
                found[side] += (belief * (affected * rates + (1 - affected) * self.same_rates)).sum(axis=(0, 1))
        return found[0], found[1]

    def _mix(self, changes: Floats, share: float) -> Floats:
        """Log likelihoods by task where it is affected with this probability."""
        mixed: Floats = np.logaddexp(np.log(share) + changes, np.log1p(-share) + self.same)
        return mixed


def _likelihoods(passed: Floats, failed: Floats) -> tuple[Floats, Floats]:
    """The likelihood at every rate as a share of the highest, and the logarithm of that one."""
    logs = passed[..., None] * np.log(RATES) + failed[..., None] * np.log1p(-RATES)
    peak = logs.max(axis=-1)
    return np.exp(logs - peak[..., None]), peak


def _integrate(left: Floats, moves: Floats, right: Floats) -> Floats:
    """The likelihood over both rates: falls × steps × tasks."""
    total: Floats = np.einsum("ktg,fktg->fkt", right, left[None] @ moves[:, None])
    return total


def _log_mean_exp(logs: Floats) -> Floats:
    """The logarithm of the mean over the last axis, of numbers that are known by their logarithms."""
    peak = logs.max(axis=-1, keepdims=True)
    means: Floats = peak[..., 0] + np.log(np.exp(logs - peak).mean(axis=-1))
    return means


def _entropy(rate: Floats) -> Floats:
    clipped = np.clip(rate, 1e-12, 1 - 1e-12)
    entropy: Floats = -clipped * np.log(clipped) - (1 - clipped) * np.log1p(-clipped)
    return entropy
