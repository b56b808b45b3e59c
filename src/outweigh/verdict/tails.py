"""How strongly a gate's deltas speak against a supposed mean: one-sided p-values, whatever the data look like.

Deltas are oriented so that more is better. A missing p-value means that the data cannot say.
"""

from dataclasses import dataclass
from math import exp, inf
from typing import Protocol

from outweigh.stats.alternative import Alternative
from outweigh.stats.confidence_sequence import log_normal_mixture, tune_normal_mixture
from outweigh.stats.equivalence import one_sided_p
from outweigh.stats.special import binomial_cdf

SPARSE = 5
"""With fewer tasks that differ at all, a t test has nothing to stand on, and exact bounds take over."""


class Tails(Protocol):
    """Both one-sided tests of a mean."""

    def above(self, null: float) -> float | None:
        """P-value against "the mean is at most `null`"."""

    def below(self, null: float) -> float | None:
        """P-value against "the mean is at least `null`"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentTails:
    """The ordinary case: a t test."""

    mean: float
    error: float
    df: float

    def above(self, null: float) -> float | None:
        """Upper tail of t."""
        return one_sided_p(self.mean, self.error, self.df, null, Alternative.GREATER)

    def below(self, null: float) -> float | None:
        """Lower tail of t."""
        return one_sided_p(self.mean, self.error, self.df, null, Alternative.LESS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantTails:
    """Every task has the same delta of a rate, so only their number speaks.

    With confidence 1 − p at least p^(1/tasks) of all tasks are like these; the rest may be as bad as −1. For deltas
    that are all 0 this gives the bound −(1 − p^(1/tasks)).
    """

    delta: float
    tasks: int

    def above(self, null: float) -> float | None:
        """Chance to see nothing but such tasks if the mean were at most `null`."""
        return ((1 + null) / (1 + self.delta)) ** self.tasks if -1 <= null < self.delta else 1.0

    def below(self, null: float) -> float | None:
        """The same with the signs turned round."""
        return ConstantTails(delta=-self.delta, tasks=self.tasks).above(-null)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseTails:
    """Few tasks differ at all: the usual test may only speak where exact counting agrees."""

    usual: Tails
    gains: int
    losses: int
    tasks: int

    def above(self, null: float) -> float | None:
        """The weaker of both p-values."""
        return _weaker(_count(self.losses, self.gains, self.tasks, null), self.usual.above(null))

    def below(self, null: float) -> float | None:
        """The same with the signs turned round."""
        return _weaker(_count(self.gains, self.losses, self.tasks, -null), self.usual.below(null))


def _weaker(one: float, other: float | None) -> float | None:
    """The larger p-value; where one test cannot speak, neither does the pair."""
    return None if other is None else max(one, other)


def _count(losses: int, gains: int, tasks: int, null: float) -> float:
    """Below 0, count losses against the share of tasks that could hide such a mean; from 0 on, a sign test."""
    return binomial_cdf(losses, tasks, min(1.0, -null)) if null < 0 else binomial_cdf(losses, gains + losses, 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnytimeTails:
    """Valid at every look at once: the mixture martingale of the confidence sequence, as a p-value."""

    mean: float
    deviation: float
    tasks: int
    planned_tasks: int

    def above(self, null: float) -> float | None:
        """1 / the stake that a bet against the null has won by now; never less than a single look would give."""
        if not self.mean > null:
            return 1.0
        total = self.tasks * (self.mean - null) / self.deviation
        # Tuned for the error rate of the alarm; any other choice would be valid too, only wider.
        rho = tune_normal_mixture(self.planned_tasks, 0.05)
        mixture = exp(-min(log_normal_mixture(total, self.tasks, rho), 700.0))
        # The mixture trusts the estimated deviation; with few tasks Student's law knows better.
        single = StudentTails(mean=self.mean, error=self.deviation / self.tasks**0.5, df=self.tasks - 1).above(null)
        return _weaker(min(1.0, mixture), single)

    def below(self, null: float) -> float | None:
        """The same with the signs turned round."""
        turned = AnytimeTails(
            mean=-self.mean, deviation=self.deviation, tasks=self.tasks, planned_tasks=self.planned_tasks
        )
        return turned.above(-null)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownTails:
    """The data cannot say anything."""

    def above(self, null: float) -> float | None:  # noqa: ARG002 - nothing is known about any null
        """Unknown."""
        return None

    def below(self, null: float) -> float | None:  # noqa: ARG002
        """Unknown."""
        return None


def bound(tails: Tails, alpha: float, low: float, high: float, *, lower: bool) -> float | None:
    """The one-sided confidence bound that belongs to the tests, by bisection; infinite where they never reject."""
    test = tails.above if lower else tails.below
    farthest = test(low if lower else high)
    if farthest is None:
        return None
    if farthest > alpha:
        return -inf if lower else inf
    rejected, kept = (low, high) if lower else (high, low)
    for _ in range(60):
        middle = (rejected + kept) / 2
        p_value = test(middle)
        if p_value is not None and p_value <= alpha:
            rejected = middle
        else:
            kept = middle
    return rejected
