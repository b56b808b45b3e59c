"""Composites that may be compared: one reference for cost, one set of judges per task."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from outweigh.compare.arm_table import ArmTable, Column, tabulate
from outweigh.errors import name_some
from outweigh.score.composite import NEUTRAL, SIGNALS, CostAdjustment, composite, cost_adjustment
from outweigh.score.panel import Seat
from outweigh.score.profile import EVEN, Profile
from outweigh.score.score import Score

Reference = Mapping[str, float | None]
SeatsOf = Callable[[Score], frozenset[Seat]]


class Composer:
    """Knows the reference arm and the judges that all arms share, and so can give every run its composite."""

    def __init__(self, reference_arm: str, arms: Mapping[str, Sequence[Score]], profile: Profile) -> None:
        self._reference_arm = reference_arm
        self._profile = profile
        self._references = _references(arms[reference_arm])
        self._judged, self._dropped = _judged_tasks(arms.values(), lambda score: score.deciding_seats)
        self._shown, self._hidden = _judged_tasks(arms.values(), lambda score: score.seats)
        self._left_out: Counter[str] = Counter()
        self._unadjusted = 0

    def tabulate(self, name: str, scores: Sequence[Score]) -> ArmTable:
        """Lay one arm out with its composites, and with judge scores only where all arms have the same judges.

        `deciding_judge_score` is a column, and no metric: it is `judge_score` without judges who may not decide.
        """
        table = tabulate(name, scores, composite=self._composite, composite_even=self._even)
        decisive = np.array([_or_nan(run.deciding_judge_score) for run in table.runs], dtype=np.float64)
        scores_of_judges = {
            "judge_score": _where_judged(table, table.columns["judge_score"], self._shown),
            "deciding_judge_score": _where_judged(table, decisive, self._judged),
        }
        return replace(table, columns={**table.columns, **scores_of_judges})

    @property
    def unequally_judged(self) -> tuple[str, ...]:
        """Tasks whose judge scores are left out, because some of their runs lack a judge or a pass that others have."""
        return tuple(self._dropped)

    def warnings(self) -> tuple[str, ...]:
        """What had to be left out of the composites laid out so far."""
        notes = []
        if left_out := list(dict.fromkeys((*self._hidden, *self._dropped))):
            notes.append(
                f"judge scores are left out of {name_some(left_out)} on both sides: not every run has the same judges, "
                "models, prompts, rubrics and passes. Judge the missing runs to bring them back."
            )
        for signal, runs in sorted(self._left_out.items()):
            notes.append(f"{signal} is left out of the cost adjustment of {runs} runs: not reported on both sides.")
        if self._unadjusted:
            notes.append(f"{self._unadjusted} runs have no cost adjustment: no cost signal is reported on both sides.")
        return tuple(notes)

    def _composite(self, run: Score) -> float | None:
        return composite(
            run.dimensions(judged=run.task_id in self._judged), self._profile, self._adjustment(run).value
        ).value

    def _even(self, run: Score) -> float | None:
        return composite(run.dimensions(judged=run.task_id in self._judged), EVEN, 0.0).value

    def _adjustment(self, run: Score) -> CostAdjustment:
        reference = self._references.get(run.task_id)
        if run.arm == self._reference_arm or reference is None or self._profile.cost_weight == 0:
            return NEUTRAL
        adjustment = cost_adjustment(run.signals(), reference, self._profile.cost_weight)
        self._left_out.update(adjustment.left_out)
        self._unadjusted += len(adjustment.left_out) == len(SIGNALS)
        return adjustment


def _where_judged(table: ArmTable, column: Column, tasks: Set[str]) -> Column:
    judged = np.array([task in tasks for task in table.tasks], dtype=bool)[table.task_of]
    return np.where(judged, column, np.nan)


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else value


def _references(scores: Iterable[Score]) -> dict[str, Reference]:
    """Mean of every cost signal over the counted runs of each task."""
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: {signal: [] for signal in SIGNALS})
    for score in scores:
        if score.counted:
            task = values[score.task_id]
            for signal, value in score.signals().items():
                if value is not None:
                    task[signal].append(value)
    return {
        task_id: {signal: sum(known) / len(known) if known else None for signal, known in signals.items()}
        for task_id, signals in values.items()
    }


def _judged_tasks(arms: Iterable[Sequence[Score]], seats_of: SeatsOf) -> tuple[set[str], list[str]]:
    """Tasks whose every counted run has the same judges, all answers of them, and tasks where some are missing."""
    panels: dict[str, set[frozenset[Seat]]] = defaultdict(set)
    for scores in arms:
        for score in scores:
            if score.counted:
                panels[score.task_id].add(seats_of(score))
    judged = {task for task, seen in panels.items() if len(seen) == 1 and all(map(_is_complete, seen))}
    dropped = [task for task, seen in panels.items() if task not in judged and any(seen)]
    return judged, dropped


def _is_complete(seats: frozenset[Seat]) -> bool:
    return bool(seats) and all(seat.complete for seat in seats)
