"""Claims about a batch whose attempts are made elsewhere: by the executor's clock, and where it has places for arms."""

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from threading import Event as Signal
from threading import Thread
from typing import Any

import pytest

from outweigh.engine.attempt import FinishedAttempt
from outweigh.engine.batch import NO_TIER_BUDGETS, Batch, BatchSettings, EndReason
from outweigh.engine.budget import Budget
from outweigh.engine.events import EventKind, EventListener
from outweigh.engine.executor import DoneFutures
from outweigh.engine.trial_plan import PlannedRun, plan_runs
from outweigh.model.failure import Status
from outweigh.model.usage import reported_cost
from outweigh.testing.builders import a_run

FOR_EVER = 10_000.0
"""Seconds of the simulated clock; no batch here takes so long unless it waits in vain."""


def a_plan(runs: int) -> tuple[PlannedRun, ...]:
    return plan_runs([f"t{number}" for number in range(runs // 2)], ["a", "b"], 1, seed=1)


def of_arm(arm: str, runs: int) -> list[PlannedRun]:
    return [run for run in a_plan(2 * runs) if run.trial.arm == arm]


def made(planned: PlannedRun, number: int, **fields: Any) -> FinishedAttempt:
    trial = planned.trial
    known: dict[str, Any] = {"attempt": number, "run_id": f"{trial}#{number}", "cost": reported_cost(0.5)}
    record = a_run(trial.task_id, trial.arm, trial.repeat, **known | fields)
    return FinishedAttempt(record=record, retry_after_seconds=None, may_retry=True)


class CountingExecutor:
    """A place for attempts whose clock only moves while it is waited for: what a simulation of a cluster is.

    Every attempt takes ten seconds of that clock and costs half a dollar. The arms of `closed` have no place from
    `closes_at` to `opens_at`, and every first attempt of an arm of `broken` is lost; of one of `silent`, it may still
    be heard of.
    """

    def __init__(
        self,
        slots: int,
        closed: Collection[str] = (),
        opens_at: float = 0.0,
        closes_at: float = 0.0,
        broken: Collection[str] = (),
        silent: Collection[str] = (),
    ) -> None:
        self.slots = slots
        self.starts: list[tuple[float, str]] = []
        self.is_closed = False
        self._closed = closed
        self._closes_at = closes_at
        self._opens_at = opens_at
        self._broken = broken
        self._silent = silent
        self._time = 0.0
        self._running: list[tuple[float, Future[FinishedAttempt], FinishedAttempt]] = []

    def start(self, planned: PlannedRun, attempt: int) -> Future[FinishedAttempt] | None:
        arm = planned.trial.arm
        if arm in self._closed and self._closes_at <= self._time < self._opens_at:
            return None
        lost = attempt == 1 and arm in (*self._broken, *self._silent)
        ended: dict[str, Any] = {"status": Status.INFRA_ERROR, "status_detail": "the host was lost"} if lost else {}
        self.starts.append((self._time, arm))
        future: Future[FinishedAttempt] = Future()
        result = replace(made(planned, attempt, **ended), may_come_late=lost and arm in self._silent)
        self._running.append((self._time + 10.0, future, result))
        return future

    def wait(self, done: DoneFutures, timeout: float) -> None:
        self._time += timeout
        assert self._time < FOR_EVER, "the batch waits for something that does not come"
        for ends, future, result in self._running:
            if ends <= self._time and not future.done():
                future.set_result(result)

    def now(self) -> float:
        return self._time

    def close(self) -> None:
        self.is_closed = True


def run_on(
    executor: CountingExecutor,
    plan: Sequence[PlannedRun],
    budget: Budget | None = None,
    *,
    retries: int = 0,
    backoff: float = 1.0,
    same_failures: int | None = None,
    tier_budgets: Mapping[str, Budget] = NO_TIER_BUDGETS,
    listen: EventListener = lambda event: None,
) -> EndReason:
    settings = BatchSettings(
        retries=retries,
        first_backoff_seconds=backoff,
        longest_backoff_seconds=backoff,
        same_failures=same_failures,
    )
    batch = Batch(
        executor=executor,
        settings=settings,
        budget=budget or Budget(None, None),
        drain=Signal(),
        listen=listen,
        take_look=None,
        tier_budgets=tier_budgets,
    )
    return batch.run([(run, 1) for run in plan])


class TestOtherPlacesForAttempts:
    def test_a_batch_goes_by_the_clock_of_its_executor_and_closes_it(self) -> None:
        executor = CountingExecutor(slots=2)

        assert run_on(executor, a_plan(6)) is EndReason.DONE

        assert len(executor.starts) == 6
        assert executor.now() == pytest.approx(30.0, abs=1.0)
        assert executor.is_closed

    def test_attempts_that_are_done_at_once_are_finished_in_the_order_in_which_they_started(self) -> None:
        class LastFirst(CountingExecutor):
            def wait(self, done: DoneFutures, timeout: float) -> None:
                self._running.reverse()
                super().wait(done, timeout)
                self._running.reverse()

        told: list[tuple[EventKind, str | None]] = []
        plan = of_arm("a", 6)

        run_on(LastFirst(slots=6), plan, listen=lambda event: told.append((event.kind, event.task_id)))

        finished = [task for kind, task in told if kind is EventKind.FINISHED]
        assert finished == [run.trial.task_id for run in plan]

    def test_an_arm_without_a_place_keeps_no_other_arm_waiting(self) -> None:
        executor = CountingExecutor(slots=2, closed={"a"}, opens_at=100.0)

        assert run_on(executor, a_plan(8)) is EndReason.DONE

        assert [arm for _, arm in executor.starts] == ["b"] * 4 + ["a"] * 4
        assert all(time >= 100.0 for time, arm in executor.starts if arm == "a")

    def test_what_was_reserved_for_an_attempt_without_a_place_can_be_spent_on_others(self) -> None:
        executor = CountingExecutor(slots=2, closed={"a"}, opens_at=100.0)
        budget = Budget(cap_usd=2.0, run_cap_usd=1.0)

        ended = run_on(executor, [run for run in a_plan(2) if run.trial.arm == "a"], budget)

        assert ended is EndReason.DONE
        assert budget.reserve()

    def test_retries_of_an_arm_without_a_place_keep_no_other_arm_waiting(self) -> None:
        executor = CountingExecutor(slots=2, closed={"a"}, closes_at=5.0, opens_at=1000.0, broken={"a"})
        plan = sorted(a_plan(8), key=lambda run: run.trial.arm)
        one_of_a_first = [plan[0], *[run for run in plan if run.trial.arm == "b"]]

        assert run_on(executor, one_of_a_first, retries=1) is EndReason.DONE

        assert [arm for _, arm in executor.starts] == ["a", "b", "b", "b", "b", "a"]
        assert all(time < 100.0 for time, arm in executor.starts if arm == "b")

    def test_a_retry_behind_one_without_a_place_starts_no_sooner_than_its_backoff(self) -> None:
        executor = CountingExecutor(slots=2, closed={"a"}, closes_at=5.0, opens_at=1000.0, broken={"a", "b"})
        one_of_each = [*of_arm("a", 1), *of_arm("b", 1)]

        assert run_on(executor, one_of_each, retries=1, backoff=200.0) is EndReason.DONE

        assert [arm for _, arm in executor.starts] == ["a", "b", "b", "a"]
        assert executor.starts[2][0] >= 10.0 + 0.5 * 200.0

    def test_after_a_failure_a_retry_goes_first_where_what_waits_has_no_place(self) -> None:
        executor = CountingExecutor(slots=1, closed={"a"}, opens_at=1000.0, broken={"b"})

        ended = run_on(executor, [*of_arm("b", 1), *of_arm("a", 1)], retries=1, same_failures=3)

        assert ended is EndReason.DONE
        assert [arm for _, arm in executor.starts] == ["b", "b", "a"]
        assert executor.starts[1][0] < 100.0

    def test_the_retry_of_an_attempt_that_may_still_be_heard_of_comes_after_all_others_and_without_a_backoff(
        self,
    ) -> None:
        executor = CountingExecutor(slots=1, silent={"a"})

        ended = run_on(executor, [*of_arm("a", 2), *of_arm("b", 2)], retries=1, backoff=500.0)

        assert ended is EndReason.DONE
        assert [arm for _, arm in executor.starts] == ["a", "a", "b", "b", "a", "a"]
        assert executor.now() == pytest.approx(60.0, abs=2.0)

    def test_attempts_that_may_still_be_heard_of_tell_nothing_of_what_fails_and_stop_nothing(self) -> None:
        executor = CountingExecutor(slots=1, silent={"a"})

        ended = run_on(executor, [*of_arm("a", 6), *of_arm("b", 1)], retries=1, same_failures=3)

        assert ended is EndReason.DONE
        assert len(executor.starts) == 13

    def test_however_many_attempts_of_an_arm_without_a_place_wait_another_is_found_behind_them(self) -> None:
        executor = CountingExecutor(slots=1, closed={"a"}, opens_at=50.0)

        run_on(executor, [*of_arm("a", 1500)[:1400], *of_arm("b", 1)], Budget(1.0, 0.5))

        assert executor.starts[0] == (0.0, "b")


class TestBudgetsOfTiers:
    def test_what_was_reserved_in_a_tier_for_an_attempt_without_a_place_can_be_spent_when_there_is_one(self) -> None:
        executor = CountingExecutor(slots=2, closed={"a"}, opens_at=100.0)
        of_tier = Budget(cap_usd=1.0, run_cap_usd=1.0)

        ended = run_on(executor, of_arm("a", 1), tier_budgets={"a": of_tier})

        assert ended is EndReason.DONE
        assert [arm for _, arm in executor.starts] == ["a"]
        assert not of_tier.has_reservations

    def test_what_was_reserved_for_a_tier_that_is_used_up_can_be_spent_on_others(self) -> None:
        executor = CountingExecutor(slots=1)

        ended = run_on(
            executor,
            [*of_arm("a", 1), *of_arm("b", 1)],
            Budget(cap_usd=1.0, run_cap_usd=1.0),
            tier_budgets={"a": Budget(cap_usd=0.5, run_cap_usd=1.0)},
        )

        assert ended is EndReason.TIER_BUDGET
        assert [arm for _, arm in executor.starts] == ["b"]

    def test_what_was_reserved_for_a_tier_that_waits_for_its_own_runs_can_be_spent_when_they_have_ended(self) -> None:
        executor = CountingExecutor(slots=2)
        budget, of_tier = Budget(cap_usd=2.0, run_cap_usd=1.0), Budget(cap_usd=1.5, run_cap_usd=1.0)

        ended = run_on(executor, of_arm("a", 2), budget, tier_budgets={"a": of_tier})

        assert ended is EndReason.DONE
        assert [time for time, _ in executor.starts] == pytest.approx([0.0, 10.0], abs=0.5)
        assert not budget.has_reservations

    def test_arms_of_a_tier_share_its_budget_and_are_dropped_together(self) -> None:
        executor = CountingExecutor(slots=1)
        shared = Budget(cap_usd=1.0, run_cap_usd=0.5)

        ended = run_on(executor, a_plan(8), tier_budgets={"a": shared, "b": shared})

        assert ended is EndReason.TIER_BUDGET
        assert len(executor.starts) == 2


class TestDoneFutures:
    def test_a_future_reports_itself_once_whether_it_was_done_before_or_is_later(self) -> None:
        done, before, later = DoneFutures(), Future[int](), Future[int]()
        before.set_result(1)
        done.watch(before)
        done.watch(later)

        assert done
        assert done.take() == [before]
        assert not done
        later.set_exception(ValueError("no"))
        assert done.take() == [later]
        assert done.take() == []

    def test_a_wait_ends_when_another_thread_sets_a_result(self) -> None:
        done, future = DoneFutures(), Future[int]()
        done.watch(future)
        thread = Thread(target=future.set_result, args=(1,))
        thread.start()

        done.wait(300.0)
        thread.join()

        assert done.take() == [future]

    def test_a_wait_after_what_was_reported_is_taken_lasts_until_its_timeout(self) -> None:
        done, future = DoneFutures(), Future[int]()
        done.watch(future)
        future.set_result(1)
        done.take()

        done.wait(0.01)

        assert not done
