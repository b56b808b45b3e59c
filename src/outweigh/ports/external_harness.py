"""The port of other harnesses that run trials for us as jobs."""

from collections.abc import Sequence
from typing import Protocol

from outweigh.model.run_record import RunRecord, Trial


class ExternalJob(Protocol):
    """Trials of one arm that another harness runs; the job may outlive the process that started it."""

    @property
    def name(self) -> str:
        """The name of the job, unique within a store."""

    @property
    def trials(self) -> Sequence[Trial]:
        """The trials that the job runs."""

    def start(self) -> None:
        """Start the job, after writing down which trials it is for."""

    @property
    def is_running(self) -> bool:
        """Whether more results may come."""

    def new_results(self) -> Sequence[RunRecord]:
        """Every trial that has ended since the last call. The engine decides which repeat each result counts as."""

    def stop(self, *, at_once: bool) -> bool:
        """Ask the job to stop, or kill it and everything it started; False while it cannot be reached."""

    def last_output(self) -> str:
        """The end of the harness's output, to explain why a trial has no result."""


class ExternalHarness(Protocol):
    """Another harness that runs an arm's trials as a job."""

    def earlier(self) -> Sequence[ExternalJob]:
        """All jobs ever started for this store; some may still be running."""

    def prepare(self, trials: Sequence[Trial]) -> ExternalJob:
        """A job for trials of one arm, not started yet. A job that the harness would reject is rejected here."""

    def may_retry(self, record: RunRecord) -> bool:
        """Whether a trial that failed because of infrastructure is worth another attempt."""
