"""Shares of simulated experiments as chances: corrected for what small pilots get wrong on average, with a range."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from outweigh.verdict.decision import Decision
from outweigh.verdict.planned_experiment import Chance
from outweigh.verdict.rule_on_arrays import SimulatedDecisions

REACH = 2.0
"""Standard errors to each side of a chance in its range."""
SLACK = 2
"""Ranges are widened by the luck of so many experiments for each task of the pilot, because a small one also
misjudges how far pilots differ. How often they hold what happens is in docs/calibration.md.
"""
EDGE = 0.05
"""The luck of chances nearer to 0 or 1 is that of this one."""

Flags = NDArray[np.bool_]


class Tally:
    """Decisions of simulated experiments of one size with one population."""

    def __init__(self) -> None:
        self._flags: dict[Decision, list[Flags]] = defaultdict(list)
        self._lacking: dict[str, int] = defaultdict(int)

    def add(self, decisions: SimulatedDecisions) -> None:
        """Count some more."""
        for decision, flags in decisions.decided.items():
            self._flags[decision].append(flags)
        for name, flags in decisions.lacking.items():
            self._lacking[name] += int(flags.sum())

    def share(self, *decisions: Decision) -> float:
        """How many ended with one of these decisions."""
        return float(self._either(decisions).mean())

    @property
    def experiments(self) -> int:
        """How many were counted."""
        return sum(len(flags) for flags in self._flags[Decision.INCONCLUSIVE])

    def in_the_way(self) -> Mapping[str, float]:
        """Among those without a decision, the share that each gate, or the gain, kept from an improvement."""
        undecided = int(self._either((Decision.INCONCLUSIVE,)).sum())
        return {name: number / undecided for name, number in self._lacking.items() if number} if undecided else {}

    def _either(self, decisions: Sequence[Decision]) -> Flags:
        flags: Flags = np.logical_or.reduce([np.concatenate(self._flags[one]) for one in decisions])
        return flags


def corrected_share(estimate: float, refitted: Sequence[float]) -> float:
    """The estimate less its bias: refits differ from the estimate on average as the estimate does from the truth.

    What simulated pilots show moves it at most halfway to 0 or 1, which nothing is.
    """
    return min((1 + estimate) / 2, max(estimate / 2, 2 * estimate - float(np.mean(refitted))))


def corrected_chance(estimate: Tally, refits: Sequence[Tally], tasks: int, *decisions: Decision) -> Chance:
    """A chance with its bias taken out, and a range as wide as estimates from pilots of so many tasks scatter."""
    share, shares = estimate.share(*decisions), [refit.share(*decisions) for refit in refits]
    luck = 1 / max(1, estimate.experiments) + 1 / (SLACK * tasks)
    return _with_range(corrected_share(share, shares), _variance_between(shares, refits), luck)


def predictive_chance(refits: Sequence[Tally], tasks: int, *decisions: Decision) -> Chance:
    """A chance averaged over all populations, with the range of these."""
    shares = [refit.share(*decisions) for refit in refits]
    luck = 1 / max(1, sum(refit.experiments for refit in refits)) + 1 / (SLACK * tasks)
    return _with_range(float(np.mean(shares)), _variance_between(shares, refits), luck)


def _with_range(value: float, variance: float, luck: float) -> Chance:
    share = min(max(value, EDGE), 1 - EDGE)
    reach = REACH * sqrt(variance + luck * share * (1 - share))
    return Chance(value=value, low=max(0.0, value - reach), high=min(1.0, value + reach))


def bounded_chance(estimate: Tally, bounds: Sequence[Tally], *decisions: Decision) -> Chance:
    """A chance between those of the bounds."""
    value, shares = estimate.share(*decisions), [bound.share(*decisions) for bound in bounds]
    return Chance(value=value, low=min([value, *shares]), high=max([value, *shares]))


def _variance_between(shares: Sequence[float], refits: Sequence[Tally]) -> float:
    """Of the chances of the refits, without the luck of the simulation."""
    pairs = zip(shares, refits, strict=True)
    luck = np.mean([share * (1 - share) / max(1, refit.experiments - 1) for share, refit in pairs])
    return max(float(np.var(shares, ddof=1) - luck), 0.0)
