"""The composites of arms that are compared: one cost reference, and one set of judges per task."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial

import numpy as np
from msgspec.structs import replace

from outweigh.compare.arm_table import NO_FALSE_TRIGGER, TRIGGER_RECALL, ArmTable, Column, all_know
from outweigh.compare.composite_columns import NO_ADJUSTMENTS, CostAdjustments, adjust_costs, composite_column
from outweigh.compare.missing_judgments import TWO_ARMS, FillRule, complete_judging
from outweigh.compare.run_columns import (
    Computed,
    StoredAttempts,
    StoredParts,
    as_column,
    numbers_of,
)
from outweigh.compare.run_scores import has_any
from outweigh.compare.tabulate_arm import metric_columns, tabulate_scored, tabulate_stored
from outweigh.compare.task_alignment import places_among, same_tasks
from outweigh.errors import quote_names
from outweigh.score.composite import COST_SIGNALS, EVEN, Profile
from outweigh.score.judge_scores import JudgeCount
from outweigh.score.metrics import METRICS, Metric
from outweigh.score.run_score import Score

JudgesOf = Callable[[Score], frozenset[JudgeCount]]


class CompositeScorer:
    """Gives every run its composite: it holds the reference arm and the judges that all arms share."""

    def __init__(
        self,
        reference_arm: str,
        arms: Mapping[str, Sequence[Score]],
        profile: Profile,
        metrics: tuple[Metric, ...] = METRICS,
        filling: FillRule = TWO_ARMS,
    ) -> None:
        self._reference_arm = reference_arm
        self._metrics = metrics
        self._profile = profile
        self._stored = {name: scores for name, scores in arms.items() if isinstance(scores, StoredAttempts)}
        if self._stored:
            arms = dict.fromkeys(arms, ())
        self._reference = tabulate_scored(reference_arm, arms[reference_arm], {}, metrics)
        judging = complete_judging(arms, filling)
        self._judging = judging
        self._decided_tasks, self._undecided_tasks = _judged_tasks(
            judging.arms.values(), lambda score: score.deciding_judge_counts, judging.undecided_tasks, filling
        )
        self._shown_tasks, self._hidden_tasks = _judged_tasks(
            judging.arms.values(), lambda score: score.judge_counts, judging.unknown_tasks, filling
        )
        self._left_out: Counter[str] = Counter()
        self._unadjusted = 0

    def tabulate_with_composites(self, name: str) -> ArmTable:
        """Lay one arm out with its composites, and with judge scores only where all arms have the same judges.

        `deciding_judge_score` is a column, and no metric: it is `judge_score` without judges who may not decide.
        """
        if name in self._stored:
            return self._tabulate_stored(name)
        table = tabulate_scored(name, self._judging.arms[name], {}, self._metrics)
        adjustment: Column | float = 0.0
        if name != self._reference_arm and self._profile.cost_weight:
            adjustment = self._adjust(table, self._reference)
        known: dict[str, Callable[[], Column]] = {
            **metric_columns(table.runs, self._metrics),
            "judge_score": partial(_where_judged, table, "judge_score", self._shown_tasks),
            "deciding_judge_score": partial(_where_judged, table, "deciding_judge_score", self._decided_tasks),
        }
        columns, rows = Computed(known), len(table.runs)
        composites: dict[str, Callable[[], Column]] = {
            "composite": partial(composite_column, columns, rows, self._profile, adjustment),
            "composite_even": partial(composite_column, columns, rows, EVEN, 0.0),
        }
        return replace(table, kept={}, columns=Computed({**known, **composites, **_trigger_columns(table.runs)}))

    @property
    def unequally_judged(self) -> tuple[str, ...]:
        """Tasks whose judge scores are left out, because some of their runs lack a judge or a pass that others have."""
        return tuple(self._undecided_tasks)

    def _tabulate_stored(self, name: str) -> ArmTable:
        """An arm that is stored as columns. Nobody judged its runs: those that are judged are read one by one."""
        reference = self._stored_reference()
        if name == self._reference_arm:
            return reference
        adjusted = bool(self._profile.cost_weight)

        def composites_of(place: int, part: ArmTable) -> dict[str, Callable[[], Column]]:
            def adjustment() -> Column | float:
                return self._adjustments(part, reference.parts[place]).values if adjusted else 0.0

            return self._composites(part, adjustment)

        table = tabulate_stored(name, self._stored[name], composites_of, self._metrics)
        if adjusted and isinstance(table.runs, StoredParts):
            for found in table.runs.map(self._lacking_signals, table.parts, reference.parts):
                self._count(found)
        return table

    def _stored_reference(self) -> ArmTable:
        """The reference arm, whose composites are not adjusted. All arms that are compared with it share its sums."""
        kept = self._stored[self._reference_arm].kept
        key = "reference", self._profile, self._metrics
        if key not in kept:

            def composites_of(_: int, part: ArmTable) -> dict[str, Callable[[], Column]]:
                return self._composites(part, lambda: 0.0)

            attempts = self._stored[self._reference_arm]
            kept[key] = tabulate_stored(self._reference_arm, attempts, composites_of, self._metrics)
        found: ArmTable = kept[key]
        return found

    def _composites(self, part: ArmTable, adjustment: Callable[[], Column | float]) -> dict[str, Callable[[], Column]]:
        runs = len(part.runs)
        return {
            "composite": lambda: composite_column(part.columns, runs, self._profile, adjustment()),
            "composite_even": partial(composite_column, part.columns, runs, EVEN, 0.0),
        }

    def _lacking_signals(self, part: ArmTable, reference: ArmTable) -> CostAdjustments:
        """The adjustments of a part, which are not computed where all runs know every signal, as most do."""
        if same_tasks(part, reference) and all(all_know(each, COST_SIGNALS) for each in (part, reference)):
            return NO_ADJUSTMENTS
        return self._adjustments(part, reference)

    def _adjust(self, arm: ArmTable, reference: ArmTable) -> Column:
        found = self._adjustments(arm, reference)
        self._count(found)
        return found.values

    def _count(self, found: CostAdjustments) -> None:
        self._left_out.update({signal: runs for signal, runs in found.left_out.items() if runs})
        self._unadjusted += found.unadjusted

    def _adjustments(self, arm: ArmTable, reference: ArmTable) -> CostAdjustments:
        rows = places_among(arm.tasks, reference.tasks)
        known = rows >= 0
        # A task that the reference lacks gets a place after all of its own, and so no mean.
        owners = np.where(known, rows, len(reference.tasks))[arm.task_of]
        return adjust_costs(
            arm.columns,
            owners,
            reference.columns,
            reference.task_of,
            len(reference.tasks) + 1,
            self._profile.cost_weight,
        )

    @property
    def judging_notes(self) -> tuple[str, ...]:
        """How many missing answers of judges were filled in, and where a judge failed on one arm."""
        return self._judging.notes

    def warnings(self) -> tuple[str, ...]:
        """What had to be left out of the composites laid out so far."""
        notes = []
        if left_out := list(dict.fromkeys((*self._hidden_tasks, *self._undecided_tasks))):
            notes.append(
                f"judge scores are left out of {quote_names(left_out)} on both sides: not every run has the same "
                "judges, models, prompts, rubrics and passes. Judge the missing runs to bring them back."
            )
        for signal, runs in sorted(self._left_out.items()):
            notes.append(f"{signal} is left out of the cost adjustment of {runs} runs: not reported on both sides.")
        if self._unadjusted:
            notes.append(f"{self._unadjusted} runs have no cost adjustment: no cost signal is reported on both sides.")
        return tuple(notes)


def _trigger_columns(runs: Sequence[Score]) -> dict[str, Callable[[], Column]]:
    return {TRIGGER_RECALL: partial(_fired, runs), NO_FALSE_TRIGGER: partial(_stayed_silent, runs)}


def _fired(runs: Sequence[Score]) -> Column:
    return as_column(run.fired if run.should_fire else None for run in runs)


def _stayed_silent(runs: Sequence[Score]) -> Column:
    return as_column(1 - run.fired if run.should_fire is False and run.fired is not None else None for run in runs)


def _where_judged(table: ArmTable, field: str, tasks: Set[str]) -> Column:
    if not tasks:
        return np.full(len(table.runs), np.nan)
    judged = np.array([task in tasks for task in table.tasks], dtype=bool)[table.task_of]
    return np.where(judged, numbers_of(table.runs, field), np.nan)


def _judged_tasks(
    arms: Iterable[Sequence[Score]], counts_of: JudgesOf, unknown: Set[str], filling: FillRule
) -> tuple[set[str], list[str]]:
    """Tasks whose every counted run has the same judges, all answers of them, and tasks where some are missing.

    `unknown` tasks are among the latter, whatever their runs have. Of many arms, runs that nobody judged do not count.
    """
    arms = tuple(arms)
    if not any(has_any(scores, "judge_opinions") for scores in arms):
        return set(), []
    panels: dict[str, set[frozenset[JudgeCount]]] = defaultdict(set)
    for scores in arms:
        for score in scores:
            if score.counted and (counts_of(score) or not filling.by_arm):
                panels[score.task_id].add(counts_of(score))
    judged = {task for task, seen in panels.items() if len(seen) == 1 and all(map(_is_complete, seen))} - unknown
    dropped = [task for task, seen in panels.items() if task not in judged and any(seen)]
    return judged, dropped


def _is_complete(judge_counts: frozenset[JudgeCount]) -> bool:
    return bool(judge_counts) and all(judge_count.complete for judge_count in judge_counts)
