"""The port of harnesses that run trials as jobs of their own."""

from collections.abc import Sequence
from typing import Protocol

from outweigh.model.run_record import RunRecord, Trial


class ExternalJob(Protocol):
    """Trials of one arm that another harness makes by itself; the job may outlive whoever started it."""

    @property
    def name(self) -> str:
        """What the job is called; no other of the store is called so."""

    @property
    def trials(self) -> Sequence[Trial]:
        """What it is to make."""

    def start(self) -> None:
        """Begin; what the job is for is written down before."""

    @property
    def is_running(self) -> bool:
        """Whether there may be further results."""

    def new_results(self) -> Sequence[RunRecord]:
        """Every trial that has ended, once, as the harness tells it; which repeat it stands for is not its business."""

    def stop(self, *, at_once: bool) -> bool:
        """Ask the job to end in order, or end it and all it started; False where it could not be reached (yet)."""

    def last_words(self) -> str:
        """What the harness said last, for whoever must find out why a trial has no result."""


class ExternalHarness(Protocol):
    """Another harness that runs an arm's trials as a job of its own."""

    def earlier(self) -> Sequence[ExternalJob]:
        """All jobs that were ever started for this store; some may still be running."""

    def prepare(self, trials: Sequence[Trial]) -> ExternalJob:
        """A job for trials of one arm, not started yet; one that the harness would refuse is refused here."""

    def may_mend(self, record: RunRecord) -> bool:
        """Whether another attempt at a trial that infrastructure broke could end otherwise."""
