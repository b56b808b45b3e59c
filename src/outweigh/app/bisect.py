"""Search for the step that made a set-up worse: round by round, each an ordinary run of a few trials into one store.

What to run next follows from the records alone, so a search that was interrupted goes on where it stopped.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random

import numpy as np

from outweigh.app.bisect_steps import SequenceRequest, SetupSequence, load_sequence
from outweigh.app.observer import RunObserver
from outweigh.app.plan_prices import suite_prices
from outweigh.app.run import run_planned
from outweigh.app.run_request import RunRequest, baseline_repeats
from outweigh.app.run_stages import PlannedSuite, planned_repeats
from outweigh.app.suite_selection import SuiteRequest
from outweigh.app.suite_versions import find_versions
from outweigh.app.this_folder import RUNS_FOLDER
from outweigh.engine.batch import EndReason
from outweigh.engine.trial_plan import PlannedRun, trial_seed
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.model.run_record import RunRecord, Trial, amount_paid
from outweigh.model.suite import Executor
from outweigh.plugins import load_adapter
from outweigh.prices import price_tables
from outweigh.report.bisect_page import BisectForecast, BisectOutcome, StepTally, TaskTally
from outweigh.report.formatting import format_percent
from outweigh.score.objective import passed
from outweigh.stats.change_point import find_change
from outweigh.store.run_store import has_begun
from outweigh.store.store import Store
from outweigh.verdict.culprit_search import (
    DEFAULT_ERROR,
    Counts,
    CulpritResult,
    SearchLimits,
    SearchRound,
    next_round,
    search_limits,
)

DRIFT_LEVEL = 0.95
"""How likely it must be that the good end itself has changed before that is reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectRequest:
    """Which step made it worse, at which error, and for how much.

    Without `most_runs`, the search makes at most three quarters of the runs that testing every step would take.
    """

    sequence: SequenceRequest
    output: Path | None = None
    repeats: int | None = None
    jobs: int = 2
    budget_usd: float | None = None
    run_usd: float | None = None
    error: float = DEFAULT_ERROR
    most_runs: int | None = None
    assume_yes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSearch:
    """A sequence of set-ups that can be searched, of which nothing was run yet by this command."""

    request: BisectRequest
    sequence: SetupSequence
    limits: SearchLimits
    store: Path
    run: RunRequest
    forecast: BisectForecast

    @property
    def is_free(self) -> bool:
        """Whether no agent asks a model, so that nothing is paid for."""
        return self.forecast.is_free

    def search(self, observer: RunObserver) -> BisectOutcome:
        """Run round after round until a step is named, nothing more may be run, or a run is stopped."""
        while True:
            tally = self._tally()
            asked = next_round(tally.passes, tally.runs, self.limits)
            if isinstance(asked, CulpritResult):
                return self._outcome(tally, asked, EndReason.DONE)
            observer.notify(self._describe_round(tally, asked))
            ended = self._run(tally, asked, observer)
            if ended is not EndReason.DONE:
                return self._outcome(self._tally(), None, ended)
            if self._tally().runs.sum() == tally.runs.sum():
                raise EvidenceError(
                    f"{len(asked.runs)} runs ended, and whether they passed is unknown for all of them, so nothing can "
                    f"be searched. Look at their checks: outweigh view {self.store}"
                )

    def _run(self, tally: "_Tally", asked: SearchRound, observer: RunObserver) -> EndReason:
        versions = find_versions(self.sequence.suite, self.store)
        plan = _plan(self, tally, asked)
        planned = PlannedSuite(versions=versions, plan=plan, repeats=planned_repeats(plan), whole=plan)
        ended = run_planned(planned, self.run, observer)
        assert isinstance(ended, EndReason), "a dry run is shown by the forecast"
        return ended

    def _tally(self) -> "_Tally":
        """What the store has so far."""
        return _Tally.of(self.sequence, _records(self.store))

    def _describe_round(self, tally: "_Tally", asked: SearchRound) -> str:
        steps, last = {step for step, _ in asked.runs}, len(self.sequence.steps) - 1
        tested = [self.sequence.steps[step].arm for step in sorted(steps - {0, last})]
        what = f"test {', '.join(tested)} beside {self.sequence.steps[0].arm}" if tested else "compare good and bad"
        return f"{int(tally.runs.sum())} runs so far; {len(asked.runs)} more {what}"

    def _outcome(self, tally: "_Tally", result: CulpritResult | None, ended: EndReason) -> BisectOutcome:
        sequence, suite = self.sequence, self.sequence.suite
        posterior = find_change(tally.passes, tally.runs) if result is None else result.posterior
        return BisectOutcome(
            result=result,
            stopped=None if result is not None else ended.value,
            unit=sequence.unit,
            error=self.limits.error,
            steps=tuple(
                StepTally(
                    arm=step.arm,
                    title=step.title,
                    lines=step.lines,
                    followed_by=step.followed_by,
                    probability=None if place == 0 else float(posterior.steps[place - 1]),
                    runs=int(tally.runs[place].sum()),
                    passes=int(tally.passes[place].sum()),
                )
                for place, step in enumerate(sequence.steps)
            ),
            tasks=tuple(_task_tallies(suite_tasks(sequence), tally, posterior.best)),
            runs=int(tally.runs.sum()),
            every_step_runs=self.forecast.every_step_runs,
            cost_usd=tally.cost_usd,
            unknown_costs=tally.unknown_costs,
            is_free=self.is_free,
            store=str(self.store),
            again=_next_search(self.request, sequence, result),
            warnings=(*suite.notes, *tally.drift(sequence.steps[0].arm)),
        )


def suite_tasks(sequence: SetupSequence) -> list[str]:
    """The tasks in the order of the counts."""
    return [task.id for task in sequence.suite.tasks]


@contextmanager
def prepare_search(request: BisectRequest) -> Iterator[PreparedSearch]:
    """Find the steps, and what the search may cost. Nothing is run or written."""
    with load_sequence(request.sequence) as sequence:
        suite = sequence.suite
        if suite.spec.executor is Executor.HARBOR:
            raise UsageError("bisect makes a few runs at a time, and Harbor runs an arm as one job. Use the engine.")
        store = request.output or RUNS_FOLDER / f"{suite.spec.name}-bisect-{_sequence_key(sequence)}"
        run = RunRequest(
            suite=SuiteRequest(path=request.sequence.suite),
            output=store,
            repeats=request.repeats,
            jobs=request.jobs,
            budget_usd=request.budget_usd,
            assume_yes=request.assume_yes,
        )
        repeats, tasks = baseline_repeats(suite, run), len(suite.tasks)
        limits = search_limits(len(sequence.steps), tasks, repeats, error=request.error, most_runs=request.most_runs)
        yield PreparedSearch(
            request=request,
            sequence=sequence,
            limits=limits,
            store=store,
            run=run,
            forecast=_forecast(request, sequence, limits, store, repeats),
        )


def _sequence_key(sequence: SetupSequence) -> str:
    """The same sequence has the same store."""
    ends = (sequence.suite.arms[sequence.steps[place].arm].fingerprint for place in (0, -1))
    return sha256("\n".join((sequence.unit, *ends)).encode()).hexdigest()[:10]


def _forecast(
    request: BisectRequest, sequence: SetupSequence, limits: SearchLimits, store: Path, repeats: int
) -> BisectForecast:
    suite = sequence.suite
    arm = suite.arms[suite.spec.baseline]
    prices, notes = suite_prices(suite, request.run_usd, 0.0, price_tables(None))
    return BisectForecast(
        good=request.sequence.good,
        bad=request.sequence.bad,
        unit=sequence.unit,
        between=sequence.between,
        steps=len(sequence.steps) - 1,
        agent=arm.agent,
        model=arm.model,
        tasks=len(suite.tasks),
        made=int(_Tally.of(sequence, _records(store)).runs.sum()),
        most_runs=limits.most_runs,
        every_step_runs=len(sequence.steps) * len(suite.tasks) * repeats,
        run_usd=None if prices is None else prices.baseline_run_usd,
        price_notes=notes,
        budget_usd=request.budget_usd or suite.spec.budget_usd,
        error=limits.error,
        is_free=not any(load_adapter("agent", each.agent).uses_model(each) for each in suite.arms.values()),
        store=str(store),
        notes=suite.notes,
    )


def _records(store: Path) -> list[RunRecord]:
    if not has_begun(store):
        return []
    try:
        return list(Store.open(store).runs())
    except EvidenceError:  # attempts were begun, and none has a record yet
        return []


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Tally:
    """Passes and runs by step and task, of runs whose outcome is known, and what all attempts cost."""

    passes: Counts
    runs: Counts
    counted: Counter[tuple[int, int]]
    cost_usd: float | None
    unknown_costs: int
    anchors: Sequence[tuple[bool, int, bool]] = field(default_factory=list)

    @classmethod
    def of(cls, sequence: SetupSequence, records: Sequence[RunRecord]) -> "_Tally":
        steps = {step.arm: place for place, step in enumerate(sequence.steps)}
        tasks = {task: place for place, task in enumerate(suite_tasks(sequence))}
        passes, runs = (np.zeros((len(steps), len(tasks)), dtype=np.int64) for _ in range(2))
        counted: Counter[tuple[int, int]] = Counter()
        anchors: list[tuple[bool, int, bool]] = []
        is_late = False
        for record in records:
            place = steps.get(record.trial.arm), tasks.get(record.trial.task_id)
            if place[0] is None or place[1] is None or record.status in EXCLUDED_STATUSES:
                continue
            where = place[0], place[1]
            counted[where] += 1
            is_late = is_late or 0 < where[0] < len(steps) - 1
            if (outcome := passed(record).value) is not None:
                runs[where] += 1
                passes[where] += outcome == 1
                if where[0] == 0:
                    anchors.append((is_late, where[1], outcome == 1))
        costs = [amount_paid(record) for record in records]
        known = [cost for cost in costs if cost is not None]
        return cls(
            passes=passes,
            runs=runs,
            counted=counted,
            cost_usd=sum(known) if known else None,
            unknown_costs=costs.count(None),
            anchors=anchors,
        )

    def drift(self, good: str) -> Iterator[str]:
        """Whether the good end itself passes otherwise now than when the search began: then something else changed."""
        if not any(is_late for is_late, _, _ in self.anchors):
            return
        passes, runs = (np.zeros((2, self.runs.shape[1]), dtype=np.int64) for _ in range(2))
        for is_late, task, outcome in self.anchors:
            runs[int(is_late), task] += 1
            passes[int(is_late), task] += outcome
        found = find_change(passes, runs)
        for chance, word in ((found.worse, "less"), (found.better, "more")):
            if chance >= DRIFT_LEVEL:
                yield (
                    f"the good end {good} passes {word} often now than when the search began ({format_percent(chance)} "
                    "probable), so the provider, the agent or the machine has changed since then. That is no step of "
                    "the set-up; search again in a new store with -o."
                )


def _plan(search: PreparedSearch, tally: _Tally, asked: SearchRound) -> tuple[PlannedRun, ...]:
    """Every trial so far and those of this round, in random order among themselves."""
    sequence, seed = search.sequence, search.sequence.suite.spec.seed
    tasks, wanted = suite_tasks(sequence), Counter(asked.runs)

    def trials(counts: Counter[tuple[int, int]], first: Counter[tuple[int, int]]) -> list[Trial]:
        return [
            Trial(task_id=tasks[task], arm=arm, repeat=repeat, seed=trial_seed(seed, tasks[task], arm, repeat))
            for (step, task), number in sorted(counts.items())
            for arm in (sequence.steps[step].arm,)
            for repeat in range(first[step, task] + 1, first[step, task] + number + 1)
        ]

    new = trials(wanted, tally.counted)
    Random(f"{seed} {sum(tally.counted.values())}").shuffle(new)
    every = [*trials(tally.counted, Counter()), *new]
    return tuple(PlannedRun(trial=trial, block=place, position=place) for place, trial in enumerate(every))


def _task_tallies(tasks: Sequence[str], tally: _Tally, culprit: int) -> Iterator[TaskTally]:
    for place, task in enumerate(tasks):
        yield TaskTally(
            task=task,
            passes_before=int(tally.passes[:culprit, place].sum()),
            runs_before=int(tally.runs[:culprit, place].sum()),
            passes_after=int(tally.passes[culprit:, place].sum()),
            runs_after=int(tally.runs[culprit:, place].sum()),
        )


def _next_search(request: BisectRequest, sequence: SetupSequence, result: CulpritResult | None) -> tuple[str, ...]:
    """The words of a command that searches the hunks of the commit that was found; none where there are none."""
    if result is None or result.step is None or sequence.unit != "commit":
        return ()
    commit = sequence.steps[result.step].arm
    return ("outweigh", "bisect", "-c", request.sequence.suite, "--good", f"{commit}^", "--bad", commit, "--hunks")
