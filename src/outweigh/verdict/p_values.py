"""One-sided p-values of a mean by the test that suits the data, and the confidence bounds that belong to them.

A missing p-value means that the data cannot answer.
"""

from math import exp, inf
from typing import Protocol

from msgspec import Struct

from outweigh.stats.distributions import binomial_cdf, t_quantile
from outweigh.stats.estimate import Alternative
from outweigh.stats.means import one_sided_p
from outweigh.stats.sequential import log_normal_mixture, tune_normal_mixture

SPARSE_BELOW_TASKS = 5
"""With fewer tasks that differ at all, a t test is not reliable, and exact bounds are used."""


class PValues(Protocol):
    """Both one-sided tests of a mean."""

    def above(self, null: float) -> float | None:
        """P-value against "the mean is at most `null`"."""

    def below(self, null: float) -> float | None:
        """P-value against "the mean is at least `null`"."""


class StudentPValues(Struct, frozen=True, kw_only=True):
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

    def bound(self, alpha: float, *, lower: bool) -> float:
        """The one-sided confidence bound."""
        reach = t_quantile(1 - alpha, self.df) * self.error
        return self.mean - reach if lower else self.mean + reach


class ConstantPValues(Struct, frozen=True, kw_only=True):
    """Every task has the same delta of a rate, so that only the number of tasks is evidence.

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
        return ConstantPValues(delta=-self.delta, tasks=self.tasks).above(-null)


class SparsePValues(Struct, frozen=True, kw_only=True):
    """Few tasks differ at all: a claim must be shown by the usual test and by exact counting."""

    usual: PValues
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
    """The larger p-value; None where one of the tests has none."""
    return None if other is None else max(one, other)


def _count(losses: int, gains: int, tasks: int, null: float) -> float:
    """Below 0, count losses against the share of tasks that could hide such a mean; from 0 on, a sign test."""
    return binomial_cdf(losses, tasks, min(1.0, -null)) if null < 0 else binomial_cdf(losses, gains + losses, 0.5)


class AnytimePValues(Struct, frozen=True, kw_only=True):
    """Valid at every look at once: the mixture martingale of the confidence sequence, as a p-value."""

    mean: float
    deviation: float
    tasks: int
    planned_tasks: int

    def above(self, null: float) -> float | None:
        """1 / the mixture likelihood ratio against the null, and never less than the p-value of a single look."""
        if not self.mean > null:
            return 1.0
        total = self.tasks * (self.mean - null) / self.deviation
        # Tuned for the error rate of the alarm; any other choice would be valid too, only wider.
        rho = tune_normal_mixture(self.planned_tasks, 0.05)
        mixture = exp(-min(log_normal_mixture(total, self.tasks, rho), 700.0))
        # The mixture takes the estimated deviation as known; with few tasks Student's t accounts for its error.
        single = StudentPValues(mean=self.mean, error=self.deviation / self.tasks**0.5, df=self.tasks - 1).above(null)
        return _weaker(min(1.0, mixture), single)

    def below(self, null: float) -> float | None:
        """The same with the signs turned round."""
        turned = AnytimePValues(
            mean=-self.mean, deviation=self.deviation, tasks=self.tasks, planned_tasks=self.planned_tasks
        )
        return turned.above(-null)


class EqualPValues(Struct, frozen=True, kw_only=True):
    """Both arms use nothing at all of a resource: a flat rate or a local model. They are known to be equal."""

    def above(self, null: float) -> float | None:
        """Certain below zero, and never above it."""
        return 0.0 if null < 0 else 1.0

    def below(self, null: float) -> float | None:
        """The same with the signs turned round."""
        return self.above(-null)


class UnknownPValues(Struct, frozen=True, kw_only=True):
    """The data cannot answer."""

    def above(self, null: float) -> float | None:  # noqa: ARG002 - nothing is known about any null
        """Unknown."""
        return None

    def below(self, null: float) -> float | None:  # noqa: ARG002
        """Unknown."""
        return None


def confidence_bound(p_values: PValues, alpha: float, low: float, high: float, *, lower: bool) -> float | None:
    """The one-sided confidence bound that belongs to the tests; infinite where they never reject.

    That of a t test is written down, that of any other test is found by bisection.
    """
    test = p_values.above if lower else p_values.below
    farthest = test(low if lower else high)
    if farthest is None:
        return None
    if farthest > alpha:
        return -inf if lower else inf
    if isinstance(p_values, StudentPValues):
        return p_values.bound(alpha, lower=lower)
    rejected, kept = (low, high) if lower else (high, low)
    for _ in range(60):
        middle = (rejected + kept) / 2
        p_value = test(middle)
        if p_value is not None and p_value <= alpha:
            rejected = middle
        else:
            kept = middle
    return rejected
