"""The tasks that decided it: those that changed the most in what the decision rests on, each with a pair of runs."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf, log

import numpy as np
from msgspec import Struct

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.comparison import Comparison
from outweigh.compare.task_alignment import align_tasks
from outweigh.report.document import Block, RunPair, Table, TaskPairs
from outweigh.report.figures.gates import benefit_interval, deciding_gate
from outweigh.report.formatting import (
    ROUNDING_ERROR,
    SIMULATED,
    UNIT_FORMATS,
    UNKNOWN,
    format_points,
    format_signed,
)
from outweigh.score.metrics import METRICS_BY_NAME, Metric
from outweigh.score.run_score import Score
from outweigh.verdict.decision import Decision, GateState, Verdict
from outweigh.verdict.evidence_settings import GATED_METRICS, PASS_RATE

MOST_TASKS = 6
MOST_AGAINST = 2
"""Of the tasks that are shown, so many went the other way than the decision, where there are any."""

PASSED = METRICS_BY_NAME["passed"]
PAIR_METRICS = ("objective", "judge_score", "duration_seconds", "non_cache_tokens", "cost_usd", "steps", "tool_calls")

_DIRECTIONS = {Decision.IMPROVED: +1, Decision.TRADE_OFF: +1, Decision.REGRESSED: -1}


class TaskChange(Struct, frozen=True, kw_only=True):
    """One task: both arms' figures, and the change, oriented so that more is better."""

    task: str
    before: float
    after: float
    benefit: float


def deciding_tasks(verdict: Verdict, comparison: Comparison, runs: str, *, most: int = MOST_TASKS) -> TaskPairs | None:
    """A table of the tasks with a pair of runs each; None where no task changed."""
    metric = deciding_metric(verdict, comparison)
    changes = list(task_changes(comparison, metric))
    if not changes and metric is not PASSED:
        metric = PASSED
        changes = list(task_changes(comparison, metric))
    chosen = choose_tasks(changes, _DIRECTIONS.get(verdict.decision, 0), _flips(verdict), most)
    if not chosen:
        return None
    flips = {change.task: _flips(verdict)[change.task].words for change in chosen if change.task in _flips(verdict)}
    show = _formatter(metric, comparison)
    rows = tuple(
        (change.task, *show(change), *((flips.get(change.task, "the same"),) if flips else ())) for change in chosen
    )
    columns = ("", f"{comparison.baseline.name} → {comparison.candidate.name}", "change")
    return TaskPairs(
        table=Table(
            title=f"{_title(verdict.decision)}, by {metric.title}",
            columns=(*columns, "decision without it") if flips else columns,
            rows=rows,
        ),
        pairs=tuple(choose_pair(comparison, metric, change, runs) for change in chosen),
        note="The decision rests on all tasks; a single one varies by chance. Each links to two runs side by side.",
    )


def _title(decision: Decision) -> str:
    return "Tasks that decided it" if decision in _DIRECTIONS else "Tasks that changed most"


def merge_task_pairs(parts: Sequence[tuple[str, TaskPairs]]) -> list[Block]:
    """The tables of several candidates as one, with the candidate's name in every row."""
    if not parts:
        return []
    rows = tuple((task, name, *figures[:2]) for name, part in parts for task, *figures in part.table.rows)
    title = parts[0][1].table.title.partition(",")[0]
    table = Table(title=title, columns=("", "candidate", "baseline → candidate", "change"), rows=rows)
    return [
        TaskPairs(table=table, pairs=tuple(pair for _, part in parts for pair in part.pairs), note=parts[0][1].note)
    ]


def _flips(verdict: Verdict) -> Mapping[str, Decision]:
    return {} if verdict.sensitivity is None else verdict.sensitivity.tasks_that_decide


def deciding_metric(verdict: Verdict, comparison: Comparison) -> Metric:
    """Passes where they speak for the decision or none is made; else what the deciding gate measures."""
    quality = next((gate for gate in verdict.gates if gate.name == PASS_RATE and gate.evidence is not None), None)
    gate = deciding_gate(verdict)
    if gate is None or gate.name == PASS_RATE or verdict.decision not in _DIRECTIONS:
        return PASSED
    interval = None if quality is None or quality.evidence is None else benefit_interval(quality.evidence)
    if verdict.decision is Decision.REGRESSED and quality is not None and quality.state is GateState.WORSE:
        return PASSED
    if verdict.decision is not Decision.REGRESSED and interval is not None and interval[0] > 0:
        return PASSED
    metric = METRICS_BY_NAME.get(GATED_METRICS[gate.name].metric, PASSED)
    return metric if metric.name in comparison.baseline_table.columns else PASSED


def task_changes(comparison: Comparison, metric: Metric) -> Iterator[TaskChange]:
    """Every task that both arms know and that changed: by points of a rate, by the log of a ratio else."""
    before, after = comparison.baseline_table, comparison.candidate_table
    rows = align_tasks(before, after)
    olds = before.mean_per_task(metric.name)[rows[:, 0]].tolist()
    news = after.mean_per_task(metric.name)[rows[:, 1]].tolist()
    for place, (old, new) in enumerate(zip(olds, news, strict=True)):
        change = _difference(metric, old, new)
        if change is not None and abs(change) > ROUNDING_ERROR:
            task = before.tasks[rows[place, 0]]
            yield TaskChange(task=task, before=old, after=new, benefit=metric.better * change)


def _difference(metric: Metric, old: float, new: float) -> float | None:
    if np.isnan(old) or np.isnan(new):
        return None
    if metric.unit in ("share", "score"):
        return new - old
    return log(new / old) if old > 0 and new > 0 else None


def choose_tasks(
    changes: Sequence[TaskChange], direction: int, flips: Mapping[str, Decision], most: int
) -> list[TaskChange]:
    """The largest changes, those that the decision hangs on first; a few that went against it come last."""
    ranked = sorted(changes, key=lambda change: (change.task not in flips, -abs(change.benefit), change.task))
    if direction == 0:
        return ranked[:most]
    along = [change for change in ranked if change.benefit * direction > 0]
    against = [change for change in ranked if change.benefit * direction < 0][:MOST_AGAINST]
    return [*along[: most - len(against)], *against] if most > MOST_AGAINST else along[:most]


def _formatter(metric: Metric, comparison: Comparison) -> Callable[[TaskChange], tuple[str, str]]:
    """Both figures of a task in one text, and the change between them."""
    if metric is PASSED:
        before, after = (_passes(arm) for arm in (comparison.baseline_table, comparison.candidate_table))
        return lambda change: (
            f"{before[change.task]} → {after[change.task]} passed",
            format_points(change.after - change.before),
        )
    unit, rate = UNIT_FORMATS[metric.unit], metric.unit in ("share", "score")
    simulated = metric.unit == "dollars" and comparison.simulated

    def show(change: TaskChange) -> tuple[str, str]:
        moved = unit.difference(change.after - change.before)
        return (
            SIMULATED if simulated else f"{unit.value(change.before)} → {unit.value(change.after)}",
            moved if rate else f"{format_signed(100 * (change.after / change.before - 1), 0)} %",
        )

    return show


def _passes(arm: ArmTable) -> dict[str, str]:
    known, sums = arm.known_per_task("passed").tolist(), arm.sum_per_task("passed").tolist()
    return {task: f"{won:.0f}/{runs}" for task, won, runs in zip(arm.tasks, sums, known, strict=True)}


def choose_pair(comparison: Comparison, metric: Metric, change: TaskChange, runs: str) -> RunPair | None:
    """Two runs that show the change: a win and a loss, or the two whose figures lie farthest apart in its direction.

    Runs of the same repeat come first. None where no two runs show it.
    """
    olds, news = (
        [run for run in arm.runs if run.task_id == change.task and getattr(run, metric.name) is not None]
        for arm in (comparison.baseline_table, comparison.candidate_table)
    )
    towards = metric.better if change.benefit > 0 else -metric.better

    def rank(pair: tuple[Score, Score]) -> tuple[float, bool, int, int]:
        old, new = pair
        moved = towards * (getattr(new, metric.name) - getattr(old, metric.name))
        return (-moved if moved > 0 else inf, old.repeat != new.repeat, old.repeat, new.repeat)

    best = min(((old, new) for old in olds for new in news), key=rank, default=None)
    return None if best is None or rank(best)[0] == inf else _run_pair(comparison, *best, runs)


def _run_pair(comparison: Comparison, old: Score, new: Score, runs: str) -> RunPair:
    repeats = (
        f"repeat {old.repeat} of both arms"
        if old.repeat == new.repeat
        else f"repeats {old.repeat} and {new.repeat} of the arms"
    )
    rows = [
        ("result", *(_result(run) for run in (old, new))),
        ("ended as", old.status.value, new.status.value),
        *_pair_figures(comparison, old, new),
        ("run", old.run_id, new.run_id),
    ]
    return RunPair(
        task=old.task_id,
        baseline_run=old.run_id,
        candidate_run=new.run_id,
        table=Table(
            title=f"{old.task_id}: {repeats}",
            columns=("", comparison.baseline.name, comparison.candidate.name),
            rows=tuple(rows),
        ),
        command=shlex.join(["outweigh", "diff", runs, old.run_id, new.run_id]),
    )


def _result(run: Score) -> str:
    return UNKNOWN if run.passed is None else "passed" if run.passed == 1.0 else "failed"


def _pair_figures(comparison: Comparison, old: Score, new: Score) -> Iterator[tuple[str, str, str]]:
    for name in PAIR_METRICS:
        metric = METRICS_BY_NAME[name]
        values = getattr(old, name), getattr(new, name)
        if values == (None, None):
            continue
        if metric.unit == "dollars" and comparison.simulated:
            yield metric.title, SIMULATED, SIMULATED
        else:
            show = UNIT_FORMATS[metric.unit].value
            yield metric.title, show(values[0]), show(values[1])
