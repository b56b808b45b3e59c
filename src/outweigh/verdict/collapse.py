"""Collapsed tasks: single tasks whose runs show a drop, counted, and the count compared with what chance gives.

With five runs per arm no task can be singled out once many are tested. But the number of tasks that lose 80 points or
more, each with an exact p-value of at most 1 %, has a known distribution if nothing changed: a Poisson-binomial of what
each task's runs could show at all. With more runs, one drop can be too deep for chance among so many tasks, whatever
its size; that is tested beside the count, and both share one level.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from outweigh.compare.arm_table import ArmTable, Column, Index
from outweigh.compare.task_alignment import places_of_shared_tasks
from outweigh.verdict.task_drops import Outcomes, drop_p_value, fisher_drop_p, outcome_column, rated_outcomes

Runs = Sequence[float]

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
    name_lesser: Callable[[], list[str]]

    @property
    def lesser(self) -> tuple[str, ...]:
        """The names of the tasks that lost a part of their checks, of which there may be millions."""
        return tuple(self.name_lesser())

    def is_alarm(self, alpha: float) -> bool:
        """Whether more tasks collapsed, or one fell deeper, than chance explains."""
        return bool(self.dropped) and self.p_value is not None and self.p_value <= alpha


class _Alike(NamedTuple):
    """Tasks with the same outcomes, by their places; most tasks share theirs with many others.

    They are plain where all outcomes are 0 or 1.
    """

    before: Runs
    after: Runs
    places: Sequence[int] | Index
    is_plain: bool

    def p_value(self) -> float:
        """The p-value of a drop; 1 for shares of checks with so few runs that the test of ranks is not exact enough."""
        return drop_p_value(self.before, self.after) if self.is_plain or self._can_be_ranked() else 1.0

    def chance(self, level: float, fall: float = 0.0) -> float:
        """How likely a drop at this level and of this size is if the outcomes were dealt to both arms at random."""
        if self.is_plain:
            passes = int(sum(self.before) + sum(self.after))
            return chance_of_lost_passes(len(self.before), len(self.after), passes, level, fall)
        # Ranks of shares of checks: their test holds its level, and no more than that is needed.
        return level if self._can_be_ranked() else 0.0

    def _can_be_ranked(self) -> bool:
        return min(len(self.before), len(self.after)) >= REPEATS_TO_DETECT


def collapse_test(baseline: ArmTable, candidate: ArmTable) -> CollapseTest:
    """Find the tasks that both arms ran and whose drop has an exact p-value of at most 1 %, and test their number."""
    arms = baseline, candidate
    places = places_of_shared_tasks(*arms)
    before, after = (_ArmOutcomes(arm, own) for arm, own in zip(arms, places, strict=True))
    rated = (before.runs > 0) & (after.runs > 0)
    plain = rated & before.is_plain & after.is_plain
    alike = [
        *_group(before, after, plain),
        *(
            _Alike(before.values(place), after.values(place), (place,), is_plain=False)
            for place in np.flatnonzero(rated & ~plain).tolist()
        ),
    ]

    def names(chosen: Index) -> list[str]:
        own = chosen if places[0] is None else places[0][chosen]
        return [baseline.tasks[place] for place in own.tolist()]

    return _test_collapses(alike, names)


class _ArmOutcomes:
    """The outcomes of an arm's tasks, in the order of the tasks of both arms.

    An outcome is the objective of a counted run; one that ended in a crash or a timeout before its checks achieved
    nothing. A task is plain where all of its outcomes are 0 or 1.
    """

    def __init__(self, arm: ArmTable, places: Index | None) -> None:
        rated, shares = arm.sums_of_each(("outcome", "shares of checks"), _outcomes_and_shares)
        runs, passes, plain = rated.counts, rated.sums, shares.counts == 0
        if places is not None:
            runs, passes, plain = runs[places], passes[places], plain[places]
        self.runs, self.passes, self.is_plain = runs, passes, plain
        self._arm = arm
        self._chosen = places

    def values(self, place: int) -> list[float]:
        """The outcomes of one task."""
        return self._outcomes[self._starts[place] : self._ends[place]]

    @cached_property
    def _rated(self) -> tuple[Column, Index]:
        return rated_outcomes(self._arm)

    @cached_property
    def _outcomes(self) -> list[float]:
        return self._rated[0].tolist()  # type: ignore[no-any-return]

    @property
    def _places(self) -> Index:
        return np.arange(len(self._arm.tasks)) if self._chosen is None else self._chosen

    @cached_property
    def _starts(self) -> list[int]:
        return np.searchsorted(self._rated[1], self._places, "left").tolist()  # type: ignore[no-any-return]

    @cached_property
    def _ends(self) -> list[int]:
        return np.searchsorted(self._rated[1], self._places, "right").tolist()  # type: ignore[no-any-return]


def _outcomes_and_shares(arm: ArmTable) -> tuple[Column, Column]:
    """The outcomes, and beside them those that are neither a pass nor a failure; NaN for all others."""
    outcomes = outcome_column(arm)
    return outcomes, np.where((outcomes != 0) & (outcomes != 1), outcomes, np.nan)


def _group(before: _ArmOutcomes, after: _ArmOutcomes, chosen: NDArray[np.bool_]) -> Iterator[_Alike]:
    """The chosen tasks by how many runs they have, and how many of them passed."""
    if not chosen.any():
        return
    parts = [part if chosen.all() else part[chosen] for part in (before.runs, before.passes, after.runs, after.passes)]
    most = max(int(part.max()) for part in parts) + 1
    # Small numbers are put in order much faster.
    kind = np.min_scalar_type(-(most**4))
    keys = np.zeros(len(parts[0]), dtype=kind)
    for part in parts:
        keys *= kind.type(most)
        keys += part.astype(kind)
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    for alike in np.split(np.flatnonzero(chosen)[order], np.flatnonzero(ranked[1:] != ranked[:-1]) + 1):
        first = alike[0]
        yield _Alike(
            _plain(int(before.runs[first]), int(before.passes[first])),
            _plain(int(after.runs[first]), int(after.passes[first])),
            alike,
            is_plain=True,
        )


def _plain(runs: int, passes: int) -> list[float]:
    return [1.0] * passes + [0.0] * (runs - passes)


def count_collapses(before: Outcomes, after: Outcomes) -> CollapseTest:
    """The same for outcomes by task."""
    shared = [task for task in before if task in after]
    alike = [
        _Alike(before[task], after[task], (place,), _is_pass_or_fail(before[task], after[task]))
        for place, task in enumerate(shared)
    ]
    return _test_collapses(alike, lambda chosen: [shared[place] for place in chosen.tolist()])


def _test_collapses(alike: Sequence[_Alike], names: Callable[[Index], list[str]]) -> CollapseTest:
    dropped: dict[int, DroppedTask] = {}
    lesser = [np.zeros(0, dtype=np.intp)]
    for group in alike:
        means = _mean(group.before), _mean(group.after)
        if means[1] >= means[0]:
            continue
        p_value = group.p_value()
        if p_value > DROP_LEVEL:
            lesser.append(np.asarray(group.places, dtype=np.intp))
            continue
        chosen = np.asarray(group.places, dtype=np.intp)
        for place, name in zip(chosen.tolist(), names(chosen), strict=True):
            dropped[place] = DroppedTask(task_id=name, before=means[0], after=means[1], p_value=p_value)
    in_order = [dropped[place] for place in sorted(dropped)]
    others = np.concatenate(lesser)
    return CollapseTest(
        dropped=tuple(in_order),
        testable=sum(len(group.places) for group in alike if group.chance(DROP_LEVEL) > 0),
        p_value=_p_value(in_order, alike),
        name_lesser=lambda: names(np.sort(others)),
    )


def _mean(outcomes: Runs) -> float:
    return sum(outcomes) / len(outcomes)


def is_collapse(before: float, after: float) -> bool:
    """Whether nearly everything was lost, rounding errors aside."""
    return before - after >= COLLAPSE - 1e-9


def _p_value(dropped: Sequence[DroppedTask], alike: Sequence[_Alike]) -> float | None:
    """Chance of so many collapses, or of one drop so deep, if every task's outcomes were dealt to the arms at random.

    None where no task's runs could show a drop.
    """
    if not any(group.chance(DROP_LEVEL) for group in alike):
        return None
    if not dropped:
        return 1.0
    collapses = sum(task.collapsed for task in dropped)
    counted = _count_p_value(collapses, _chances(alike, DROP_LEVEL, COLLAPSE))
    lowest = min(task.p_value for task in dropped)
    deepest = _count_p_value(1, _chances(alike, lowest, 0.0))
    return min(1.0, counted / COUNT_SHARE, deepest / (1 - COUNT_SHARE))


def _chances(alike: Sequence[_Alike], level: float, fall: float) -> Counter[float]:
    """How many tasks have each chance of a drop."""
    found: Counter[float] = Counter()
    for group in alike:
        found[group.chance(level, fall)] += len(group.places)
    return found


def count_p_value(count: int, chances: Sequence[float]) -> float:
    """Chance of at least so many events, each with its own probability (Poisson-binomial)."""
    return _count_p_value(count, Counter(chances))


def _count_p_value(count: int, chances: Mapping[float, int]) -> float:
    if not count:
        return 1.0
    law = np.ones(1)
    for chance, tasks in chances.items():
        if chance > 0:
            # Beyond the count only the sum matters, so the law is kept short.
            law = np.convolve(law, _binomial_law(tasks, chance, count))[: count + 1]
    return float(max(0.0, 1 - law[:count].sum()))


def _binomial_law(tasks: int, chance: float, most: int) -> Column:
    """The chances of 0, 1, … events among so many tasks, up to `most`."""
    if chance >= 1:
        return np.eye(1, min(tasks, most) + 1, tasks)[0] if tasks <= most else np.zeros(most + 1)
    events = np.arange(1, min(tasks, most) + 1)
    steps = np.log((tasks - events + 1) / events * (chance / (1 - chance)))
    law: Column = np.exp(tasks * np.log1p(-chance) + np.concatenate([[0.0], np.cumsum(steps)]))
    return law


def _is_pass_or_fail(before: Runs, after: Runs) -> bool:
    return all(value in (0.0, 1.0) for value in (*before, *after))


def chance_of_a_drop(before: Runs, after: Runs, level: float, *, fall: float = 0.0) -> float:
    """How likely a drop at this level and of this size is if the task's outcomes were dealt to both arms at random."""
    return _Alike(before, after, (), _is_pass_or_fail(before, after)).chance(level, fall)


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
