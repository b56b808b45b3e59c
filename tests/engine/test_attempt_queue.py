"""The queue of attempts, against a plain list that is searched from its start."""

import random
from dataclasses import dataclass, field

import pytest

from outweigh.engine.attempt_queue import AttemptQueue, QueuedAttempt
from outweigh.engine.trial_plan import PlannedRun, plan_runs

ARMS = ("a", "b", "c")
PLAN = plan_runs([f"t{number}" for number in range(40)], ARMS, 1, seed=1)


def first_attempt(planned: PlannedRun) -> QueuedAttempt:
    return QueuedAttempt(planned=planned, attempt=1, tries=0, not_before=0.0)


def retry(planned: PlannedRun, not_before: float) -> QueuedAttempt:
    return QueuedAttempt(planned=planned, attempt=2, tries=1, not_before=not_before)


def last_of_all(planned: PlannedRun) -> QueuedAttempt:
    return QueuedAttempt(planned=planned, attempt=2, tries=1, not_before=0.0, comes_last=True)


@dataclass
class PlainQueue:
    """The same by searching lists."""

    waiting: list[QueuedAttempt] = field(default_factory=list)
    retries: list[QueuedAttempt] = field(default_factory=list)
    last: list[QueuedAttempt] = field(default_factory=list)
    passed_over: set[str] = field(default_factory=set)

    def add(self, due: QueuedAttempt) -> None:
        if due.comes_last:
            self.last.append(due)
        elif due.tries:
            self.retries = sorted([*self.retries, due], key=lambda each: each.not_before)
        else:
            self.waiting.append(due)

    def next(self, now: float, *, retries_last: bool) -> QueuedAttempt | None:
        first = [due for due in self.waiting if due.arm not in self.passed_over]
        due_now = [due for due in self.retries if due.arm not in self.passed_over and due.not_before <= now]
        ordered = [*first, *due_now] if retries_last else [*due_now, *first]
        ordered += [due for due in self.last if due.arm not in self.passed_over]
        return ordered[0] if ordered else None

    def take(self, due: QueuedAttempt) -> None:
        (self.last if due.comes_last else self.retries if due.tries else self.waiting).remove(due)

    def drop(self, arms: set[str]) -> list[QueuedAttempt]:
        dropped = [due for due in [*self.waiting, *self.retries, *self.last] if due.arm in arms]
        self.waiting = [due for due in self.waiting if due.arm not in arms]
        self.retries = [due for due in self.retries if due.arm not in arms]
        self.last = [due for due in self.last if due.arm not in arms]
        return dropped

    def pass_over(self, arm: str) -> None:
        self.passed_over.add(arm)

    def pass_over_none(self) -> None:
        self.passed_over.clear()


def test_trials_come_in_the_order_in_which_they_were_added() -> None:
    queue = AttemptQueue()
    queue.extend(map(first_attempt, PLAN))
    taken = []

    while (due := queue.next(0.0, retries_last=False)) is not None:
        queue.take(due)
        taken.append(due.planned)

    assert taken == list(PLAN)
    assert not queue


def test_a_retry_is_given_when_its_time_has_come_and_not_before() -> None:
    queue = AttemptQueue()
    queue.add(retry(PLAN[0], not_before=5.0))

    assert queue
    assert queue.next(4.999, retries_last=False) is None
    assert queue.next(5.0, retries_last=False) == retry(PLAN[0], not_before=5.0)


def test_retries_of_the_same_time_come_in_the_order_in_which_they_were_added() -> None:
    queue = AttemptQueue()
    for planned in (PLAN[2], PLAN[0], PLAN[1]):
        queue.add(retry(planned, not_before=5.0))
    taken = []

    while (due := queue.next(5.0, retries_last=False)) is not None:
        queue.take(due)
        taken.append(due.planned)

    assert taken == [PLAN[2], PLAN[0], PLAN[1]]


def test_what_may_prove_unnecessary_comes_when_nothing_else_can_start() -> None:
    queue = AttemptQueue()
    for due in (last_of_all(PLAN[0]), retry(PLAN[1], not_before=5.0), first_attempt(PLAN[2])):
        queue.add(due)

    for expected in (PLAN[2], PLAN[0]):
        first = queue.next(4.0, retries_last=False)
        assert first is not None
        assert first.planned == expected
        queue.take(first)
    assert queue.next(4.0, retries_last=False) is None


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_done_to_it_it_gives_what_searching_a_list_gives(seed: int) -> None:
    chance = random.Random(seed)
    queue, plain = AttemptQueue(), PlainQueue()
    unplanned = list(PLAN)
    for _ in range(600):
        step = chance.random()
        now, retries_last = float(chance.randrange(20)), chance.random() < 0.3
        due = queue.next(now, retries_last=retries_last)
        assert due == plain.next(now, retries_last=retries_last)
        if step < 0.25 and unplanned:
            added = first_attempt(unplanned.pop(0))
        elif step < 0.45:
            added = retry(chance.choice(PLAN), not_before=float(chance.randrange(20)))
        elif step < 0.5:
            added = last_of_all(chance.choice(PLAN))
        else:
            added = None
        dropped = []
        for each in (queue, plain):
            if added is not None:
                each.add(added)
            elif step < 0.8 and due is not None:
                each.take(due)
            elif step < 0.9:
                each.pass_over(ARMS[int(step * 1000) % 3])
            elif step < 0.99:
                each.pass_over_none()
            else:
                dropped.append(sorted(map(str, each.drop({ARMS[int(step * 1000) % 3]}))))
        assert not dropped or dropped[0] == dropped[1]
        assert sorted(map(str, queue)) == sorted(map(str, [*plain.waiting, *plain.retries, *plain.last]))
