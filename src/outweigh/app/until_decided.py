"""When a run that ends at a decision may end: the planned looks of the evidence policy.

Not in the engine, which attempts trials and knows no verdict. Every record is scored once, when its task is complete; a
look reads nothing again.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from queue import SimpleQueue

from msgspec.structs import replace

from outweigh.app.candidate_family import place_tried, prepare_version
from outweigh.compare.change_table import join_tables
from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.compare.evidence import Evidence, gather
from outweigh.compare.stale_runs import set_stale_aside
from outweigh.engine.batch import EndReason, LookResult
from outweigh.model.codec import LocatedRecord
from outweigh.model.look_plan import LookPlan, plan_even_looks
from outweigh.model.pricing import PriceTables
from outweigh.model.run_record import REUSED_LABEL, RunRecord
from outweigh.model.suite import age_in_days
from outweigh.store.experiment_file import ExperimentFile
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import EvidenceSettings, evidence_settings
from outweigh.verdict.planned_looks import look_rates
from outweigh.verdict.tried_versions import candidates_to_count
from outweigh.verdict.weigh_evidence import usual_rates, weigh_evidence
from outweigh.verdict.weigh_looks import describe_look, weigh_look

MANY_CANDIDATES = 3
"""Among so many, one that can no longer win is dropped, although it is not known yet whether it is worse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A candidate that needs no more runs: its decision, and the sentence that tells of it."""

    decision: Decision
    words: str


class Looks:
    """Takes the looks at a run. `add` is given every record, by any thread; `take` looks, in one thread at a time.

    A look is taken when the first tasks of the plan's order are complete, however early others finished. Where
    `settings` has no plan of looks, as in stores of earlier releases, the same looks are decided by a confidence
    sequence. With an `experiment` that has versions of arms, each counts for as many candidates as were tried.
    """

    def __init__(
        self,
        baseline: str,
        candidates: Sequence[str],
        plan: LookPlan,
        settings: EvidenceSettings,
        prices: PriceTables,
        reuse_max_age_days: float | None = None,
        experiment: ExperimentFile | None = None,
    ) -> None:
        self._baseline = baseline
        self._experiment = experiment
        self._candidates = tuple(candidates)
        self._plan = plan
        self._settings = settings
        self._prices = prices
        self._reuse_max_age_days = reuse_max_age_days
        self._first_start: datetime | None = None
        self._new: SimpleQueue[RunRecord] = SimpleQueue()
        self._waiting: dict[str, list[RunRecord]] = defaultdict(list)
        self._comparisons: dict[str, Comparison] = {}
        self._taken = 0
        self._tasks_taken = 0
        self._complete = 0
        self._settled: dict[str, Settled] = {}
        if settings.looks is not None:
            # Boundaries take a moment to compute; they are kept, so that no look has to.
            look_rates(plan, 0, usual_rates(settings))

    def add(self, record: RunRecord) -> None:
        """Take note of a finished attempt."""
        self._new.put(record)

    def take(self, still_open: Collection[str]) -> LookResult:
        """Take every look that is due, given the tasks that still have open trials."""
        # In this order: the records of a task are there before it is no longer open.
        reached = self._first_open(still_open)
        while not self._new.empty():
            record = self._new.get()
            self._waiting[record.trial.task_id].append(record)
            if REUSED_LABEL not in record.extra and record.started_at is not None:
                self._first_start = min(record.started_at, self._first_start or record.started_at)
        before = set(self._settled)
        while self._open() and self._taken < len(self._plan.sizes):
            size = self._plan.sizes[self._taken]
            self._extend(min(size, reached))
            if reached < size:
                break
            self._look(self._taken)
            self._taken += 1
        notes = tuple(f"{name}: {self._settled[name].words}" for name in self._settled if name not in before)
        return LookResult(settled=frozenset(self._settled), end=self._end(), notes=notes)

    def _first_open(self, still_open: Collection[str]) -> int:
        """How many tasks of the order are complete before the first that is open; they stay complete."""
        order = self._plan.order
        while self._complete < len(order) and order[self._complete] not in still_open:
            self._complete += 1
        return self._complete

    def _open(self) -> list[str]:
        return [name for name in self._candidates if name not in self._settled]

    def _end(self) -> EndReason | None:
        if self._open():
            return None
        decided = all(settled.decision is not Decision.INCONCLUSIVE for settled in self._settled.values())
        return EndReason.DECIDED if decided else EndReason.FUTILE

    def _look(self, look: int) -> None:
        names = [name for name in self._open() if name in self._comparisons]
        versions = {} if self._experiment is None else self._experiment.versions
        together = [name for name in names if name not in versions]
        if together:
            first = self._experiment.first_candidates if self._experiment is not None else self._candidates
            self._look_at(look, together, left_out=len(first) - len(together))
        for name in names:
            if self._experiment is not None and name in versions:
                self._look_at(look, [name], left_out=candidates_to_count(place_tried(self._experiment, name)) - 1)

    def _look_at(self, look: int, names: Sequence[str], *, left_out: int) -> None:
        """Look at candidates that are decided together; `left_out` more were tried."""
        comparisons = [self._comparisons[name] for name in names]
        if self._settings.looks is None:
            for name, weighed in zip(names, weigh_evidence(comparisons, self._settings, None, left_out), strict=True):
                if weighed.decision is not Decision.INCONCLUSIVE:
                    words = f"{weighed.decision.words} after {self._tasks_taken} of {len(self._plan.order)} tasks"
                    self._settled[name] = Settled(decision=weighed.decision, words=words)
            return
        for name, looked in zip(
            names, weigh_look(comparisons, self._settings, self._plan, look, left_out=left_out), strict=True
        ):
            decision = looked.weighed.decision
            # After the last look nothing is left to run, so there is nothing to end.
            goes_on = look + 1 < len(self._plan.sizes)
            lost = not looked.prospect.improved and len(self._candidates) >= MANY_CANDIDATES
            if decision is not Decision.INCONCLUSIVE or (goes_on and (looked.prospect.futile or lost)):
                ending = ", and can no longer win" if lost and decision is Decision.INCONCLUSIVE else ""
                words = f"{decision.words} {describe_look(looked, self._plan)}{ending}"
                self._settled[name] = Settled(decision=decision, words=words)

    def _extend(self, size: int) -> None:
        """Add the first so many tasks to every open candidate's comparison, as far as they are not in it yet."""
        tasks = self._plan.order[self._tasks_taken : size]
        self._tasks_taken = max(self._tasks_taken, size)
        records = (record for task in tasks for record in self._waiting.pop(task, ()))
        located = [LocatedRecord(record, "store", number) for number, record in enumerate(records, start=1)]
        if not located:
            return
        evidence = gather(located, prices=self._prices)
        for name in self._open():
            if evidence.arms.keys() >= {self._baseline, name}:
                new = compare_arms(self._prepared(evidence, name), self._baseline, name)
                known = self._comparisons.get(name)
                self._comparisons[name] = new if known is None else _joined(known, new)

    def _prepared(self, evidence: Evidence, name: str) -> Evidence:
        """The evidence as this candidate may be compared by it."""
        experiment, max_age = self._experiment, self._reuse_max_age_days
        if experiment is None or not experiment.versions:
            return set_stale_aside(evidence, self._baseline, max_age, self._first_start)
        return prepare_version(evidence, experiment, self._baseline, name, max_age, self._first_start)


def _joined(known: Comparison, new: Comparison) -> Comparison:
    """The same comparison with more tasks. What a look does not weigh, such as summaries, stays as it was."""
    return replace(
        known,
        baseline_table=join_tables(known.baseline_table, new.baseline_table),
        candidate_table=join_tables(known.candidate_table, new.candidate_table),
        tasks=(*known.tasks, *new.tasks),
        unanchored=known.unanchored or new.unanchored,
    )


def looks_of_store(experiment: ExperimentFile, order: Sequence[str], repeats: int, prices: PriceTables) -> Looks:
    """The looks that a store's experiment plans, by the rule and the version that it was begun under."""
    policy, planned = experiment.policy, experiment.looks
    settings = evidence_settings(
        gates=policy.gates,
        margins=policy.margins,
        tolerances=policy.tolerances,
        value_usd=policy.value_usd,
        version=policy.version or 1,
        planned_tasks=experiment.looked_at if planned is None else None,
        looks=planned,
    )
    max_age = experiment.reuse_max_age
    return Looks(
        experiment.baseline,
        experiment.candidates,
        planned or plan_even_looks(order, repeats),
        settings,
        prices,
        None if max_age is None else age_in_days(max_age),
        experiment,
    )
