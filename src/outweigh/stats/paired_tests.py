"""Tests that count only who won each pair: McNemar's for passes and failures, the sign test for deltas."""

import numpy as np

from outweigh.stats.alternative import Alternative, combine_tails
from outweigh.stats.estimate import Significance, Unit
from outweigh.stats.sample import Values, as_sample, clear_dust, find_defect
from outweigh.stats.special import binomial_cdf, binomial_pmf, binomial_sf, chi_square_sf
from outweigh.stats.unknown import unknown_significance

_NO_WINNER = "no pair has a winner, so there is nothing to test"


def mcnemar_exact(wins: int, losses: int, *, alternative: Alternative, unit: Unit) -> Significance:
    """Exact binomial test on the pairs in which only A passed (`wins`) or only B did (`losses`)."""
    return _binomial_test(wins, losses, alternative, unit, "McNemar exact")


def mcnemar_mid_p(wins: int, losses: int, *, alternative: Alternative, unit: Unit) -> Significance:
    """The exact test counting half of the observed outcome: less conservative, no longer guaranteed."""
    method = "McNemar mid-p"
    n = _count_pairs(wins, losses)
    if n == 0:
        return unknown_significance(_NO_WINNER, n=n, unit=unit, method=method)
    half = binomial_pmf(wins, n, 0.5) / 2
    lower, upper = binomial_cdf(wins, n, 0.5) - half, binomial_sf(wins - 1, n, 0.5) - half
    p_value = combine_tails(lower, upper, alternative)
    return Significance(p_value=p_value, statistic=min(wins, losses), n=n, unit=unit, method=method, warnings=())


def mcnemar_chi_square(wins: int, losses: int, *, corrected: bool, unit: Unit) -> Significance:
    """The two-sided large-sample test, with or without the continuity correction."""
    method = "McNemar chi-square, continuity corrected" if corrected else "McNemar chi-square"
    n = _count_pairs(wins, losses)
    if n == 0:
        return unknown_significance(_NO_WINNER, n=n, unit=unit, method=method)
    distance = max(0, abs(wins - losses) - int(corrected))
    statistic = distance**2 / n
    few = () if n >= 25 else (f"only {n} pairs have a winner; the exact test holds its level, this one may not",)
    return Significance(
        p_value=chi_square_sf(statistic), statistic=statistic, n=n, unit=unit, method=method, warnings=few
    )


def sign_test(deltas: Values, *, alternative: Alternative, unit: Unit) -> Significance:
    """Exact binomial test of positive against negative deltas; zero deltas have no winner and are left out."""
    method = "exact sign test"
    sample = as_sample(deltas)
    if defect := find_defect(sample):
        return unknown_significance(defect, n=int(sample.size), unit=unit, method=method)
    signs = np.sign(clear_dust(sample))
    return _binomial_test(int((signs > 0).sum()), int((signs < 0).sum()), alternative, unit, method)


def _binomial_test(wins: int, losses: int, alternative: Alternative, unit: Unit, method: str) -> Significance:
    n = _count_pairs(wins, losses)
    if n == 0:
        return unknown_significance(_NO_WINNER, n=n, unit=unit, method=method)
    p_value = combine_tails(binomial_cdf(wins, n, 0.5), binomial_sf(wins - 1, n, 0.5), alternative)
    return Significance(p_value=p_value, statistic=min(wins, losses), n=n, unit=unit, method=method, warnings=())


def _count_pairs(wins: int, losses: int) -> int:
    if wins < 0 or losses < 0:
        raise ValueError(f"counts are not negative, got {wins} wins and {losses} losses")
    return wins + losses
