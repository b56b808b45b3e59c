"""A suite over time: each arm's figures run by run of the suite, what changed between two, and which tasks flipped.

Two points of an arm are compared on the tasks that both ran with the same checksum, and on no others.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from outweigh.model.run_record import AgentKind
from outweigh.score.run_score import Score
from outweigh.stats.estimate import Estimate, Unit, excludes
from outweigh.stats.means import mean_interval
from outweigh.verdict.task_drops import fisher_drop_p

LEVEL = 0.95
FLIP_LEVEL = 0.05
"""How often any task of an arm is said to have flipped where none did."""

TaskKey = tuple[str, str | None]
"""A task and its checksum: a changed task is another one."""


class HistoryPoint(Struct, frozen=True, kw_only=True):
    """An arm in one store: its runs, and what it was. `decision` is the verdict about it there, None for a baseline.

    `arm` is the arm of the suite, `version` its name in the store.
    """

    store: str
    suite: str
    arm: str
    version: str
    fingerprint: str | None
    origin: str | None
    agents: tuple[str, ...]
    models: tuple[str, ...]
    decision: str | None
    runs: Sequence[Score]

    @property
    def began_at(self) -> datetime | None:
        """When its first run began; None where no run says so."""
        return min((run.started_at for run in self.runs if run.started_at is not None), default=None)

    @property
    def tasks(self) -> frozenset[TaskKey]:
        """The tasks that it was run on."""
        return frozenset((run.task_id, run.task_checksum) for run in self.runs)

    def outcomes(self) -> Mapping[TaskKey, tuple[int, int]]:
        """Passes and runs of known outcome by task."""
        counts: dict[TaskKey, list[int]] = defaultdict(lambda: [0, 0])
        for run in self.runs:
            if run.passed is not None:
                counts[run.task_id, run.task_checksum][0] += run.passed == 1
                counts[run.task_id, run.task_checksum][1] += 1
        return {task: (passed, made) for task, (passed, made) in counts.items()}


class PointChange(Struct, frozen=True, kw_only=True):
    """What differs from the point before. `causes` are what changed; none means that only time has passed.

    `delta` is the change of the pass rate over the `shared` tasks; `added`, `removed` and `edited` are tasks.
    """

    causes: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    edited: tuple[str, ...]
    shared: int
    delta: Estimate

    @property
    def is_drift(self) -> bool:
        """Whether the same set-up was run again, so that a difference comes from elsewhere."""
        return not self.causes

    @property
    def suite_changed(self) -> bool:
        """Whether the two ran different tasks."""
        return bool(self.added or self.removed or self.edited)

    @property
    def is_shown(self) -> bool:
        """Whether the pass rate moved beyond what chance explains."""
        return excludes(self.delta.interval, 0.0)


class PointFigures(Struct, frozen=True, kw_only=True):
    """The figures of one point, each over tasks; unknown costs stay unknown."""

    point: HistoryPoint
    pass_rate: Estimate
    cost_usd: Estimate
    unknown_costs: int
    change: PointChange | None

    @property
    def simulated(self) -> bool:
        """Whether the agents only pretended, so that nothing was paid."""
        return all(run.agent_kind is AgentKind.SCRIPTED for run in self.point.runs)


class TaskFlip(Struct, frozen=True, kw_only=True):
    """A task that passes otherwise from one point on, beyond what chance explains.

    `p_value` is corrected for the places where it could have flipped and for all tasks of the arm.
    """

    task: str
    place: int
    passes_before: int
    runs_before: int
    passes_after: int
    runs_after: int
    p_value: float


class ArmHistory(Struct, frozen=True, kw_only=True):
    """One arm of a suite over time. `unstable` tasks passed sometimes, and no flip explains it beyond chance."""

    suite: str
    arm: str
    points: tuple[PointFigures, ...]
    flips: tuple[TaskFlip, ...]
    unstable: tuple[str, ...]


def arm_histories(points: Sequence[HistoryPoint]) -> tuple[ArmHistory, ...]:
    """Every arm of every suite, its points in the order of time; a run that several stores have counts once."""
    lines: dict[tuple[str, str], list[HistoryPoint]] = defaultdict(list)
    for point in points:
        lines[point.suite, point.arm].append(point)
    return tuple(_history(suite, arm, found) for (suite, arm), found in lines.items())


def _history(suite: str, arm: str, found: Sequence[HistoryPoint]) -> ArmHistory:
    points = sorted(found, key=lambda point: (point.began_at is None, point.began_at or 0, point.store, point.version))
    figures = [
        PointFigures(
            point=point,
            pass_rate=_rate_over_tasks(point),
            cost_usd=_cost_over_tasks(point),
            unknown_costs=sum(run.cost_usd is None for run in point.runs),
            change=None if place == 0 else compare_points(points[place - 1], point),
        )
        for place, point in enumerate(points)
    ]
    flips, unstable = find_flips([point.outcomes() for point in points])
    return ArmHistory(suite=suite, arm=arm, points=tuple(figures), flips=flips, unstable=unstable)


def _rate_over_tasks(point: HistoryPoint) -> Estimate:
    rates = [passed / made for passed, made in point.outcomes().values() if made]
    return _within(mean_interval(rates, level=LEVEL, unit=Unit.TASK), 0.0, 1.0)


def _within(estimate: Estimate, least: float, most: float) -> Estimate:
    """The estimate with its interval cut to the values that are possible, which loses no truth that it held."""
    found = estimate.interval
    if found is None:
        return estimate
    return replace(estimate, interval=replace(found, low=max(least, found.low), high=min(most, found.high)))


def _cost_over_tasks(point: HistoryPoint) -> Estimate:
    """The mean cost of a run over tasks; unknown where any run's is."""
    costs: dict[str, list[float]] = defaultdict(list)
    for run in point.runs:
        costs[run.task_id].append(float("nan") if run.cost_usd is None else run.cost_usd)
    return mean_interval([float(np.mean(each)) for each in costs.values()], level=LEVEL, unit=Unit.TASK)


def compare_points(before: HistoryPoint, after: HistoryPoint) -> PointChange:
    """What changed between two points, and the pass rate on the tasks that both ran unchanged."""
    old, new = before.outcomes(), after.outcomes()
    shared = sorted(task for task in old.keys() & new.keys() if old[task][1] and new[task][1])
    names_before, names_after = ({task for task, _ in each.tasks} for each in (before, after))
    kept = {task for task, _ in before.tasks & after.tasks}
    changes = [new[task][0] / new[task][1] - old[task][0] / old[task][1] for task in shared]
    return PointChange(
        causes=tuple(_causes(before, after)),
        added=tuple(sorted(names_after - names_before)),
        removed=tuple(sorted(names_before - names_after)),
        edited=tuple(sorted((names_before & names_after) - kept)),
        shared=len(shared),
        delta=_within(mean_interval(changes, level=LEVEL, unit=Unit.TASK), -1.0, 1.0),
    )


def _causes(before: HistoryPoint, after: HistoryPoint) -> Iterator[str]:
    if before.models != after.models:
        yield "model"
    if before.fingerprint is None or after.fingerprint is None:
        yield "set-up unknown"
    elif before.fingerprint != after.fingerprint:
        yield "set-up"
    if before.agents != after.agents:
        yield "agent version"


def find_flips(
    points: Sequence[Mapping[TaskKey, tuple[int, int]]],
) -> tuple[tuple[TaskFlip, ...], tuple[str, ...]]:
    """The tasks that flipped, and those that are only unstable.

    Of each task the best split in time is tested by Fisher's exact test, both ways, with Bonferroni's correction over
    the splits and Holm's over the tasks.
    """
    best: dict[TaskKey, TaskFlip] = {}
    mixed: set[TaskKey] = set()
    for task in sorted({key for each in points for key in each}, key=lambda key: (key[0], key[1] or "")):
        counts = np.array([each.get(task, (0, 0)) for each in points], dtype=np.int64)
        passed, made = (int(total) for total in counts.sum(axis=0))
        if 0 < passed < made:
            mixed.add(task)
            best[task] = _best_split(task[0], counts)
    flips = _holm(best)
    named = {flip.task for flip in flips}
    return flips, tuple(sorted({task for task, _ in mixed} - named))


def _best_split(task: str, counts: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> TaskFlip:
    places = [place for place in range(1, len(counts)) if counts[:place, 1].any() and counts[place, 1]]
    found: list[TaskFlip] = []
    for place in places:
        (passed, made), (later, more) = (
            tuple(int(total) for total in part.sum(axis=0)) for part in (counts[:place], counts[place:])
        )
        one_sided = min(
            fisher_drop_p(made, passed, more, later), fisher_drop_p(made, made - passed, more, more - later)
        )
        found.append(
            TaskFlip(
                task=task,
                place=place,
                passes_before=passed,
                runs_before=made,
                passes_after=later,
                runs_after=more,
                p_value=min(1.0, 2 * one_sided * len(places)),
            )
        )
    nothing = TaskFlip(task=task, place=0, passes_before=0, runs_before=0, passes_after=0, runs_after=0, p_value=1.0)
    return min(found, key=lambda flip: flip.p_value, default=nothing)


def _holm(best: Mapping[TaskKey, TaskFlip]) -> tuple[TaskFlip, ...]:
    """The flips that hold together, each with its corrected p-value."""
    ordered = sorted(best.values(), key=lambda flip: flip.p_value)
    named: list[TaskFlip] = []
    reached = 0.0
    for rank, flip in enumerate(ordered):
        reached = max(reached, min(1.0, (len(ordered) - rank) * flip.p_value))
        if reached > FLIP_LEVEL:
            break
        named.append(replace(flip, p_value=reached))
    return tuple(sorted(named, key=lambda flip: (flip.place, flip.task)))
