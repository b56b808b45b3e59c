"""Task by task, down to the single run: folded away until somebody asks."""

from collections.abc import Sequence

import numpy as np

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.comparison import Comparison
from outweigh.report.document import Block, Fold, Table
from outweigh.report.wording import UNKNOWN, count, dollars, seconds
from outweigh.score.score import Score

MOST_TASKS = 2_400
MOST_OPENED = 300
MOST_RUNS = 2_000
"""Rows of tasks, tasks with runs, and rows of runs on a page, shared by its candidates: it has to fit into a mail."""

COLUMNS = ("passes", "duration, mean", "non-cache tokens, mean", "cost, mean")


def task_folds(comparison: Comparison, candidates: int) -> list[Block]:
    """A table of all tasks, then the runs of each; of very many, those that changed the most."""
    tasks = _by_change(comparison)
    if not tasks:
        return []
    blocks: list[Block] = [_table(comparison, tasks[: MOST_TASKS // candidates])]
    runs = _runs_by_task(comparison)
    room = MOST_RUNS // candidates
    for task in tasks[: MOST_OPENED // candidates]:
        room -= len(runs[task])
        if room < 0:
            break
        blocks.append(_fold(task, runs[task]))
    opened = len(blocks) - 1
    left = f"; the runs of the {opened} that changed the most" if opened < len(tasks) else ", each with its runs"
    title = f"Task by task: {len(tasks)} tasks{left}"
    instead = "The page for the browser has every task with its runs (`outweigh report … -o report.html`)."
    return [Fold(title=title, instead=instead, blocks=tuple(blocks))]


def _by_change(comparison: Comparison) -> list[str]:
    """Tasks with the largest change of passes first, worse before better; unknown ones last."""
    before, after = _passes(comparison.baseline_table), _passes(comparison.candidate_table)

    def rank(task: str) -> tuple[float, float]:
        mine, theirs = after.get(task, np.nan), before.get(task, np.nan)
        change = mine - theirs
        return (1.0, 0.0) if np.isnan(change) else (-abs(change), change)

    return sorted((task.task_id for task in comparison.tasks), key=rank)


def _passes(arm: ArmTable) -> dict[str, float]:
    return dict(zip(arm.tasks, arm.mean_per_task("passed").tolist(), strict=True))


def _runs_by_task(comparison: Comparison) -> dict[str, list[Score]]:
    found: dict[str, list[Score]] = {task.task_id: [] for task in comparison.tasks}
    for arm in (comparison.baseline_table, comparison.candidate_table):
        for run in (*arm.runs, *arm.excluded):
            found[run.task_id].append(run)
    return found


def _table(comparison: Comparison, tasks: Sequence[str]) -> Table:
    arms = (comparison.baseline_table, comparison.candidate_table)
    figures = [_figures(arm) for arm in arms]
    none = (UNKNOWN,) * len(COLUMNS)
    rows = tuple(
        (task, *(side.get(task, none)[place] for place in range(len(COLUMNS)) for side in figures)) for task in tasks
    )
    some = "" if len(tasks) == len(comparison.tasks) else f", {len(tasks)} of {len(comparison.tasks)}"
    return Table(
        title=f"Tasks, the largest change of passes first{some}",
        columns=("", *(f"{column}, {arm.name}" for column in COLUMNS for arm in arms)),
        rows=rows,
    )


def _figures(arm: ArmTable) -> dict[str, tuple[str, ...]]:
    known, won = arm.known_per_task("passed").tolist(), arm.sum_per_task("passed").tolist()
    columns = [arm.mean_per_task(name).tolist() for name in ("duration_seconds", "non_cache_tokens", "cost_usd")]
    return {
        task: (
            f"{won[place]:.0f}/{known[place]}" if known[place] else UNKNOWN,
            seconds(_known(columns[0][place])),
            count(_known(columns[1][place])),
            dollars(_known(columns[2][place])),
        )
        for place, task in enumerate(arm.tasks)
    }


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _fold(task: str, runs: Sequence[Score]) -> Fold:
    rows = tuple(
        (
            f"{run.arm}, {run.repeat}",
            run.status.value,
            {1.0: "passed", 0.0: "failed"}.get(run.passed, UNKNOWN) if run.passed is not None else UNKNOWN,
            seconds(run.duration_seconds),
            count(run.non_cache_tokens),
            dollars(run.cost_usd),
            run.run_id,
        )
        for run in runs
    )
    columns = ("arm, repeat", "status", "result", "duration", "non-cache tokens", "cost", "run")
    return Fold(title=task, instead="", blocks=(Table(title=f"Runs of {task}", columns=columns, rows=rows),))
