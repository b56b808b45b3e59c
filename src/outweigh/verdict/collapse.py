"""Collapsed tasks: single tasks whose runs show a drop, counted, and the count compared with what chance gives.

With five runs per arm no task can be singled out once many are tested. But the number of tasks with an exact drop at
1 % has a known distribution if nothing dropped: a Poisson-binomial of what each task's runs could show at all. With
more runs, one drop can be too deep for chance among so many tasks; that is tested beside it, and both share one level.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from outweigh.compare.arm_table import ArmTable
from outweigh.verdict.task_drops import Outcomes, drop_p_value, fisher_drop_p, task_outcomes

DROP_LEVEL = 0.01
"""The level at which the drop of a single task counts."""

COUNT_SHARE = 0.6
"""The part of the alarm's level that the number of drops takes; the deepest drop takes the rest."""

REPEATS_TO_HEAR = 5
"""With fewer runs of a task in either arm, even 0 of 4 after 4 of 4 has p = .014 and is never counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedTask:
    """A task whose runs show a drop at the level that counts."""

    task_id: str
    before: float
    after: float
    runs_before: int
    runs_after: int
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CollapseTest:
    """The tasks that dropped, and how likely so many are if nothing changed; None where no task could be counted.

    `testable` is the number of tasks whose runs could show a drop, `lesser` are the tasks that lost a part of their
    checks without a countable drop.
    """

    dropped: tuple[DroppedTask, ...]
    testable: int
    p_value: float | None
    lesser: tuple[str, ...]

    def rings(self, alpha: float) -> bool:
        """Whether more tasks collapsed than chance explains."""
        return bool(self.dropped) and self.p_value is not None and self.p_value <= alpha


def collapse_test(baseline: ArmTable, candidate: ArmTable) -> CollapseTest:
    """Count the tasks that both arms ran and whose drop is exact at 1 %, and test the count."""
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
        p_value = drop_p_value(first, second)
        if p_value > DROP_LEVEL or min(len(first), len(second)) < REPEATS_TO_HEAR:
            lesser.append(task)
            continue
        dropped.append(
            DroppedTask(
                task_id=task,
                before=means[0],
                after=means[1],
                runs_before=len(first),
                runs_after=len(second),
                p_value=p_value,
            )
        )
    outcomes = [(before[task], after[task]) for task in shared]
    return CollapseTest(
        dropped=tuple(dropped),
        testable=sum(chance_of_a_drop(*both, DROP_LEVEL) > 0 for both in outcomes),
        p_value=collapse_p_value([task.p_value for task in dropped], outcomes),
        lesser=tuple(lesser),
    )


def collapse_p_value(
    drops: Sequence[float], outcomes: Sequence[tuple[Sequence[float], Sequence[float]]]
) -> float | None:
    """Chance of so many drops, or of one so deep, if every task's outcomes were dealt to both arms at random.

    `drops` are the p-values of the tasks that count. None where no task's runs could show a drop.
    """
    counted = count_p_value(len(drops), [chance_of_a_drop(*both, DROP_LEVEL) for both in outcomes])
    if counted is None or not drops:
        return counted
    deepest = count_p_value(1, [chance_of_a_drop(*both, min(drops)) for both in outcomes])
    parts = [counted / COUNT_SHARE, 1.0 if deepest is None else deepest / (1 - COUNT_SHARE)]
    return min(1.0, *parts)


def count_p_value(count: int, chances: Sequence[float]) -> float | None:
    """Chance of at least so many events, each with its own probability (Poisson-binomial); None without any event."""
    possible = [chance for chance in chances if chance > 0]
    if not possible:
        return None
    law = np.ones(1)
    for chance in possible:
        # Beyond the count only the sum matters, so the law is kept short.
        law = np.convolve(law, (1 - chance, chance))[: count + 1]
    return float(max(0.0, 1 - law[:count].sum())) if count else 1.0


def chance_of_a_drop(before: Sequence[float], after: Sequence[float], level: float) -> float:
    """How likely a drop at this level is if the task's outcomes were dealt to both arms at random."""
    if min(len(before), len(after)) < REPEATS_TO_HEAR:
        return 0.0
    if all(value in (0.0, 1.0) for value in (*before, *after)):
        return _chance_of_lost_passes(len(before), len(after), int(sum(before) + sum(after)), level)
    # Ranks of shares of checks: their test holds its level, and no more than that is needed.
    return level


@cache
def _chance_of_lost_passes(runs_before: int, runs_after: int, passes: int, level: float) -> float:
    """The largest attainable p-value that counts, which is its own probability; 0 where none does."""
    attainable = (
        fisher_drop_p(runs_before, passes - kept, runs_after, kept)
        for kept in range(max(0, passes - runs_before), min(passes, runs_after) + 1)
    )
    return max((p_value for p_value in attainable if p_value <= level), default=0.0)


def rule_of_three(tasks: int) -> float:
    """The share of tasks that may break although none of so many did, with 95 % confidence."""
    return min(1.0, 1 - 0.05 ** (1 / tasks)) if tasks else 1.0
