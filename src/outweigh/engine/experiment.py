"""A whole experiment.

What is done, what is left, and running it until it is complete, out of budget, interrupted or decided.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from threading import Event as Signal
from typing import Protocol

from outweigh.engine.attempt import FinishedAttempt, close_abandoned_attempt, run_attempt
from outweigh.engine.batch import NO_TIER_BUDGETS, Batch, BatchSettings, EndReason, LookResult
from outweigh.engine.budget import Budget
from outweigh.engine.events import EventListener, note_event
from outweigh.engine.executor import AttemptExecutor, ThreadExecutor
from outweigh.engine.failure_streak import SAME_FAILURES
from outweigh.engine.run_agent import EngineDeps
from outweigh.engine.trial_plan import PlannedRun
from outweigh.model.codec import Attempt
from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.model.run_record import AgentKind, RunRecord, amount_paid, most_paid
from outweigh.ports.stores import RunStore
from outweigh.score.objective import passed

FIRST_BACKOFF_SECONDS = 1.0
LONGEST_BACKOFF_SECONDS = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentProgress:
    """How far an experiment is: planned trials that have a result, and those that are left.

    `left` has the number of each trial's next attempt; `paid` is the cost of every attempt of the planned arms, None
    where unknown, and `paid_at_most` the same with the high end of estimates. `lost` counts trials that were attempted
    and have no result, by arm and reason. `simulated` says that every agent so far only pretended, so that no dollar
    was paid.
    """

    done: Mapping[str, int]
    passed: Mapping[str, int]
    left: tuple[tuple[PlannedRun, int], ...]
    paid: tuple[float | None, ...]
    paid_at_most: tuple[float | None, ...]
    lost: Mapping[tuple[str, str], int]
    simulated: bool = False

    @property
    def spent_usd(self) -> float:
        """Dollars of all attempts whose cost is known."""
        return sum(cost for cost in self.paid if cost is not None)

    @property
    def saved_usd(self) -> float | None:
        """What the trials that are left would cost at the mean cost of an attempt; None where nobody knows that."""
        known = [cost for cost in self.paid if cost is not None]
        return len(self.left) * sum(known) / len(known) if known else None

    @property
    def arms_left(self) -> frozenset[str]:
        """The arms of the trials without a result."""
        return frozenset(run.trial.arm for run, _ in self.left)


def close_abandoned_attempts(
    deps: EngineDeps, plan: Sequence[PlannedRun], abandoned: Sequence[Attempt], listen: EventListener
) -> None:
    """Record attempts that a killed engine left open, so that every attempt has its record."""
    planned = {run.trial.key: run for run in plan}
    for attempt in abandoned:
        run = planned.get(attempt.trial.key)
        if run is not None:
            close_abandoned_attempt(deps, run, attempt.attempt)
            listen(note_event(f"{attempt.run_id} was cut short by the end of an earlier engine"))


def experiment_progress(plan: Sequence[PlannedRun], store: RunStore) -> ExperimentProgress:
    """Count the trials with a result, and list those without one."""
    finished = store.finished()
    done, passes = Counter[str](), Counter[str]()
    lost = Counter[tuple[str, str]]()
    left: list[tuple[PlannedRun, int]] = []
    for run in plan:
        attempts = finished.get(run.trial.key, ())
        counted = next((record for record in attempts if record.status not in EXCLUDED_STATUSES), None)
        if counted is None:
            left.append((run, max((record.attempt for record in attempts), default=0) + 1))
            lost.update((run.trial.arm, _status_text(record)) for record in attempts[-1:])
        else:
            done[run.trial.arm] += 1
            passes[run.trial.arm] += passed(counted).value == 1
    arms = {run.trial.arm for run in plan}
    # What earlier versions of an arm cost is not part of what this comparison may cost.
    records = [record for key, attempts in finished.items() if key[1] in arms for record in attempts]
    return ExperimentProgress(
        done=done,
        passed=passes,
        left=tuple(left),
        paid=tuple(map(amount_paid, records)),
        paid_at_most=tuple(map(most_paid, records)),
        lost=lost,
        simulated=bool(records) and all(record.agent.kind is AgentKind.SCRIPTED for record in records),
    )


def _status_text(record: RunRecord) -> str:
    return record.status.value if record.status_detail is None else f"{record.status.value}, {record.status_detail}"


class RunLooks(Protocol):
    """Looks at the results while an experiment runs."""

    def add(self, record: RunRecord) -> None:
        """Take note of a finished attempt, in the thread that made or stored it."""

    def take(self, still_open: Collection[str]) -> LookResult:
        """Look, given the tasks that still have open trials."""


def thread_executor(deps: EngineDeps, jobs: int, looks: RunLooks | None) -> ThreadExecutor:
    """Attempts are made in threads of this process, and `looks` is told of every record."""

    def attempt(planned: PlannedRun, number: int) -> FinishedAttempt:
        made = run_attempt(deps, planned, number)
        if looks is not None:
            looks.add(made.record)
        return made

    return ThreadExecutor(attempt, jobs)


def run_experiment(  # noqa: PLR0913 - one keyword for everything that may end it
    executor: AttemptExecutor,
    progress: ExperimentProgress,
    *,
    retries: int,
    budget: Budget,
    looks: RunLooks | None,
    drain: Signal,
    listen: EventListener,
    keep_going: bool = False,
    tier_budgets: Mapping[str, Budget] = NO_TIER_BUDGETS,
) -> EndReason:
    """Run the trials that are left; `looks`, which the executor tells of every record, may end the experiment early.

    `tier_budgets` are those of the arms whose tier has one, shared by the arms of a tier. With `keep_going` all trials
    are attempted, also when one after another fails for the same reason.
    """
    batch = Batch(
        executor=executor,
        settings=BatchSettings(
            retries=retries,
            first_backoff_seconds=FIRST_BACKOFF_SECONDS,
            longest_backoff_seconds=LONGEST_BACKOFF_SECONDS,
            same_failures=None if keep_going else SAME_FAILURES,
        ),
        budget=budget,
        drain=drain,
        listen=listen,
        take_look=None if looks is None else looks.take,
        tier_budgets=tier_budgets,
    )
    return batch.run(progress.left)
