"""The verdicts of one repository as a family: how small the p-value of an improvement must be to be promoted.

Many verdicts are many chances to promote a change that does nothing. The ledger bounds the probability that this *ever*
happens to 10 %, by Bonferroni's inequality in a step-down form (a closed alpha-spending rule):

- The n-th verdict without a promotion had the level 10 % · 50 / ((49 + n)(50 + n)). These levels add up to 10 %, and
  after n of them 50 / (50 + n) of it is left.
- A promotion spends nothing: the next verdict gets the same level again.

Why it holds: as long as no change without effect was promoted, all of them are among the verdicts without a promotion.
The n-th of them therefore comes after at least n − 1 others and has at most the n-th level. So the probability that any
is promoted is at most the sum of these levels, 10 %, however the p-values depend on each other. They do depend: pull
requests are compared with the same baseline runs. Rules that recover more (LORD, ADDIS) need independence, or bound
the share of false promotions instead of the chance of any.
"""

from outweigh.stats.distributions import normal_cdf, normal_quantile
from outweigh.stats.hypothesis_tests import adjust_holm
from outweigh.verdict.decision import Decision, Verdict

FAMILY_ERROR = 0.10
"""How likely it may be that a change without effect is ever promoted."""
HALF_SPENT_AFTER = 50
"""The number of verdicts without a promotion that spend half of it."""
SHOWN_VERDICTS = (10, 50, 100)
_USUAL_POWER, _USUAL_LEVEL = 0.8, 0.02


def error_left(unpromoted: int) -> float:
    """What is left of the family's error after so many verdicts without a promotion."""
    return FAMILY_ERROR * HALF_SPENT_AFTER / (HALF_SPENT_AFTER + unpromoted)


def promotion_level(unpromoted: int) -> float:
    """The p-value at which the next verdict may be promoted; so much is spent where it is not."""
    return error_left(unpromoted) - error_left(unpromoted + 1)


def power_left(level: float) -> float:
    """How often a gain is promoted at this level that verdicts alone, at 2 %, would find 8 times in 10."""
    return normal_cdf(normal_quantile(_USUAL_POWER) - normal_quantile(_USUAL_LEVEL) + normal_quantile(level))


def promotion_p(verdict: Verdict) -> float | None:
    """The p-value of the gain that an improvement rests on; None where nothing improved, or the rule tests nothing.

    Version 1 of the rule does not state one: there it is the smallest of the gates' after Holm's correction.
    """
    if verdict.decision is not Decision.IMPROVED or verdict.superiority_p is not None:
        return verdict.superiority_p
    tested = [gate.evidence.p_values.get("superior") for gate in verdict.gates if gate.evidence is not None]
    return float(adjust_holm(tested).min()) if tested else None
