"""Which two runs of a task show best how an arm differs from the baseline on it."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.web.run_row import RunRow
from outweigh.web.store_index import StoreIndex
from outweigh.web.store_summary import ArmCounts

MORE_PASSES, FEWER_PASSES, SAME_PASSES = "more passes", "fewer passes", "same passes"
"""How a candidate did on a task. These are counts of runs, which chance alone moves too."""


class TaskPair(NamedTuple):
    """Two runs of one task."""

    baseline: RunRow
    candidate: RunRow


def rows_by_task(index: StoreIndex, tasks: Collection[str]) -> dict[str, list[RunRow]]:
    """The runs of some tasks, in one pass over the store."""
    wanted = {task: list[RunRow]() for task in tasks}
    with index.lock:
        for row in index.rows:
            if row.task_id in wanted and row.status not in EXCLUDED_STATUSES:
                wanted[row.task_id].append(row)
    return wanted


def find_pair(rows: Iterable[RunRow], baseline: str, candidate: str, change: str) -> TaskPair | None:
    """The pair that shows the change; without one, a pair of the same repeat, or the first run of each arm."""
    runs: dict[str, dict[int, RunRow]] = {baseline: {}, candidate: {}}
    for row in rows:
        if row.arm in runs:
            runs[row.arm][row.repeat] = row
    before, after = runs[baseline], runs[candidate]
    if not before or not after:
        return None
    pairs = [TaskPair(before[repeat], after[repeat]) for repeat in sorted(before.keys() & after.keys())]
    if shown := [pair for pair in pairs if _shows(pair, change)]:
        return shown[0]
    crossed = [TaskPair(one, other) for one in before.values() for other in after.values()]
    return next((pair for pair in crossed if _shows(pair, change)), (pairs or crossed)[0])


def _shows(pair: TaskPair, change: str) -> bool:
    passed = pair.baseline.passed, pair.candidate.passed
    return passed == {FEWER_PASSES: (True, False), MORE_PASSES: (False, True)}.get(change)


def compare_passes(baseline: ArmCounts | None, candidate: ArmCounts | None) -> str:
    """Whether an arm passed more of its runs of a task than the baseline; empty if that is unknown."""
    before = None if baseline is None else baseline.pass_rate
    after = None if candidate is None else candidate.pass_rate
    if before is None or after is None:
        return ""
    return SAME_PASSES if before == after else MORE_PASSES if after > before else FEWER_PASSES
