"""A run stops when trial after trial fails with the same infrastructure error, and only then."""

import random
from collections.abc import Callable, Sequence
from threading import Barrier
from typing import Any

import pytest
from tests.engine.test_batch import PATIENCE, BatchUnderTest, a_plan, made

from outweigh.engine.attempt import FinishedAttempt
from outweigh.engine.batch import BatchSettings, EndReason
from outweigh.engine.events import EventKind
from outweigh.engine.failure_streak import FailureStreak, normalise_reason
from outweigh.engine.trial_plan import PlannedRun, plan_runs
from outweigh.model.failure import FailureKind, Status
from outweigh.model.run_record import Trial

Ending = Callable[[PlannedRun, int], FinishedAttempt]


def broken(
    planned: PlannedRun, number: int, detail: str = "HTTP 401: no such key", kind: FailureKind | None = None
) -> FinishedAttempt:
    ended = made(planned, number, status=Status.INFRA_ERROR, status_detail=detail)
    fatal = kind in (FailureKind.UNAUTHORIZED, FailureKind.LOGIN_EXPIRED, FailureKind.UNKNOWN_MODEL)
    return FinishedAttempt(record=ended.record, retry_after_seconds=None, may_retry=not fatal, failure_kind=kind)


class StoppingBatch(BatchUnderTest):
    """A batch with the limit that `outweigh run` sets."""

    def __init__(self, attempt: Ending, same_failures: int | None = 3) -> None:
        super().__init__(attempt)
        self.same_failures = same_failures

    def settings(self, **fields: Any) -> BatchSettings:
        return BatchSettings(**fields, same_failures=self.same_failures)


def one_arm(tasks: int) -> Sequence[PlannedRun]:
    return plan_runs([f"t{number}" for number in range(tasks)], ["a"], 1, seed=1)


def trial(task: str, arm: str = "a") -> Trial:
    return Trial(task_id=task, arm=arm, repeat=1, seed=None)


class TestStopping:
    def test_three_trials_that_fail_alike_in_a_row_end_the_batch(self) -> None:
        engine = StoppingBatch(broken)

        assert engine.run(a_plan(20), jobs=1) is EndReason.STOPPED

        assert [number for _, number, _ in engine.starts] == [1, 1, 1]
        assert len({planned.trial.key for planned, _, _ in engine.starts}) == 3
        (said,) = [event.detail for event in engine.events if event.kind is EventKind.NOTE]
        assert said.startswith("3 trials in a row failed with the same infrastructure error: HTTP 401: no such key.")

    def test_a_login_that_has_expired_ends_the_batch_at_once(self) -> None:
        engine = StoppingBatch(lambda planned, number: broken(planned, number, "expired", FailureKind.LOGIN_EXPIRED))

        assert engine.run(a_plan(20), jobs=1) is EndReason.STOPPED

        assert len(engine.starts) == 1
        (said,) = [event.detail for event in engine.events if event.kind is EventKind.NOTE]
        assert said == (
            "a trial failed with an infrastructure error that no other trial escapes: expired. What has run is kept."
        )

    def test_asked_to_keep_going_it_attempts_all_trials(self) -> None:
        engine = StoppingBatch(broken, same_failures=None)

        assert engine.run(a_plan(8), jobs=1, retries=0) is EndReason.INCOMPLETE
        assert len(engine.starts) == 8

    def test_a_result_between_failures_of_the_arm_starts_the_count_anew(self) -> None:
        def every_third_works(planned: PlannedRun, number: int) -> FinishedAttempt:
            return made(planned, number) if int(planned.trial.task_id[1:]) % 3 == 2 else broken(planned, number)

        engine = StoppingBatch(every_third_works)
        plan = sorted(one_arm(12), key=lambda run: int(run.trial.task_id[1:]))

        assert engine.run(plan, jobs=1, retries=0) is EndReason.INCOMPLETE
        assert len(engine.starts) == 12

    def test_an_arm_that_always_fails_ends_the_batch_although_the_other_works(self) -> None:
        engine = StoppingBatch(lambda run, number: (broken if run.trial.arm == "a" else made)(run, number))

        assert engine.run(a_plan(40), jobs=1, retries=0) is EndReason.STOPPED
        assert sum(planned.trial.arm == "a" for planned, _, _ in engine.starts) == 3

    def test_failures_for_different_reasons_are_not_in_a_row(self) -> None:
        words = ("the disk is full", "the image is gone", "the port is taken")

        def in_turn(planned: PlannedRun, number: int) -> FinishedAttempt:
            return broken(planned, number, words[int(planned.trial.task_id[1:]) % 3])

        plan = sorted(one_arm(9), key=lambda run: int(run.trial.task_id[1:]))

        assert StoppingBatch(in_turn).run(plan, jobs=1, retries=0) is EndReason.INCOMPLETE

    def test_retries_of_one_trial_are_one_failure(self) -> None:
        engine = StoppingBatch(broken)

        assert engine.run(one_arm(2), jobs=1, retries=4) is EndReason.INCOMPLETE
        assert len(engine.starts) == 10

    def test_what_comes_back_within_the_retries_goes_on(self) -> None:
        """The second trial shows that it was the first alone, and the first is tried again."""
        engine = StoppingBatch(
            lambda run, number: (broken if run.trial.task_id == "t0" and number == 1 else made)(run, number)
        )

        assert engine.run(one_arm(6), jobs=1) is EndReason.DONE
        assert len(engine.starts) == 7

    def test_trials_that_one_lost_worker_took_down_count_once(self) -> None:
        """Four run at once and fail together, whatever their number; what is started afterwards works."""
        together = Barrier(4, timeout=PATIENCE)

        def lost_once(planned: PlannedRun, number: int) -> FinishedAttempt:
            if len(engine.starts) <= 4 and number == 1:
                together.wait()
                return broken(planned, number, "SandboxError: the container engine ended")
            return made(planned, number)

        engine = StoppingBatch(lost_once)

        assert engine.run(a_plan(12), jobs=4) is EndReason.DONE

    @pytest.mark.parametrize("status", [Status.ARM_NOT_APPLIED, Status.AGENT_ERROR, Status.TIMEOUT])
    def test_what_an_agent_can_cause_never_ends_the_batch(self, status: Status) -> None:
        engine = StoppingBatch(lambda run, number: made(run, number, status=status, status_detail="the same"))

        engine.run(a_plan(12), jobs=1)

        assert len(engine.starts) == 12

    def test_a_provider_that_asks_to_wait_is_given_its_pauses_first(self) -> None:
        def busy_at_first(planned: PlannedRun, number: int) -> FinishedAttempt:
            if number == 1:
                return broken(planned, number, "HTTP 429", FailureKind.RATE_LIMITED)
            return made(planned, number)

        assert StoppingBatch(busy_at_first).run(a_plan(12), jobs=1) is EndReason.DONE

    def test_what_runs_when_the_batch_stops_is_finished_and_kept(self) -> None:
        def slow_beside_broken(planned: PlannedRun, number: int) -> FinishedAttempt:
            if planned.trial.arm == "b":
                engine.has_stopped.wait(PATIENCE)
                return made(planned, number)
            return broken(planned, number)

        engine = StoppingBatch(slow_beside_broken)
        plan = [run for run in a_plan(12) if run.trial.arm == "b"][:1] + list(one_arm(6))

        assert engine.run(plan, jobs=2, retries=0) is EndReason.STOPPED
        assert engine.kinds()[EventKind.STARTED] == engine.kinds()[EventKind.FINISHED]


class PlainStreak:
    """The same by keeping every reason that was ever given, and searching all of them."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.failures = 0
        self.trials: dict[str, list[Trial]] = {}
        self.counted_at: dict[str, int] = {}

    def add_result(self, arm: str, besides: str | None = None) -> None:
        for reason, trials in self.trials.items():
            if reason != besides:
                self.trials[reason] = [each for each in trials if each.arm != arm]

    def add_failure(self, failed: Trial, reason: str, started_at: int) -> int | None:
        trials = self.trials.setdefault(reason, [])
        if failed not in trials:
            self.add_result(failed.arm, besides=reason)
            if self.counted_at.get(reason, 0) <= started_at:
                trials.append(failed)
                self.failures += 1
                self.counted_at[reason] = self.failures
        return len(trials) if len(trials) >= self.limit else None


class TestManyReasons:
    @pytest.mark.parametrize("seed", range(30))
    def test_what_is_found_is_what_searching_all_that_ever_failed_finds(self, seed: int) -> None:
        chance = random.Random(seed)
        streak, plain = FailureStreak(4), PlainStreak(4)
        marks = [0]
        for _ in range(300):
            failed = trial(f"t{chance.randrange(8)}", chance.choice("ab"))
            if chance.random() < 0.4:
                streak.add_result(failed.arm)
                plain.add_result(failed.arm)
            else:
                reason, mark = chance.choice(["one", "other", "third"]), chance.choice(marks[-5:])
                found = streak.add_failure(failed, None, reason, mark)
                assert (None if found is None else found.trials) == plain.add_failure(failed, reason, mark)
            assert streak.active == any(plain.trials.values())
            assert streak.mark() == plain.failures
            marks.append(streak.mark())


class TestSameReason:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("connect to 127.0.0.1:40121 failed after 3 s", "connect to 127.0.0.1:40122 failed after 12 s"),
            ("/tmp/outweigh-1f/trials/1.1 cannot be made", "/tmp/outweigh-1f/trials/23.2 cannot be made"),
            ("HTTP 500 (request req_011CQe8x)", "HTTP 500 (request req_9zB7hh2k)"),
            ("no image for t0, arm a", "no image for t1, arm a"),
        ],
    )
    def test_numbers_paths_identifiers_and_names_of_trials_make_no_difference(self, one: str, other: str) -> None:
        assert normalise_reason(one, trial("t0")) == normalise_reason(other, trial("t1"))

    def test_other_words_and_other_kinds_are_other_reasons(self) -> None:
        streak = FailureStreak(2)

        assert streak.add_failure(trial("t0"), FailureKind.SERVER_ERROR, "failed", streak.mark()) is None
        assert streak.add_failure(trial("t1"), FailureKind.CUT_STREAM, "failed", streak.mark()) is None
        assert streak.add_failure(trial("t2"), FailureKind.CUT_STREAM, "ended", streak.mark()) is None
        assert streak.add_failure(trial("t3"), FailureKind.CUT_STREAM, "ended", streak.mark()) is not None

    def test_the_stop_says_what_to_look_at(self) -> None:
        streak = FailureStreak(1)

        found = streak.add_failure(trial("t0"), FailureKind.UNAUTHORIZED, "HTTP 401: invalid key.", streak.mark())

        assert "HTTP 401: invalid key. The provider does not accept the key or the login." in str(found)
