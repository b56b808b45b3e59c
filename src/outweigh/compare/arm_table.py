"""One arm's counted runs as columns, composites included."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from outweigh.compare.metric import COMPOSITES, METRICS
from outweigh.score.score import Score

Column = Sequence[float | None]
CompositeOf = Callable[[Score], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmTable:
    """`columns[metric][i]` belongs to `runs[i]`; excluded runs are kept apart and in no column."""

    name: str
    runs: Sequence[Score]
    excluded: Sequence[Score]
    columns: Mapping[str, Column]

    def rows_by_task(self) -> dict[str, list[int]]:
        """Indices of the counted runs of every task that has any."""
        rows: dict[str, list[int]] = {}
        for index, run in enumerate(self.runs):
            rows.setdefault(run.task_id, []).append(index)
        return rows

    def known(self, metric: str, rows: Iterable[int]) -> list[float]:
        """The values of a metric that are known among some rows."""
        column = self.columns[metric]
        return [value for row in rows if (value := column[row]) is not None]

    def task_ids(self) -> Collection[str]:
        """Every task with a run in this arm, counted or not, in order of first appearance."""
        return dict.fromkeys(run.task_id for run in (*self.runs, *self.excluded))


def tabulate(name: str, scores: Sequence[Score], *, composite: CompositeOf, composite_even: CompositeOf) -> ArmTable:
    """Lay an arm out as columns, dropping nothing: what is not counted goes to `excluded`."""
    runs = [score for score in scores if score.counted]
    columns: dict[str, Column] = {
        metric.name: [getattr(run, metric.name) for run in runs] for metric in METRICS if metric.name not in COMPOSITES
    }
    columns["composite"] = [composite(run) for run in runs]
    columns["composite_even"] = [composite_even(run) for run in runs]
    return ArmTable(name=name, runs=runs, excluded=[score for score in scores if not score.counted], columns=columns)
