"""Claims about experiments whose trials another harness makes: nothing lost, nothing twice, nothing after a signal."""

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event as Signal

import msgspec
import pytest

from outweigh.engine.batch import EndReason
from outweigh.engine.events import EngineEvent
from outweigh.engine.external_jobs import ExternalExperiment
from outweigh.engine.trial_plan import plan_runs
from outweigh.errors import EvidenceError
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord, Trial
from outweigh.store.run_store import FolderRunStore
from outweigh.testing.builders import a_run

PLAN = plan_runs(["one", "two"], ["a", "b"], 2, 0)
Ending = Callable[[Trial, int], Status | None]
"""How a trial ends in a job of this number; None for a trial that gets no result."""


class Job:
    """A job whose trials end one at each look, the last first."""

    def __init__(self, number: int, trials: Sequence[Trial], ending: Ending) -> None:
        self.name = f"{number:04}"
        self.trials = trials
        self.stopped: list[bool] = []
        self.begun = False
        self._left = [
            (f"{self.name}/{place}", trial.task_id, status)
            for place, trial in enumerate(trials)
            if (status := ending(trial, number)) is not None
        ]

    def start(self) -> None:
        self.begun = True

    @property
    def is_running(self) -> bool:
        return bool(self._left) and not self.stopped

    def new_results(self) -> Sequence[RunRecord]:
        if not self._left:
            return []
        run_id, task, status = self._left.pop()
        return [a_run(task=task, arm="whatever it is called there", run_id=run_id, status=status)]

    def stop(self, *, at_once: bool) -> bool:
        self.stopped.append(at_once)
        return True

    def last_output(self) -> str:
        return "farewell"


class Jobs:
    """A harness that ends trials as it is told; `found` are jobs of an earlier engine."""

    def __init__(self, ending: Ending, found: Sequence[Job] = ()) -> None:
        self.made: list[Job] = []
        self._ending = ending
        self._found = found

    def earlier(self) -> Sequence[Job]:
        return self._found

    def may_retry(self, record: RunRecord) -> bool:
        return True

    def prepare(self, trials: Sequence[Trial]) -> Job:
        assert not any(job.begun and job.is_running for job in self.made)
        self.made.append(Job(len(self.made) + 1, trials, self._ending))
        return self.made[-1]


def adopt(record: RunRecord, trial: Trial, attempt: int, job: str) -> RunRecord:
    return msgspec.structs.replace(record, trial=trial, attempt=attempt, extra={"job": job})


class JobsUnderTest:
    """One store, and the events of the engines over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: list[EngineEvent] = []
        self.drain, self.cancel = Signal(), Signal()

    def run(self, jobs: Jobs, *, retries: int = 0) -> EndReason:
        with FolderRunStore.open(self.folder) as store:
            outside = ExternalExperiment(
                jobs, store, adopt, drain=self.drain, cancel=self.cancel, listen=self.said.append, tick_seconds=0.001
            )
            outside.take_in_earlier()
            return outside.run(PLAN, retries=retries)

    def kept(self) -> list[RunRecord]:
        with FolderRunStore.open(self.folder) as store:
            return [record for attempts in store.finished().values() for record in attempts]

    def words(self) -> str:
        return "\n".join(event.detail for event in self.said)


def completed(trial: Trial, job: int) -> Status | None:
    return Status.COMPLETED


def test_every_arm_gets_one_job_with_its_trials_in_the_order_of_the_plan(tmp_path: Path) -> None:
    jobs, engine = Jobs(completed), JobsUnderTest(tmp_path)

    assert engine.run(jobs) is EndReason.DONE

    assert [list(job.trials) for job in jobs.made] == [
        [run.trial for run in PLAN if run.trial.arm == arm] for arm in dict.fromkeys(run.trial.arm for run in PLAN)
    ]
    assert sorted((run.trial.task_id, run.trial.arm, run.trial.repeat) for run in engine.kept()) == sorted(
        (run.trial.task_id, run.trial.arm, run.trial.repeat) for run in PLAN
    )
    assert {run.attempt for run in engine.kept()} == {1}


def test_jobs_are_started_only_when_all_of_them_were_accepted(tmp_path: Path) -> None:
    class Strict(Jobs):
        def prepare(self, trials: Sequence[Trial]) -> Job:
            assert not any(job.begun for job in self.made)
            return super().prepare(trials)

    assert JobsUnderTest(tmp_path).run(Strict(completed)) is EndReason.DONE


def test_what_infrastructure_broke_goes_into_a_further_job(tmp_path: Path) -> None:
    def breaks_first(trial: Trial, job: int) -> Status | None:
        return Status.INFRA_ERROR if trial.task_id == "two" and trial.arm == "b" and job <= 2 else Status.COMPLETED

    jobs, engine = Jobs(breaks_first), JobsUnderTest(tmp_path)

    assert engine.run(jobs, retries=2) is EndReason.DONE

    assert len(jobs.made) == 3
    assert {(trial.task_id, trial.arm) for trial in jobs.made[2].trials} == {("two", "b")}
    again = [run for run in engine.kept() if run.trial.task_id == "two" and run.trial.arm == "b"]
    assert sorted((run.trial.repeat, run.attempt) for run in again) == [(1, 1), (1, 2), (2, 1), (2, 2)]


def test_a_failure_that_a_retry_cannot_fix_is_retried_only_by_the_next_engine(tmp_path: Path) -> None:
    class Hopeless(Jobs):
        def may_retry(self, record: RunRecord) -> bool:
            return record.trial.task_id != "two"

    def breaks_first(trial: Trial, job: int) -> Status | None:
        return Status.INFRA_ERROR if job <= 2 else Status.COMPLETED

    jobs, engine = Hopeless(breaks_first), JobsUnderTest(tmp_path)

    assert engine.run(jobs, retries=3) is EndReason.INCOMPLETE

    assert {trial.task_id for job in jobs.made[2:] for trial in job.trials} == {"one"}
    again = Jobs(completed)
    again.made.extend(Job(number, [], completed) for number in range(1, len(jobs.made) + 1))  # whose names are taken
    assert engine.run(again) is EndReason.DONE


def test_infrastructure_failures_are_retried_up_to_the_limit(tmp_path: Path) -> None:
    jobs, engine = Jobs(lambda trial, job: Status.INFRA_ERROR), JobsUnderTest(tmp_path)

    assert engine.run(jobs, retries=1) is EndReason.INCOMPLETE

    assert len(jobs.made) == 4


def test_a_harness_that_ends_early_is_not_started_again_and_its_last_output_is_reported(tmp_path: Path) -> None:
    jobs, engine = Jobs(lambda trial, job: None), JobsUnderTest(tmp_path)

    assert engine.run(jobs, retries=5) is EndReason.INCOMPLETE

    assert len(jobs.made) == 2
    assert "job 0001 left 4 trials without a result. farewell" in engine.words()


def test_running_again_makes_only_what_is_missing(tmp_path: Path) -> None:
    engine = JobsUnderTest(tmp_path)
    engine.run(Jobs(lambda trial, job: None if trial.task_id == "two" else Status.COMPLETED))
    jobs = Jobs(completed)
    jobs.made.extend(Job(number, [], completed) for number in (1, 2))  # whose names are taken

    assert engine.run(jobs) is EndReason.DONE

    assert {trial.task_id for job in jobs.made[2:] for trial in job.trials} == {"two"}
    assert engine.run(Jobs(completed)) is EndReason.DONE
    assert len(engine.kept()) == len(PLAN)


def test_results_of_an_earlier_engines_jobs_are_taken_in_once(tmp_path: Path) -> None:
    trials = [run.trial for run in PLAN]
    engine = JobsUnderTest(tmp_path)

    for _ in range(3):
        jobs = Jobs(completed, [Job(7, trials, completed)])
        assert engine.run(jobs) is EndReason.DONE
        assert jobs.made == []

    assert len(engine.kept()) == len(PLAN)


def test_a_trial_that_has_a_result_gets_no_other_instead(tmp_path: Path) -> None:
    trials = [run.trial for run in PLAN]
    engine = JobsUnderTest(tmp_path)
    engine.run(Jobs(completed))
    before = engine.kept()

    assert engine.run(Jobs(completed, [Job(7, trials, completed)])) is EndReason.DONE

    assert engine.kept() == before


def test_jobs_that_ended_long_ago_are_not_reported_again(tmp_path: Path) -> None:
    engine = JobsUnderTest(tmp_path)

    assert engine.run(Jobs(completed, [Job(7, [run.trial for run in PLAN], lambda trial, job: None)])) is EndReason.DONE

    assert "farewell" not in engine.words()


def test_a_failure_that_a_retry_could_not_fix_is_tried_again_by_the_next_engine(tmp_path: Path) -> None:
    class Hopeless(Jobs):
        def may_retry(self, record: RunRecord) -> bool:
            return False

    found = Job(7, [run.trial for run in PLAN], lambda trial, job: Status.INFRA_ERROR)
    engine = JobsUnderTest(tmp_path)

    assert engine.run(Hopeless(completed, [found])) is EndReason.DONE

    assert sorted(run.attempt for run in engine.kept()) == [1] * len(PLAN) + [2] * len(PLAN)


def test_an_engine_that_fails_says_which_jobs_go_on_without_it(tmp_path: Path) -> None:
    class Damaged(Job):
        def new_results(self) -> Sequence[RunRecord]:
            raise EvidenceError("the disk is full.")

    engine = JobsUnderTest(tmp_path)

    with pytest.raises(EvidenceError, match="the disk is full"):
        engine.run(Jobs(completed, [Damaged(7, [run.trial for run in PLAN], completed)]))

    assert "still running: 0007." in engine.words()


def test_a_job_that_is_still_running_is_waited_for_before_anything_is_started(tmp_path: Path) -> None:
    trials = [run.trial for run in PLAN]
    jobs, engine = Jobs(completed, [Job(7, trials, completed)]), JobsUnderTest(tmp_path)

    assert engine.run(jobs) is EndReason.DONE

    assert jobs.made == []
    assert "job 0007 of an earlier engine is still running" in engine.words()


def test_a_result_that_matches_no_trial_is_reported_and_left_out(tmp_path: Path) -> None:
    stranger = Job(7, [Trial(task_id="nobody's", arm="a", repeat=1, seed=None)], completed)
    stranger.trials = []
    engine = JobsUnderTest(tmp_path)

    assert engine.run(Jobs(completed, [stranger])) is EndReason.DONE

    assert "belongs to no trial without a result" in engine.words()
    assert len(engine.kept()) == len(PLAN)


def test_the_first_signal_asks_jobs_to_end_and_what_had_ended_is_kept(tmp_path: Path) -> None:
    engine = JobsUnderTest(tmp_path)

    class Interrupted(Job):
        def new_results(self) -> Sequence[RunRecord]:
            engine.drain.set()
            return super().new_results()

    job = Interrupted(7, [run.trial for run in PLAN], completed)
    jobs = Jobs(completed, [job])
    assert engine.run(jobs) is EndReason.INTERRUPTED

    assert job.stopped == [False]
    assert 0 < len(engine.kept()) < len(PLAN)
    assert jobs.made == []


def test_the_second_signal_ends_jobs_at_once(tmp_path: Path) -> None:
    engine = JobsUnderTest(tmp_path)
    trials = [run.trial for run in PLAN]

    class Stubborn(Job):
        @property
        def is_running(self) -> bool:
            engine.drain.set()
            if self.stopped:
                engine.cancel.set()
            return True not in self.stopped

    job = Stubborn(7, trials, completed)
    assert engine.run(Jobs(completed, [job])) is EndReason.INTERRUPTED

    assert job.stopped[0] is False
    assert job.stopped[-1] is True


def test_nothing_is_started_once_a_signal_has_come(tmp_path: Path) -> None:
    engine = JobsUnderTest(tmp_path)

    class Late(Jobs):
        def prepare(self, trials: Sequence[Trial]) -> Job:
            engine.drain.set()
            return super().prepare(trials)

    jobs = Late(completed)
    assert engine.run(jobs) is EndReason.INTERRUPTED

    assert not any(job.begun for job in jobs.made)


def test_a_job_that_could_not_be_reached_yet_is_asked_again(tmp_path: Path) -> None:
    engine = JobsUnderTest(tmp_path)
    engine.drain.set()

    class JustBegun(Job):
        looks = 0

        @property
        def is_running(self) -> bool:
            return not self.stopped

        def stop(self, *, at_once: bool) -> bool:
            self.looks += 1
            return self.looks > 2 and super().stop(at_once=at_once)

    job = JustBegun(7, [run.trial for run in PLAN], completed)
    assert engine.run(Jobs(completed, [job])) is EndReason.INTERRUPTED

    assert job.stopped == [False]
    assert engine.words().count("was asked to end") == 1
