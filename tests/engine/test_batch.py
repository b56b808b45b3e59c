"""Claims about many attempts at once. What an attempt does is a plain function here; clocks and threads are real."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from threading import Barrier, Lock, Timer
from threading import Event as Signal
from time import monotonic, sleep
from typing import Any

import pytest

from outweigh.engine.attempt import FinishedAttempt
from outweigh.engine.batch import Batch, BatchSettings, EndReason, LookResult
from outweigh.engine.budget import Budget
from outweigh.engine.events import EngineEvent, EventKind
from outweigh.engine.executor import ThreadExecutor
from outweigh.engine.trial_plan import PlannedRun, plan_runs
from outweigh.errors import EvidenceError
from outweigh.model.failure import Status
from outweigh.model.usage import UNKNOWN_COST, reported_cost
from outweigh.testing.builders import a_run

RunAttempt = Callable[[PlannedRun, int], FinishedAttempt]
# Only what hangs takes longer, on any machine.
PATIENCE = 300.0


def made(
    planned: PlannedRun, number: int, *, retry_after_seconds: float | None = None, **fields: Any
) -> FinishedAttempt:
    trial = planned.trial
    known = {"attempt": number, "run_id": f"{trial}#{number}", "setup_seconds": 0.1, **fields}
    record = a_run(trial.task_id, trial.arm, trial.repeat, **known)
    return FinishedAttempt(record=record, retry_after_seconds=retry_after_seconds, may_retry=True)


class BatchUnderTest:
    """Runs a batch and records what it did."""

    def __init__(self, run_attempt: RunAttempt = made) -> None:
        self.starts: list[tuple[PlannedRun, int, float]] = []
        self.events: list[EngineEvent] = []
        self.most_at_once = 0
        self.drain = Signal()
        self.drain_after: EventKind | None = None
        self.has_stopped = Signal()
        self.has_noted = Signal()
        self.attempt = run_attempt
        self._now = 0
        self._lock = Lock()

    def run_attempt(self, planned: PlannedRun, number: int) -> FinishedAttempt:
        with self._lock:
            self.starts.append((planned, number, monotonic()))
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        try:
            return self.attempt(planned, number)
        finally:
            with self._lock:
                self._now -= 1

    def run(
        self,
        plan: Sequence[PlannedRun],
        *,
        jobs: int = 2,
        retries: int = 2,
        backoff: float = 0.01,
        longest: float = 10.0,
        budget: Budget | None = None,
        take_look: Callable[[Collection[str]], LookResult] | None = None,
        look_wait: float = PATIENCE,
    ) -> EndReason:
        settings = self.settings(
            retries=retries,
            first_backoff_seconds=backoff,
            longest_backoff_seconds=longest,
            look_wait_seconds=look_wait,
        )
        batch = Batch(
            executor=ThreadExecutor(self.run_attempt, jobs),
            settings=settings,
            budget=budget or Budget(None, None),
            drain=self.drain,
            listen=self.listen,
            take_look=take_look,
        )
        return batch.run([(run, 1) for run in plan])

    def settings(self, **fields: Any) -> BatchSettings:
        return BatchSettings(**fields)

    def listen(self, event: EngineEvent) -> None:
        self.events.append(event)
        if event.kind is EventKind.STOPPED:
            self.has_stopped.set()
        if event.kind is EventKind.NOTE:
            self.has_noted.set()
        if event.kind is self.drain_after:
            Timer(0.1, self.drain.set).start()

    def kinds(self) -> Counter[EventKind]:
        return Counter(event.kind for event in self.events)

    def gaps(self) -> list[float]:
        times = [when for _, _, when in self.starts]
        return [later - earlier for earlier, later in pairwise(times)]


def a_plan(runs: int) -> tuple[PlannedRun, ...]:
    return plan_runs([f"t{number}" for number in range(runs // 2)], ["a", "b"], 1, seed=1)


def failing_until(attempt: int, status: Status = Status.INFRA_ERROR) -> RunAttempt:
    """The first attempts end with the status, the rest are fine."""

    def run_attempt(planned: PlannedRun, number: int) -> FinishedAttempt:
        return made(planned, number, status=status if number < attempt else Status.COMPLETED)

    return run_attempt


class TestOrderAndConcurrency:
    def test_every_run_of_the_plan_is_attempted_once_in_its_order(self) -> None:
        engine, plan = BatchUnderTest(), a_plan(20)

        assert engine.run(plan, jobs=1) is EndReason.DONE

        assert [(planned, number) for planned, number, _ in engine.starts] == [(run, 1) for run in plan]
        assert engine.kinds() == {EventKind.STARTED: 20, EventKind.FINISHED: 20}

    @pytest.mark.parametrize("jobs", [1, 3])
    def test_as_many_run_at_once_as_asked_for_and_no_more(self, jobs: int) -> None:
        everybody = Barrier(jobs, timeout=PATIENCE)

        def meet(planned: PlannedRun, number: int) -> FinishedAttempt:
            everybody.wait()
            return made(planned, number)

        engine = BatchUnderTest(meet)
        engine.run(a_plan(12), jobs=jobs)

        assert engine.most_at_once == jobs

    def test_an_empty_plan_is_done(self) -> None:
        assert BatchUnderTest().run([]) is EndReason.DONE

    def test_a_store_that_fails_ends_the_batch_when_what_runs_has_finished(self) -> None:
        engine = BatchUnderTest()
        finished: list[int] = []

        def run_attempt(planned: PlannedRun, number: int) -> FinishedAttempt:
            if planned.position == 0:
                raise EvidenceError("the disk is full")
            engine.has_stopped.wait(PATIENCE)
            finished.append(planned.position)
            return made(planned, number)

        engine.attempt = run_attempt
        with pytest.raises(EvidenceError, match="full"):
            engine.run(a_plan(20))

        assert finished == [1]
        assert "the disk is full; 1 running will be finished" in engine.events[-1].detail


class TestRetries:
    def test_infrastructure_errors_are_retried_up_to_the_limit_with_attempts_numbered_on(self) -> None:
        engine = BatchUnderTest(failing_until(99))
        plan = a_plan(2)[:1]

        stop = engine.run(plan, retries=2)

        assert stop is EndReason.INCOMPLETE
        assert [number for _, number, _ in engine.starts] == [1, 2, 3]
        assert engine.kinds()[EventKind.RETRYING] == 2

    def test_a_retry_that_succeeds_is_a_result(self) -> None:
        engine = BatchUnderTest(failing_until(3))

        assert engine.run(a_plan(4), retries=2) is EndReason.DONE

    @pytest.mark.parametrize(
        "status", [Status.COMPLETED, Status.AGENT_ERROR, Status.TIMEOUT, Status.BUDGET_EXCEEDED, Status.NOT_RUN]
    )
    def test_nothing_else_is_retried(self, status: Status) -> None:
        engine = BatchUnderTest(failing_until(99, status))

        stop = engine.run(a_plan(4))

        assert len(engine.starts) == 4
        assert stop is (EndReason.INCOMPLETE if status is Status.NOT_RUN else EndReason.DONE)

    def test_the_pause_doubles_with_jitter_and_has_an_end(self) -> None:
        engine = BatchUnderTest(failing_until(99))

        engine.run(a_plan(2)[:1], retries=3, backoff=0.4, longest=0.8)

        waits = [0.4, 0.8, 0.8]
        told = [float(event.detail.split()[2]) for event in engine.events if event.kind is EventKind.RETRYING]
        assert all(0.5 * wait <= pause <= wait for wait, pause in zip(waits, told, strict=True))
        assert all(gap >= 0.5 * wait for wait, gap in zip(waits, engine.gaps(), strict=True))

    def test_a_retry_waits_while_others_run_and_then_goes_first(self) -> None:
        longest_pause = 2.0

        def run_attempt(planned: PlannedRun, number: int) -> FinishedAttempt:
            if planned.position == 1:
                sleep(longest_pause)
            failed = planned.position == 0 and number == 1
            return made(planned, number, status=Status.INFRA_ERROR if failed else Status.COMPLETED)

        engine = BatchUnderTest(run_attempt)
        engine.run(a_plan(6), jobs=1, backoff=longest_pause)

        assert [planned.position for planned, _, _ in engine.starts] == [0, 1, 0, 2, 3, 4, 5]


class TestRateLimits:
    def test_a_pause_stops_new_starts_until_it_is_over(self) -> None:
        def run_attempt(planned: PlannedRun, number: int) -> FinishedAttempt:
            if planned.position == 0 and number == 1:
                return made(planned, number, status=Status.INFRA_ERROR, retry_after_seconds=0.8)
            return made(planned, number)

        engine = BatchUnderTest(run_attempt)

        assert engine.run(a_plan(6), jobs=1) is EndReason.DONE

        assert engine.gaps()[0] >= 0.8
        assert engine.starts[1][0].position == 0
        assert engine.kinds()[EventKind.PAUSED] == 1

    def test_a_shorter_pause_does_not_shorten_a_longer_one(self) -> None:
        def run_attempt(planned: PlannedRun, number: int) -> FinishedAttempt:
            if planned.position < 2 and number == 1:
                return made(planned, number, retry_after_seconds=(0.8, 0.05)[planned.position])
            return made(planned, number)

        engine = BatchUnderTest(run_attempt)
        engine.run(a_plan(4), jobs=2)

        assert engine.starts[2][2] - engine.starts[0][2] >= 0.8

    def test_a_pause_can_be_interrupted(self) -> None:
        engine = BatchUnderTest(lambda planned, number: made(planned, number, retry_after_seconds=1000.0))
        engine.drain_after = EventKind.PAUSED
        began = monotonic()

        assert engine.run(a_plan(6), jobs=1) is EndReason.INTERRUPTED
        assert monotonic() - began < 1000


class TestDraining:
    def test_what_runs_is_finished_and_nothing_more_is_started(self) -> None:
        engine = BatchUnderTest()

        def run_attempt(planned: PlannedRun, number: int) -> FinishedAttempt:
            engine.drain.set()
            engine.has_stopped.wait(PATIENCE)
            return made(planned, number)

        engine.attempt = run_attempt
        stop = engine.run(a_plan(20), jobs=2)

        assert stop is EndReason.INTERRUPTED
        assert 1 <= len(engine.starts) <= 2
        assert engine.kinds()[EventKind.FINISHED] == len(engine.starts)

    def test_draining_is_reported_while_runs_still_go_on(self) -> None:
        engine = BatchUnderTest()

        def run_attempt(planned: PlannedRun, number: int) -> FinishedAttempt:
            engine.drain.set()
            assert engine.has_stopped.wait(PATIENCE)
            return made(planned, number)

        engine.attempt = run_attempt
        engine.run(a_plan(20), jobs=2)

        kinds = [event.kind for event in engine.events]
        assert kinds.index(EventKind.STOPPED) < kinds.index(EventKind.FINISHED)

    def test_a_run_that_was_cancelled_leaves_the_batch_interrupted_even_when_it_was_the_last(self) -> None:
        engine = BatchUnderTest()

        def run_attempt(planned: PlannedRun, number: int) -> FinishedAttempt:
            engine.drain.set()
            return made(planned, number, status=Status.NOT_RUN)

        engine.attempt = run_attempt

        assert engine.run(a_plan(2)[:1]) is EndReason.INTERRUPTED

    def test_nothing_is_retried_any_more(self) -> None:
        engine = BatchUnderTest()

        def run_attempt(planned: PlannedRun, number: int) -> FinishedAttempt:
            engine.drain.set()
            return made(planned, number, status=Status.INFRA_ERROR)

        engine.attempt = run_attempt

        assert engine.run(a_plan(2)[:1]) is EndReason.INTERRUPTED
        assert len(engine.starts) == 1


class TestBudgets:
    def test_it_stops_before_the_run_that_could_exceed_it(self) -> None:
        engine = BatchUnderTest(lambda planned, number: made(planned, number, cost=reported_cost(1.0)))

        stop = engine.run(a_plan(20), jobs=1, budget=Budget(5.0, 1.0))

        assert (stop, len(engine.starts)) == (EndReason.BUDGET, 5)

    def test_runs_that_go_on_at_once_cannot_exceed_it_together(self) -> None:
        def run_attempt(planned: PlannedRun, number: int) -> FinishedAttempt:
            sleep(0.02)
            return made(planned, number, cost=reported_cost(1.0))

        engine = BatchUnderTest(run_attempt)

        stop = engine.run(a_plan(40), jobs=8, budget=Budget(5.0, 1.0))

        assert (stop, len(engine.starts)) == (EndReason.BUDGET, 5)

    def test_a_small_budget_makes_runs_wait_for_each_other_rather_than_stop(self) -> None:
        pair = Barrier(2, timeout=PATIENCE)

        def run_attempt(planned: PlannedRun, number: int) -> FinishedAttempt:
            pair.wait()
            return made(planned, number, cost=reported_cost(0.01))

        engine = BatchUnderTest(run_attempt)

        stop = engine.run(a_plan(20), jobs=8, budget=Budget(2.5, 1.0))

        assert (stop, len(engine.starts), engine.most_at_once) == (EndReason.DONE, 20, 2)

    def test_an_unknown_cost_counts_at_its_worst(self) -> None:
        engine = BatchUnderTest(lambda planned, number: made(planned, number, cost=UNKNOWN_COST))

        stop = engine.run(a_plan(20), jobs=1, budget=Budget(5.0, 1.0))

        assert (stop, len(engine.starts)) == (EndReason.BUDGET, 5)

    def test_retries_are_paid_for_too(self) -> None:
        def run_attempt(planned: PlannedRun, number: int) -> FinishedAttempt:
            return made(planned, number, status=Status.INFRA_ERROR, cost=reported_cost(1.0))

        engine = BatchUnderTest(run_attempt)

        stop = engine.run(a_plan(2)[:1], retries=20, budget=Budget(5.0, 1.0))

        assert (stop, len(engine.starts)) == (EndReason.BUDGET, 5)


class TestLooks:
    def test_a_look_is_taken_at_the_start_and_when_a_task_is_complete_and_told_which_are_not(self) -> None:
        asked: list[set[str]] = []

        def take_look(still_open: Collection[str]) -> LookResult:
            asked.append(set(still_open))
            return LookResult()

        plan = plan_runs(["x", "y", "z"], ["a", "b"], 2, seed=1, task_by_task=True)
        stop = BatchUnderTest().run(plan, jobs=1, take_look=take_look)

        tasks = list(dict.fromkeys(run.trial.task_id for run in plan))
        assert stop is EndReason.DONE
        assert asked == [set(tasks), set(tasks[1:]), set(tasks[2:])]

    def test_a_task_with_a_pending_retry_is_not_complete(self) -> None:
        asked: list[set[str]] = []

        def take_look(still_open: Collection[str]) -> LookResult:
            asked.append(set(still_open))
            return LookResult()

        plan = plan_runs(["x", "y"], ["a", "b"], 1, seed=1, task_by_task=True)
        first = plan[0]

        def run_attempt(planned: PlannedRun, number: int) -> FinishedAttempt:
            failed = planned == first and number == 1
            return made(planned, number, status=Status.INFRA_ERROR if failed else Status.COMPLETED)

        BatchUnderTest(run_attempt).run(plan, jobs=1, backoff=2.0, take_look=take_look)

        assert asked == [{"x", "y"}, {first.trial.task_id}]

    def test_a_look_that_ends_the_batch_stops_what_has_not_begun(self) -> None:
        plan = plan_runs([f"t{number}" for number in range(10)], ["a", "b"], 2, seed=1, task_by_task=True)
        engine = BatchUnderTest()

        def take_look(still_open: Collection[str]) -> LookResult:
            return LookResult(end=EndReason.FUTILE if len(still_open) <= 7 else None)

        stop = engine.run(plan, jobs=1, take_look=take_look)

        assert stop is EndReason.FUTILE
        assert len(engine.starts) == 3 * 4

    def test_nothing_is_started_where_the_results_of_an_earlier_engine_decide(self) -> None:
        engine = BatchUnderTest()

        stop = engine.run(a_plan(2), take_look=lambda _: LookResult(end=EndReason.DECIDED))

        assert (stop, engine.starts) == (EndReason.DECIDED, [])

    def test_trials_start_while_a_long_look_is_being_taken(self) -> None:
        all_started = Signal()
        plan = plan_runs(["x", "y"], ["a", "b"], 1, seed=1, task_by_task=True)

        def run_attempt(planned: PlannedRun, number: int) -> FinishedAttempt:
            if planned == plan[-1]:
                all_started.set()
            return made(planned, number)

        def take_look(still_open: Collection[str]) -> LookResult:
            assert len(still_open) == 2 or all_started.wait(PATIENCE)
            return LookResult()

        stop = BatchUnderTest(run_attempt).run(plan, jobs=1, take_look=take_look, look_wait=0.01)

        assert stop is EndReason.DONE

    def test_an_arm_that_is_settled_starts_no_more_runs_and_the_others_go_on(self) -> None:
        plan = plan_runs(["x", "y", "z"], ["base", "a", "b"], 2, seed=1, task_by_task=True)
        engine = BatchUnderTest()

        def take_look(still_open: Collection[str]) -> LookResult:
            done = len(still_open) <= 2
            return LookResult(
                settled=frozenset({"a"}) if done else frozenset(), notes=("a is settled",) if done else ()
            )

        stop = engine.run(plan, jobs=1, take_look=take_look)

        begun = Counter(planned.trial.arm for planned, _, _ in engine.starts)
        assert stop is EndReason.DONE
        assert begun == {"base": 6, "a": 2, "b": 6}
        assert "a is settled" in [event.detail for event in engine.events]

    def test_a_run_of_a_settled_arm_that_fails_is_not_tried_again(self) -> None:
        plan = [
            run
            for run in plan_runs(["x", "y"], ["base", "a"], 1, seed=1)
            if (run.trial.task_id, run.trial.arm) in {("x", "a"), ("y", "base")}
        ]

        def run_attempt(planned: PlannedRun, number: int) -> FinishedAttempt:
            if planned.trial.arm != "a":
                return made(planned, number)
            assert engine.has_noted.wait(PATIENCE)
            return made(planned, number, status=Status.INFRA_ERROR)

        def take_look(still_open: Collection[str]) -> LookResult:
            return LookResult() if "y" in still_open else LookResult(settled=frozenset({"a"}), notes=("a is settled",))

        engine = BatchUnderTest(run_attempt)
        stop = engine.run(plan, retries=5, take_look=take_look)

        assert stop is EndReason.DONE
        assert [number for planned, number, _ in engine.starts if planned.trial.arm == "a"] == [1]

    def test_a_look_that_fails_ends_the_batch_with_its_fault(self) -> None:
        def take_look(still_open: Collection[str]) -> LookResult:
            raise ValueError("no prices")

        with pytest.raises(ValueError, match="no prices"):
            BatchUnderTest().run(a_plan(2), take_look=take_look)
