"""The budget of an experiment: a run starts only when the worst it could cost is still affordable."""

from collections.abc import Iterable

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
        self._most_expensive: float | None = None
        self._reserved = 0
        for cost_usd in earlier:
            self._count(cost_usd)

    @property
    def worst_run_usd(self) -> float | None:
        """The cap of a single run or, without one, the cost of the most expensive run so far."""
        return self._most_expensive if self._run_cap is None else self._run_cap

    @property
    def cost_is_unknown(self) -> bool:
        """Whether runs of unknown cost were made and nothing bounds what they cost."""
        return self._unknown > 0 and self.worst_run_usd is None

    @property
    def has_reservations(self) -> bool:
        """Whether runs go on that may cost less than was reserved for them."""
        return self._reserved > 0

    def reserve(self) -> bool:
        """Reserve the worst cost of one run; False where it is not affordable."""
        if self._cap is not None and not self._affords_one_more(self._cap):
            return False
        self._reserved += 1
        return True

    def release(self) -> None:
        """Take back the reservation of a run that was not started."""
        self._reserved -= 1

    def record_cost(self, cost_usd: float | None) -> None:
        """Replace the reservation by the actual cost, None where it is unknown."""
        self._reserved -= 1
        self._count(cost_usd)

    def add_cost(self, cost_usd: float | None) -> None:
        """Count what an attempt cost for which nothing is reserved any more, None where it is unknown."""
        self._count(cost_usd)

    def take_back(self, cost_usd: float | None) -> None:
        """Undo `add_cost`: the cost is to be counted in another way."""
        if cost_usd is None:
            self._unknown -= 1
        else:
            self._known -= cost_usd

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
        self._most_expensive = max(self._most_expensive or 0.0, cost_usd) or None
