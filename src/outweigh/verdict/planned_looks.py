"""Planned looks: how much of each error rate may be spent at a look, and what can still be reached by the last one.

Going on is futile when neither an improvement nor anything else is likely to be reached any more. Futility is not
binding: the error rates hold for whoever goes on all the same.
"""

from collections.abc import Callable, Sequence
from functools import cache
from math import exp, log, sqrt

from msgspec import Struct
from msgspec.structs import asdict, replace

from outweigh.model.look_plan import LookPlan
from outweigh.stats.distributions import normal_quantile, normal_sf
from outweigh.stats.sequential import plan_looks, spend_power
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule import CandidateTests, RuleFinding
from outweigh.verdict.evidence_settings import ErrorRates
from outweigh.verdict.gate_test import GateClaims, GateTest
from outweigh.verdict.p_values import SparsePValues

IMPROVED_CHANCE = 0.03
"""Below this chance, if the trend goes on, an improvement counts as out of reach."""
OTHER_CHANCE = 0.2
"""The same for a regression, a trade-off or sameness. Larger, because to end without them never ships anything."""

OVERALL_PRECISION = 0.02
"""The relative error, on the safe side, of a p-value over all looks."""

ApplyRule = Callable[[Sequence[CandidateTests], ErrorRates], Sequence[RuleFinding]]


def look_rates(plan: LookPlan, look: int, rates: ErrorRates) -> ErrorRates:
    """The levels of all tests at one look, such that every error rate holds over all looks together."""
    levels = {name: nominal_levels(plan.fractions, alpha, plan.exponent)[look] for name, alpha in asdict(rates).items()}
    return ErrorRates(**levels)


@cache
def nominal_levels(fractions: tuple[float, ...], alpha: float, exponent: float) -> tuple[float, ...]:
    """The level of a one-sided test at each look."""
    looks = plan_looks(fractions, alpha, two_sided=False, spending=spend_power(exponent))
    return tuple(look.nominal_p for look in looks)


def overall_level(plan: LookPlan, look: int, p_value: float) -> float:
    """The smallest error rate over all looks at which this p-value is significant at this one."""
    low, high = log(max(p_value, 1e-300)), log(0.5)
    if p_value >= nominal_levels(plan.fractions, 0.5, plan.exponent)[look]:
        return 1.0
    while high - low > OVERALL_PRECISION:
        middle = (low + high) / 2
        if nominal_levels(plan.fractions, exp(middle), plan.exponent)[look] >= p_value:
            high = middle
        else:
            low = middle
    return exp(high)


class Prospect(Struct, frozen=True, kw_only=True):
    """What one candidate may still reach by the last look: an improvement, or another decision."""

    improved: bool
    other: bool

    @property
    def futile(self) -> bool:
        """Whether nothing is likely to be decided any more."""
        return not self.improved and not self.other


def prospects(
    candidates: Sequence[CandidateTests], plan: LookPlan, look: int, rates: ErrorRates, apply_rule: ApplyRule
) -> tuple[Prospect, ...]:
    """What all candidates of one baseline may still reach, given their tests at a look.

    The rule is applied to the best p-values that the last look has a chance of, at the levels of that look.
    """
    share, last = plan.fractions[look], look_rates(plan, len(plan.sizes) - 1, rates)
    better = apply_rule([_with_gains(tests, share) for tests in candidates], last)
    others = apply_rule([_with_other_claims(tests, share) for tests in candidates], last)
    return tuple(
        Prospect(
            improved=_unknown(tests) or gain.decision is Decision.IMPROVED,
            other=other.decision not in (Decision.INCONCLUSIVE, Decision.IMPROVED),
        )
        for tests, gain, other in zip(candidates, better, others, strict=True)
    )


def best_p_value(p_value: float | None, share: float, chance: float) -> float | None:
    """The p-value that the last look falls below with this chance, if the trend goes on.

    With z at the share t of the information, z at the end is normal around z / √t with variance (1 − t) / t.
    """
    if p_value is None or share >= 1:
        return p_value
    if not 0 < p_value < 1:
        return p_value
    end = -normal_quantile(p_value) / sqrt(share) - normal_quantile(chance) * sqrt((1 - share) / share)
    return normal_sf(end)


def _unknown(tests: CandidateTests) -> bool:
    """What a gate hides today may be known at the next look."""
    return not tests.gates or any(test.unknown for test in tests.gates)


def _with_gains(tests: CandidateTests, share: float) -> CandidateTests:
    """The tests if everything that speaks for the candidate went well."""

    def best(p_value: float | None) -> float | None:
        return best_p_value(p_value, share, IMPROVED_CHANCE)

    def gains(claims: GateClaims, _: float) -> GateClaims:
        return claims.stating(
            non_inferior=best(claims.non_inferior),
            superior=best(claims.superior),
            tolerable=best(claims.tolerable),
            within_total_tolerance=best(claims.within_total_tolerance),
            alarm=None if claims.alarm is None else 1.0,
        )

    return replace(
        tests,
        gates=tuple(_changed(test, gains) for test in tests.gates),
        gain=best(tests.gain),
        worth=None if tests.worth is None else _changed(tests.worth, gains),
    )


def _with_other_claims(tests: CandidateTests, share: float) -> CandidateTests:
    """The tests if losses or sameness came out as clearly as they may."""

    def best(p_value: float | None) -> float | None:
        return best_p_value(p_value, share, OTHER_CHANCE)

    def others(claims: GateClaims, limit: float) -> GateClaims:
        return claims.stating(alarm=best(claims.alarm), equivalent=best_equivalence(claims, limit, share))

    return replace(tests, gates=tuple(_changed(test, others) for test in tests.gates), gain=None)


def best_equivalence(claims: GateClaims, limit: float, share: float) -> float | None:
    """The same for sameness, whose two sides cannot both go well: at best the effect ends just between them."""
    sides = claims.p_values.above(-limit), claims.p_values.below(limit)
    best = best_p_value(claims.equivalent, share, OTHER_CHANCE)
    if best is None or not all(side is not None and 0 < side < 1 for side in sides):
        return best
    between = -sum(normal_quantile(side) for side in sides if side is not None) / 2
    return max(best, normal_sf(between / sqrt(share)))


def _changed(test: GateTest, change: Callable[[GateClaims, float], GateClaims]) -> GateTest:
    """The test with changed p-values; those of exact counting show no trend yet, so the ones of t are taken instead."""
    typical, exact = test.typical, test.typical.p_values
    if isinstance(exact, SparsePValues):
        typical = GateClaims(gate=test.sample, p_values=exact.usual)
    limit = test.sample.limit
    total = None if test.total is None else change(test.total, limit)
    return replace(test, typical=change(typical, limit), total=total)
