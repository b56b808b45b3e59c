"""Budgets: a run or a judge call starts only when the worst it could cost is still affordable.

`JudgeBudget` holds one budget per judge and one for all of them.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

_ROUNDING = 1e-9
"""Tolerance for rounding errors in sums of dollars."""


class Budget:
    """Counts what was spent and what running trials may still spend. Without a cap everything is affordable.

    A run of unknown cost counts at its cap or, without one, at the cost of the most expensive run so far: unknown is
    not free. Where no cost is known at all, one run may start; if its cost is unknown too, nothing is affordable.
    """

    def __init__(self, cap_usd: float | None, run_cap_usd: float | None, earlier: Iterable[float | None] = ()) -> None:
        self._cap = cap_usd
        self._run_cap = run_cap_usd
        self._known = 0.0
        self._unknown = 0
        self._dearest: float | None = None
        self._reserved = 0
        for cost_usd in earlier:
            self._count(cost_usd)

    @property
    def worst_run_usd(self) -> float | None:
        """The cap of a single run or, without one, the cost of the most expensive run so far."""
        return self._dearest if self._run_cap is None else self._run_cap

    @property
    def cost_is_unknown(self) -> bool:
        """Whether runs of unknown cost were made and nothing bounds what they cost."""
        return self._unknown > 0 and self.worst_run_usd is None

    def reserve(self) -> bool:
        """Reserve the worst cost of one run; False where it is not affordable."""
        if self._cap is not None and not self._affords_one_more(self._cap):
            return False
        self._reserved += 1
        return True

    def record_cost(self, cost_usd: float | None) -> None:
        """Replace the reservation by the actual cost, None where it is unknown."""
        self._reserved -= 1
        self._count(cost_usd)

    def _affords_one_more(self, cap_usd: float) -> bool:
        worst = self.worst_run_usd
        if worst is None:
            return not self._unknown
        return self._known + worst * (self._unknown + self._reserved + 1) <= cap_usd + _ROUNDING

    def _count(self, cost_usd: float | None) -> None:
        if cost_usd is None:
            self._unknown += 1
            return
        self._known += cost_usd
        self._dearest = max(self._dearest or 0.0, cost_usd) or None


class Affordability(StrEnum):
    """Whether one more judge call is affordable and, if not, which budget is used up."""

    YES = "yes"
    JUDGE_BUDGET_USED = "judge_budget_used"
    TOTAL_BUDGET_USED = "total_budget_used"


class JudgeBudget:
    """One budget per judge and one for all: a call starts only when both can afford the worst it could cost.

    `caps` are the judges' own, by name; `earlier` are the costs of their calls so far, None where unknown.
    """

    def __init__(
        self, cap_usd: float | None, caps: Mapping[str, float | None], earlier: Mapping[str, Iterable[float | None]]
    ) -> None:
        paid = {name: list(costs) for name, costs in earlier.items()}
        self._all = Budget(cap_usd, None, [cost for costs in paid.values() for cost in costs])
        self._own = {name: Budget(cap, None, paid.get(name, ())) for name, cap in caps.items()}

    def reserve(self, judge: str) -> Affordability:
        """Reserve the worst cost of one call."""
        if not self._own[judge].reserve():
            return Affordability.JUDGE_BUDGET_USED
        if not self._all.reserve():
            self._own[judge].record_cost(0.0)
            return Affordability.TOTAL_BUDGET_USED
        return Affordability.YES

    def record_cost(self, judge: str, cost_usd: float | None) -> None:
        """Replace the reservation by the actual cost, None where it is unknown."""
        self._own[judge].record_cost(cost_usd)
        self._all.record_cost(cost_usd)
