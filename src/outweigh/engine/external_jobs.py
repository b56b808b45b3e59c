"""An experiment whose trials another harness runs as jobs.

Jobs are started and followed, and their results are stored as the records of our trials.

The jobs of all arms run at the same time and take their tasks in the plan's order, so that time favors no arm.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from threading import Event as Signal
from time import sleep

from msgspec.structs import replace

from outweigh.engine.batch import EndReason
from outweigh.engine.events import EventKind, EventListener, finished_event, note_event, trial_event
from outweigh.engine.experiment import experiment_progress
from outweigh.engine.run_draft import storable_check
from outweigh.engine.trial_plan import PlannedRun
from outweigh.model.arm import Arm
from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.model.redact import storable_text
from outweigh.model.run_record import ARBITRARY_REPEAT, REPEAT_LABEL, RunRecord, Step, Trial, TrialKey
from outweigh.model.task import Task
from outweigh.ports.external_harness import ExternalHarness, ExternalJob
from outweigh.ports.stores import RunStore

JOB_LABEL = "job"
"""The label that names the harness's job a record comes from."""
SOURCE_CHECKSUM_LABEL = "source_task_checksum"
"""The label that holds the harness's own hash of the task."""


def adopt_record(
    record: RunRecord,
    trial: Trial,
    attempt: int,
    *,
    arm: Arm,
    task: Task,
    job: str,
    rule_labels: Mapping[str, str | int],
    secrets: Collection[str],
) -> RunRecord:
    """A result of the harness as the record of one of our trials, tied to our rules and without secrets.

    The harness does not number repeats, so the repeat is a label without meaning. The position in the plan is
    unknown: the order of the runs is read from their start times.
    """
    checks, steps = record.checks, record.steps
    return replace(
        record,
        trial=trial,
        attempt=attempt,
        status_detail=storable_text(record.status_detail, secrets),
        arm_fingerprint=arm.fingerprint,
        task_checksum=task.checksum,
        family=task.family,
        position=None,
        checks=None if checks is None else tuple(storable_check(check, secrets) for check in checks),
        steps=None if steps is None else tuple(_storable_step(step, secrets) for step in steps),
        warnings=tuple(storable_text(warning, secrets) or "" for warning in record.warnings),
        extra={
            **record.extra,
            JOB_LABEL: job,
            REPEAT_LABEL: ARBITRARY_REPEAT,
            SOURCE_CHECKSUM_LABEL: record.task_checksum,
            **rule_labels,
        },
    )


def _storable_step(step: Step, secrets: Collection[str]) -> Step:
    return replace(step, message=storable_text(step.message, secrets))


JOB_POLL_SECONDS = 0.5

RecordAdopter = Callable[[RunRecord, Trial, int, str], RunRecord]
"""Turns a result into the record of a trial, given the attempt's number and the job's name."""


class ExternalExperiment:
    """Runs a plan in another harness. `drain` asks its jobs to end, `cancel` ends them; results are always stored."""

    def __init__(
        self,
        jobs: ExternalHarness,
        store: RunStore,
        adopt: RecordAdopter,
        *,
        drain: Signal,
        cancel: Signal,
        listen: EventListener,
        tick_seconds: float = JOB_POLL_SECONDS,
    ) -> None:
        self._jobs = jobs
        self._store = store
        self._adopt = adopt
        self._drain = drain
        self._cancel = cancel
        self._listen = listen
        self._tick_seconds = tick_seconds
        self._known: dict[str, Trial] = {}
        self._attempts: dict[TrialKey, int] = defaultdict(int)
        self._counted: set[TrialKey] = set()
        self._given_up: set[TrialKey] = set()

    def take_in_earlier(self) -> None:
        """Store results of jobs that an earlier engine started; wait for those still running."""
        for attempts in self._store.finished().values():
            for record in attempts:
                self._remember(record)
        earlier = self._jobs.earlier()
        alive = [job for job in earlier if job.is_running]
        for job in alive:
            self._listen(
                note_event(f"job {job.name} of an earlier engine is still running; its results are waited for")
            )
        missing = self._follow(earlier)
        self._say_missing(alive, missing)
        self._given_up.clear()  # its cause may have been fixed since

    def run(self, plan: Sequence[PlannedRun], *, retries: int) -> EndReason:
        """Run the trials that are left, and retry infrastructure failures as often as the suite allows."""
        for _ in range(retries + 1):
            left = self._left(plan)
            if not left:
                break
            if self._drain.is_set():
                return EndReason.INTERRUPTED
            jobs = [self._jobs.prepare(trials) for trials in _by_arm(left)]
            if self._drain.is_set():
                return EndReason.INTERRUPTED
            for job in jobs:
                job.start()
                self._say_begun(job)
            missing = self._follow(jobs)
            if self._drain.is_set():
                return EndReason.INTERRUPTED
            self._say_missing(jobs, missing)
            if any(missing.values()):
                # A harness that ends before its trials do would end the same way in another job.
                break
        return EndReason.INCOMPLETE if experiment_progress(plan, self._store).left else EndReason.DONE

    def _left(self, plan: Sequence[PlannedRun]) -> list[Trial]:
        """Trials without a result, except those that a retry cannot help."""
        trials = (planned.trial for planned, _ in experiment_progress(plan, self._store).left)
        return [trial for trial in trials if trial.key not in self._given_up]

    def _follow(self, jobs: Sequence[ExternalJob]) -> Mapping[str, Sequence[Trial]]:
        """Store results as they come, until no job is running; returns each job's trials without a result."""
        still_open = {job.name: list(job.trials) for job in jobs}
        asked: set[str] = set()
        running = list(jobs)
        try:
            while running:
                for job in running:
                    self._stop_if_asked(job, asked)
                # Asked before results are read, so that the last read comes after the end of the job.
                ended = [job for job in running if not job.is_running]
                for job in running:
                    self._take_in(job, still_open[job.name])
                running = [job for job in running if job not in ended]
                if running:
                    sleep(self._tick_seconds)
        except Exception:
            names = ", ".join(job.name for job in running)
            self._listen(note_event(f"still running: {names}. Run the same command again to continue"))
            raise
        return still_open

    def _take_in(self, job: ExternalJob, still_open: list[Trial]) -> None:
        results = job.new_results()
        for record in results:
            if (known := self._known.get(record.run_id)) is not None and known in still_open:
                still_open.remove(known)
        for record in results:
            if record.run_id in self._known:
                continue
            trial = next((trial for trial in still_open if trial.task_id == record.trial.task_id), None)
            if trial is not None:
                still_open.remove(trial)
            if trial is None or trial.key in self._counted:
                self._listen(note_event(f"{record.run_id} of job {job.name} belongs to no trial without a result"))
                continue
            self._keep(record, trial, job)

    def _keep(self, record: RunRecord, trial: Trial, job: ExternalJob) -> None:
        number = self._attempts[trial.key] + 1
        kept = self._adopt(record, trial, number, job.name)
        self._store.append(kept)
        self._remember(kept)
        if kept.status in EXCLUDED_STATUSES and not self._jobs.may_retry(record):
            self._given_up.add(trial.key)
        self._listen(finished_event(kept))

    def _remember(self, record: RunRecord) -> None:
        key = record.trial.key
        self._known[record.run_id] = record.trial
        self._attempts[key] = max(self._attempts[key], record.attempt)
        if record.status not in EXCLUDED_STATUSES:
            self._counted.add(key)

    def _stop_if_asked(self, job: ExternalJob, asked: set[str]) -> None:
        if self._cancel.is_set():
            job.stop(at_once=True)
        elif self._drain.is_set() and job.name not in asked and job.stop(at_once=False):
            asked.add(job.name)
            self._listen(note_event(f"job {job.name} was asked to end; again to end it at once", EventKind.STOPPED))

    def _say_begun(self, job: ExternalJob) -> None:
        for trial in job.trials:
            self._listen(trial_event(trial, EventKind.STARTED, f"job {job.name}"))

    def _say_missing(self, jobs: Sequence[ExternalJob], missing: Mapping[str, Sequence[Trial]]) -> None:
        if self._drain.is_set():
            return  # the user asked them to end
        for job in jobs:
            if trials := missing[job.name]:
                self._listen(
                    note_event(f"job {job.name} left {len(trials)} trials without a result. {job.last_output()}")
                )


def _by_arm(trials: Iterable[Trial]) -> list[list[Trial]]:
    arms: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        arms[trial.arm].append(trial)
    return list(arms.values())
