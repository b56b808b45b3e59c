"""The looks that an experiment plans before its first run: which tasks count at each, and how the error is spent.

Stored with the experiment, so that a verdict is computed again at the look where the runs ended.
"""

from collections.abc import Sequence

import msgspec

MOST_LOOKS = 20
FIRST_LOOK = 6
"""No look comes before so many tasks, because no conclusion rests on fewer."""
SPENDING_EXPONENT = 2.0
"""With α t² looks cost little power: docs/calibration.md has the measured rates."""


class LookPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Looks after the first so many tasks of an order that was fixed before the first run.

    `order` are all tasks as they are run, `sizes` says how many of them count at each look, and `repeats` how many runs
    of an arm make a task complete. The looks share every error rate α: α tᵉ may be spent by the share t of the tasks,
    e being the `exponent`.
    """

    order: tuple[str, ...]
    sizes: tuple[int, ...]
    repeats: int
    exponent: float = SPENDING_EXPONENT

    def __post_init__(self) -> None:
        grows = all(one < other for one, other in zip((0, *self.sizes), self.sizes, strict=False))
        if not self.sizes or not grows or self.sizes[-1] != len(self.order) or len(set(self.order)) < len(self.order):
            raise ValueError("looks must grow and end at all tasks of the order, each named once")
        if self.repeats < 1 or not 0 < self.exponent < float("inf"):
            raise ValueError("looks need at least one repeat and a positive exponent")

    @property
    def fractions(self) -> tuple[float, ...]:
        """The share of the tasks that counts at each look."""
        return tuple(size / len(self.order) for size in self.sizes)

    def tasks_at(self, look: int) -> tuple[str, ...]:
        """The tasks that count at a look; looks are counted from 0."""
        return self.order[: self.sizes[look]]


def plan_even_looks(order: Sequence[str], repeats: int) -> LookPlan:
    """At most 20 evenly spaced looks, none before six tasks, the last one at all tasks."""
    tasks = len(order)
    sizes = {round(tasks * number / MOST_LOOKS) for number in range(1, MOST_LOOKS)}
    early = sorted(size for size in sizes if FIRST_LOOK <= size < tasks)
    return LookPlan(order=tuple(order), sizes=(*early, tasks), repeats=repeats)
