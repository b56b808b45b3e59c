"""Lays one arm out as columns: scores in memory, or runs that are stored in parts."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from msgspec.structs import replace

from outweigh.compare.arm_table import OTHER_COLUMNS, ArmTable, Column, ranges_of
from outweigh.compare.run_columns import Computed, StoredAttempts, StoredParts, as_column, names_of, numbers_of
from outweigh.compare.run_scores import ScoredRuns
from outweigh.score.metrics import METRICS, Metric
from outweigh.score.run_score import Score

CompositeOf = Callable[[Score], float | None]


def tabulate_arm(
    name: str,
    scores: Sequence[Score],
    *,
    composite: CompositeOf,
    composite_even: CompositeOf,
    metrics: tuple[Metric, ...] = METRICS,
) -> ArmTable:
    """Lay an arm out as columns, dropping nothing: what is not counted goes to `excluded`."""
    if isinstance(scores, StoredAttempts):
        return tabulate_stored(name, scores, None, metrics)
    runs, _ = ScoredRuns(scores).apart
    composites = {
        "composite": partial(_of_every_run, runs, composite),
        "composite_even": partial(_of_every_run, runs, composite_even),
    }
    return tabulate_scored(name, scores, composites, metrics)


def tabulate_scored(
    name: str, scores: Sequence[Score], others: Mapping[str, Callable[[], Column]], metrics: tuple[Metric, ...]
) -> ArmTable:
    """An arm whose scores are in memory. Its columns, and the `others`, are made when they are asked for."""
    runs, excluded = ScoredRuns(scores).apart
    tasks = names_of(runs, "task_id")
    in_order = not (np.diff(tasks.codes) < 0).any()
    return ArmTable(
        name=name,
        runs=runs,
        excluded=excluded,
        tasks=tuple(tasks.values),
        owners=tasks.codes.astype(np.intp),
        rows=np.bincount(tasks.codes, minlength=len(tasks.values)) if in_order else None,
        columns=Computed({**metric_columns(runs, metrics), **others}),
        metrics=metrics,
        ranges=ranges_of(runs),
    )


def _of_every_run(runs: Sequence[Score], formula: CompositeOf) -> Column:
    return as_column(map(formula, runs))


def metric_columns(runs: Sequence[Score], metrics: tuple[Metric, ...]) -> dict[str, Callable[[], Column]]:
    """What makes the column of every metric that scores have."""
    return {metric.name: partial(numbers_of, runs, metric.name) for metric in metrics if metric.formula is not None}


PartComposites = Callable[[int, ArmTable], Mapping[str, Callable[[], Column]]]
"""Makes the composites of a part, by its place among the parts."""


def tabulate_stored(
    name: str,
    attempts: StoredAttempts,
    composites_of: PartComposites | None = None,
    metrics: tuple[Metric, ...] = METRICS,
) -> ArmTable:
    """The same for an arm that is stored as columns, which are read part by part when they are asked for."""
    runs = attempts.counted
    if not isinstance(runs, StoredParts):
        raise TypeError(f"the runs of {name} are not stored in parts")
    names, rows = runs.task_rows
    parts = [_tabulate_part(name, place, part, composites_of, metrics) for place, part in enumerate(runs.parts)]

    def joined(metric: str) -> Column:
        found = runs.map(lambda part: part.columns[metric], parts)
        return np.concatenate([np.zeros(0), *found])

    known = metric_columns(runs, metrics)
    others = {metric: partial(joined, metric) for metric in OTHER_COLUMNS}
    return ArmTable(
        name=name,
        runs=runs,
        excluded=attempts.excluded,
        tasks=names,
        rows=rows,
        columns=Computed({**known, **others}, keep=False),
        metrics=metrics,
        parts=parts,
    )


def _tabulate_part(
    name: str, place: int, runs: Sequence[Score], composites_of: PartComposites | None, metrics: tuple[Metric, ...]
) -> ArmTable:
    if not isinstance(runs, StoredParts):
        raise TypeError(f"the runs of {name} are not stored in parts")
    names, rows = runs.task_rows
    known = metric_columns(runs, metrics)
    unknown = dict.fromkeys(OTHER_COLUMNS, partial(np.full, len(runs), np.nan))
    plain = ArmTable(
        name=name,
        runs=runs,
        excluded=(),
        tasks=names,
        rows=rows,
        columns=Computed({**known, **unknown}, keep=False),
        metrics=metrics,
    )
    if composites_of is None:
        return plain
    return replace(plain, kept={}, columns=Computed({**known, **unknown, **composites_of(place, plain)}, keep=False))
