"""The attempts that a batch waits for, and results that came before it asked for them."""

from concurrent.futures import Future

from outweigh.cluster.messages import AttemptKey
from outweigh.engine.attempt import FinishedAttempt
from outweigh.engine.trial_plan import PlannedRun
from outweigh.model.run_record import TrialKey


class OpenAttempts:
    """Futures by attempt. Its caller holds the lock of the lead."""

    def __init__(self) -> None:
        self._futures: dict[AttemptKey, Future[FinishedAttempt]] = {}
        self._plans: dict[AttemptKey, PlannedRun] = {}
        self._early: dict[AttemptKey, FinishedAttempt] = {}
        self._late: dict[TrialKey, FinishedAttempt] = {}

    def __contains__(self, key: AttemptKey) -> bool:
        return key in self._futures

    def add(self, key: AttemptKey, planned: PlannedRun) -> Future[FinishedAttempt]:
        """Wait for an attempt."""
        future: Future[FinishedAttempt] = Future()
        self._futures[key], self._plans[key] = future, planned
        return future

    def plan_of(self, key: AttemptKey) -> PlannedRun | None:
        """What an attempt was started for; None where nobody waits for it."""
        return self._plans.get(key)

    def of_trial(self, trial: TrialKey) -> AttemptKey | None:
        """The attempt at this trial that is waited for."""
        return next((key for key, each in self._plans.items() if each.trial.key == trial), None)

    def take(self, key: AttemptKey) -> Future[FinishedAttempt] | None:
        """Wait for an attempt no more."""
        self._plans.pop(key, None)
        return self._futures.pop(key, None)

    def keep_early(self, key: AttemptKey, made: FinishedAttempt) -> None:
        """A result of an attempt that the batch will start."""
        self._early[key] = made

    def take_early(self, key: AttemptKey) -> FinishedAttempt | None:
        """The result of an attempt that the batch starts now."""
        return self._early.pop(key, None)

    def keep_late(self, made: FinishedAttempt) -> None:
        """A result of a trial whose next attempt the batch will start."""
        self._late[made.record.trial.key] = made

    def take_late(self, trial: TrialKey) -> FinishedAttempt | None:
        """The result of a trial whose next attempt the batch starts now."""
        return self._late.pop(trial, None)
