"""Collapsed tasks: single tasks whose runs show a drop, counted, and the count compared with what chance gives.

With five runs per arm no task can be singled out once many are tested. But the number of tasks that lose 80 points or
more, each with an exact p-value of at most 1 %, has a known distribution if nothing changed: a Poisson-binomial of what
each task's runs could show at all. With more runs, one drop can be too deep for chance among so many tasks, whatever
its size; that is tested beside the count, and both share one level.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
from msgspec import Struct

from outweigh.compare.arm_table import ArmTable
from outweigh.verdict.task_drops import Outcomes, drop_p_value, fisher_drop_p, task_outcomes

DROP_LEVEL = 0.01
"""The level at which the drop of a single task counts."""

COLLAPSE = 0.8
"""The fall that is a collapse. Without it, effects that differ by task and cancel out would be counted as collapses."""

COUNT_SHARE = 0.6
"""The part of the alarm's level that the number of collapses takes; the deepest drop takes the rest."""

REPEATS_TO_DETECT = 5
"""With fewer runs of a task, even 0 of 4 after 4 of 4 has p = .014 and is never counted."""


class DroppedTask(Struct, frozen=True, kw_only=True):
    """A task whose runs show a drop at the level that counts, whether or not it is a collapse."""

    task_id: str
    before: float
    after: float
    p_value: float

    @property
    def collapsed(self) -> bool:
        """Whether nearly everything was lost."""
        return is_collapse(self.before, self.after)


class CollapseTest(Struct, frozen=True, kw_only=True):
    """The tasks that dropped, and how likely that is if nothing changed; None where no task could show a drop.

    `testable` is the number of tasks whose runs could show a drop, `lesser` are the tasks that lost a part of their
    checks without a countable drop.
    """

    dropped: tuple[DroppedTask, ...]
    testable: int
    p_value: float | None
    lesser: tuple[str, ...]

    def is_alarm(self, alpha: float) -> bool:
        """Whether more tasks collapsed, or one fell deeper, than chance explains."""
        return bool(self.dropped) and self.p_value is not None and self.p_value <= alpha


def collapse_test(baseline: ArmTable, candidate: ArmTable) -> CollapseTest:
    """Find the tasks that both arms ran and whose drop has an exact p-value of at most 1 %, and test their number."""
    return count_collapses(task_outcomes(baseline), task_outcomes(candidate))


def count_collapses(before: Outcomes, after: Outcomes) -> CollapseTest:
    """The same for outcomes by task."""
    shared = [task for task in before if task in after]
    dropped, lesser = [], []
    for task in shared:
        first, second = before[task], after[task]
        means = sum(first) / len(first), sum(second) / len(second)
        if means[1] >= means[0]:
            continue
        p_value = _exact_p_value(first, second)
        if p_value > DROP_LEVEL:
            lesser.append(task)
        else:
            dropped.append(DroppedTask(task_id=task, before=means[0], after=means[1], p_value=p_value))
    outcomes = [(before[task], after[task]) for task in shared]
    return CollapseTest(
        dropped=tuple(dropped),
        testable=sum(chance_of_a_drop(*both, DROP_LEVEL) > 0 for both in outcomes),
        p_value=_p_value(dropped, outcomes),
        lesser=tuple(lesser),
    )


def is_collapse(before: float, after: float) -> bool:
    """Whether nearly everything was lost, rounding errors aside."""
    return before - after >= COLLAPSE - 1e-9


Runs = Sequence[float]


def _p_value(dropped: Sequence[DroppedTask], outcomes: Sequence[tuple[Runs, Runs]]) -> float | None:
    """Chance of so many collapses, or of one drop so deep, if every task's outcomes were dealt to the arms at random.

    None where no task's runs could show a drop.
    """
    if not any(chance_of_a_drop(*both, DROP_LEVEL) for both in outcomes):
        return None
    if not dropped:
        return 1.0
    collapses = sum(task.collapsed for task in dropped)
    counted = count_p_value(collapses, [chance_of_a_drop(*both, DROP_LEVEL, fall=COLLAPSE) for both in outcomes])
    lowest = min(task.p_value for task in dropped)
    deepest = count_p_value(1, [chance_of_a_drop(*both, lowest) for both in outcomes])
    return min(1.0, counted / COUNT_SHARE, deepest / (1 - COUNT_SHARE))


def count_p_value(count: int, chances: Sequence[float]) -> float:
    """Chance of at least so many events, each with its own probability (Poisson-binomial)."""
    if not count:
        return 1.0
    law = np.ones(1)
    for chance in chances:
        if chance > 0:
            # Beyond the count only the sum matters, so the law is kept short.
            law = np.convolve(law, (1 - chance, chance))[: count + 1]
    return float(max(0.0, 1 - law[:count].sum()))


def _exact_p_value(before: Runs, after: Runs) -> float:
    """The p-value of a drop; 1 for shares of checks with so few runs that the test of ranks is not exact enough."""
    few = min(len(before), len(after)) < REPEATS_TO_DETECT
    return 1.0 if few and not _is_pass_or_fail(before, after) else drop_p_value(before, after)


def _is_pass_or_fail(before: Runs, after: Runs) -> bool:
    return all(value in (0.0, 1.0) for value in (*before, *after))


def chance_of_a_drop(before: Runs, after: Runs, level: float, *, fall: float = 0.0) -> float:
    """How likely a drop at this level and of this size is if the task's outcomes were dealt to both arms at random."""
    if _is_pass_or_fail(before, after):
        return chance_of_lost_passes(len(before), len(after), int(sum(before) + sum(after)), level, fall)
    # Ranks of shares of checks: their test holds its level, and no more than that is needed.
    return level if min(len(before), len(after)) >= REPEATS_TO_DETECT else 0.0


@cache
def chance_of_lost_passes(runs_before: int, runs_after: int, passes: int, level: float, fall: float) -> float:
    """The largest attainable p-value of such a drop, which is its own probability; 0 where none is attainable."""
    attainable = (
        fisher_drop_p(runs_before, passes - kept, runs_after, kept)
        for kept in range(max(0, passes - runs_before), min(passes, runs_after) + 1)
        if (passes - kept) / runs_before - kept / runs_after >= fall - 1e-9
    )
    return max((p_value for p_value in attainable if p_value <= level), default=0.0)


def rule_of_three(tasks: int) -> float:
    """The share of tasks that may break although none of so many did, with 95 % confidence."""
    return min(1.0, 1 - 0.05 ** (1 / tasks)) if tasks else 1.0
