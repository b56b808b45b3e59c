"""An experiment whose trials another harness makes: jobs begun, followed and taken in, until nothing is left to do.

The arms' jobs run at the same time and take their tasks in the plan's order, so that time favours no arm.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Event as Signal
from time import sleep

from outweigh.ports.outside import OutsideJob, OutsideJobs
from outweigh.ports.stores import RunStore
from outweigh.record.run_record import RunRecord
from outweigh.record.status import EXCLUDED
from outweigh.record.trial import Trial
from outweigh.run.batch import Stop
from outweigh.run.events import EventKind, Listener, about, finished, note
from outweigh.run.experiment import progress_of
from outweigh.run.plan import PlannedRun

TICK_SECONDS = 0.5

Coordinates = tuple[str, str, int]
Adopt = Callable[[RunRecord, Trial, int, str], RunRecord]
"""A result as the record of a trial: with the number of its attempt, and the name of its job."""


class Outside:
    """Runs a plan elsewhere. `drain` asks the jobs to end, `cancel` ends them; results are taken in either way."""

    def __init__(
        self,
        jobs: OutsideJobs,
        store: RunStore,
        adopt: Adopt,
        *,
        drain: Signal,
        cancel: Signal,
        listen: Listener,
        tick_seconds: float = TICK_SECONDS,
    ) -> None:
        self._jobs = jobs
        self._store = store
        self._adopt = adopt
        self._drain = drain
        self._cancel = cancel
        self._listen = listen
        self._tick_seconds = tick_seconds
        self._known: dict[str, Trial] = {}
        self._attempts: dict[Coordinates, int] = defaultdict(int)
        self._counted: set[Coordinates] = set()
        self._given_up: set[Coordinates] = set()

    def take_in_earlier(self) -> None:
        """What jobs of an earlier engine have come to; those that are still running are waited for."""
        for attempts in self._store.finished().values():
            for record in attempts:
                self._remember(record)
        earlier = self._jobs.earlier()
        alive = [job for job in earlier if job.is_running]
        for job in alive:
            self._listen(note(f"job {job.name} of an earlier engine is still running; its results are waited for"))
        missing = self._follow(earlier)
        self._say_missing(alive, missing)
        self._given_up.clear()  # somebody may have mended it since

    def run(self, plan: Sequence[PlannedRun], *, retries: int) -> Stop:
        """Make what is left, and once more what infrastructure broke, as often as the suite allows."""
        for _ in range(retries + 1):
            left = self._left(plan)
            if not left:
                break
            if self._drain.is_set():
                return Stop.INTERRUPTED
            jobs = [self._jobs.prepare(trials) for trials in _by_arm(left)]
            if self._drain.is_set():
                return Stop.INTERRUPTED
            for job in jobs:
                job.start()
                self._say_begun(job)
            missing = self._follow(jobs)
            if self._drain.is_set():
                return Stop.INTERRUPTED
            self._say_missing(jobs, missing)
            if any(missing.values()):
                # A harness that ends before its trials do has a reason that another job would only meet again.
                break
        return Stop.INCOMPLETE if progress_of(plan, self._store).left else Stop.DONE

    def _left(self, plan: Sequence[PlannedRun]) -> list[Trial]:
        """Trials that are worth an attempt of this engine."""
        trials = (planned.trial for planned, _ in progress_of(plan, self._store).left)
        return [trial for trial in trials if _coordinates(trial) not in self._given_up]

    def _follow(self, jobs: Sequence[OutsideJob]) -> Mapping[str, Sequence[Trial]]:
        """Take results in as they come, until no job is running; which trials of each have none in the end."""
        still_open = {job.name: list(job.trials) for job in jobs}
        asked: set[str] = set()
        running = list(jobs)
        try:
            while running:
                for job in running:
                    self._stop_if_asked(job, asked)
                # Asked before results are read, so that the last look comes after the end.
                ended = [job for job in running if not job.is_running]
                for job in running:
                    self._take_in(job, still_open[job.name])
                running = [job for job in running if job not in ended]
                if running:
                    sleep(self._tick_seconds)
        except Exception:
            names = ", ".join(job.name for job in running)
            self._listen(note(f"still running: {names}. Run the same command again to go on with them"))
            raise
        return still_open

    def _take_in(self, job: OutsideJob, still_open: list[Trial]) -> None:
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
            if trial is None or _coordinates(trial) in self._counted:
                self._listen(note(f"{record.run_id} of job {job.name} stands for no trial that is missing a result"))
                continue
            self._keep(record, trial, job)

    def _keep(self, record: RunRecord, trial: Trial, job: OutsideJob) -> None:
        number = self._attempts[_coordinates(trial)] + 1
        kept = self._adopt(record, trial, number, job.name)
        self._store.append(kept)
        self._remember(kept)
        if kept.status in EXCLUDED and not self._jobs.may_mend(record):
            self._given_up.add(_coordinates(trial))
        self._listen(finished(kept))

    def _remember(self, record: RunRecord) -> None:
        key = _coordinates(record.trial)
        self._known[record.run_id] = record.trial
        self._attempts[key] = max(self._attempts[key], record.attempt)
        if record.status not in EXCLUDED:
            self._counted.add(key)

    def _stop_if_asked(self, job: OutsideJob, asked: set[str]) -> None:
        if self._cancel.is_set():
            job.stop(at_once=True)
        elif self._drain.is_set() and job.name not in asked and job.stop(at_once=False):
            asked.add(job.name)
            self._listen(note(f"job {job.name} was asked to end; again to end it at once", EventKind.STOPPED))

    def _say_begun(self, job: OutsideJob) -> None:
        for trial in job.trials:
            self._listen(about(trial, EventKind.STARTED, f"job {job.name}"))

    def _say_missing(self, jobs: Sequence[OutsideJob], missing: Mapping[str, Sequence[Trial]]) -> None:
        if self._drain.is_set():
            return  # whoever asked them to end knows why
        for job in jobs:
            if trials := missing[job.name]:
                self._listen(note(f"job {job.name} left {len(trials)} trials without a result. {job.last_words()}"))


def _coordinates(trial: Trial) -> Coordinates:
    return trial.task_id, trial.arm, trial.repeat


def _by_arm(trials: Iterable[Trial]) -> list[list[Trial]]:
    arms: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        arms[trial.arm].append(trial)
    return list(arms.values())
