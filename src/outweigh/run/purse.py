"""The money of judges: what all of them may take together, and what each may."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from outweigh.run.budget import Budget


class Answer(StrEnum):
    """Whether one more question can be paid for, and whose money is gone if not."""

    YES = "yes"
    JUDGE_IS_OUT = "judge_is_out"
    ALL_ARE_OUT = "all_are_out"


class Purse:
    """A question is asked only when the worst that it could cost is still there, for the judge and for all.

    `caps` are the judges' own, by name; `earlier` is what their judgments so far came to, None where nobody knows.
    """

    def __init__(
        self, cap_usd: float | None, caps: Mapping[str, float | None], earlier: Mapping[str, Iterable[float | None]]
    ) -> None:
        paid = {name: list(costs) for name, costs in earlier.items()}
        self._all = Budget(cap_usd, None, [cost for costs in paid.values() for cost in costs])
        self._own = {name: Budget(cap, None, paid.get(name, ())) for name, cap in caps.items()}

    def reserve(self, judge: str) -> Answer:
        """Set the worst cost of one question aside."""
        if not self._own[judge].reserve():
            return Answer.JUDGE_IS_OUT
        if not self._all.reserve():
            self._own[judge].settle(0.0)
            return Answer.ALL_ARE_OUT
        return Answer.YES

    def settle(self, judge: str, cost_usd: float | None) -> None:
        """Replace what was set aside by what it came to."""
        self._own[judge].settle(cost_usd)
        self._all.settle(cost_usd)
