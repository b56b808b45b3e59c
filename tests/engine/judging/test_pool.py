"""The pool makes many judge calls, whatever they are about, and stores what they give."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Barrier, Event

from tests.engine.judging.judging_fixtures import a_context

from outweigh.engine.batch import EndReason
from outweigh.engine.events import EngineEvent, note_event
from outweigh.engine.failure_streak import SAME_FAILURES
from outweigh.engine.judging.ask import Answered, JudgePrompt
from outweigh.engine.judging.pool import JudgeBudget, JudgePool, PoolResult
from outweigh.judging.material import RunMaterial
from outweigh.model.failure import FailureKind, make_failure
from outweigh.model.run_record import RunRecord
from outweigh.model.suite import JudgeSpec
from outweigh.model.usage import reported_cost
from outweigh.ports.judges import JudgeQuestion
from outweigh.testing.judge_contract import FakeAnswer, FakeJudge

ONE, OTHER = (JudgeSpec(name=name, backend="fake") for name in ("one", "other"))


@dataclass(frozen=True)
class NumberedCall:
    """A call about no run; its number is its prompt and its record."""

    judge: JudgeSpec
    number: int
    runs: tuple[RunRecord, ...] = ()

    def prompt(self, materials: Sequence[RunMaterial], code: str) -> JudgePrompt[str]:
        return JudgePrompt(system="", prompt=str(self.number), answer_schema={}, read=str)

    def record(self, answered: Answered[str], materials: Sequence[RunMaterial], judged_at: datetime) -> int:
        return self.number

    def event(self, record: int) -> EngineEvent:
        return note_event(f"stored {record}")


class Round:
    """A pool over judges that answer every call but number `rejected`; `stored` are the numbers in order."""

    def __init__(self, rejected: int | None = None, follow_ups: Mapping[int, NumberedCall] | None = None) -> None:
        self.rejected = rejected
        self.follow_ups = follow_ups or {}
        self.stored: list[int] = []
        self.events: list[EngineEvent] = []

    def run(self, *calls: NumberedCall, cap_usd: float | None = None, drained: bool = False) -> PoolResult:
        drain = Event()
        if drained:
            drain.set()
        judge = FakeJudge(reply=self._reply, cost=reported_cost(0.1))
        pool = JudgePool(
            context=a_context({"one": judge, "other": judge}, drain=drain),
            store=self._store,
            budget=JudgeBudget(cap_usd, {"one": None, "other": None}, {}),
            jobs=1,
            listen=self.events.append,
        )
        return pool.run(calls)

    def _reply(self, question: JudgeQuestion) -> FakeAnswer:
        if question.prompt == str(self.rejected):
            return make_failure(FailureKind.UNAUTHORIZED, "no such key")
        return "an answer"

    def _store(self, call: NumberedCall, record: int) -> Sequence[NumberedCall]:
        self.stored.append(record)
        follow_up = self.follow_ups.get(record)
        return () if follow_up is None else (follow_up,)


def test_calls_that_an_answer_makes_necessary_are_made_too() -> None:
    judging = Round(follow_ups={1: NumberedCall(ONE, 2), 2: NumberedCall(ONE, 3)})

    ended = judging.run(NumberedCall(ONE, 1))

    assert (ended.stop, ended.left_open) == (EndReason.DONE, 0)
    assert judging.stored == [1, 2, 3]
    assert [event.detail for event in judging.events] == ["stored 1", "stored 2", "stored 3"]


def test_a_judge_that_cannot_go_on_is_set_aside_and_the_others_go_on() -> None:
    judging = Round(rejected=1)

    ended = judging.run(NumberedCall(ONE, 1), NumberedCall(OTHER, 2), NumberedCall(ONE, 3), NumberedCall(OTHER, 4))

    assert (ended.stop, ended.left_open) == (EndReason.INCOMPLETE, 2)
    assert ended.set_aside == {"one": "unauthorized: no such key"}
    assert judging.stored == [2, 4]


DOWN = make_failure(FailureKind.CONNECTION_REFUSED, "the service cannot be reached")


class TestTheSameConnectionError:
    """Every call is tried once, so the number of questions is the number of calls."""

    @staticmethod
    def judging(*replies: FakeAnswer, jobs: int = 1, same_failures: int | None = SAME_FAILURES) -> PoolResult:
        given = iter(replies)
        judge = FakeJudge(reply=lambda _: next(given), cost=reported_cost(0.1))
        pool = JudgePool[NumberedCall, int](
            context=a_context({"one": judge}, same_failures=same_failures),
            store=lambda _call, _record: (),
            budget=JudgeBudget(None, {"one": None}, {}),
            jobs=jobs,
            listen=lambda _: None,
        )
        once = JudgeSpec(name="one", backend="fake", retries=0)
        return pool.run([NumberedCall(once, number) for number in range(len(replies))])

    def test_three_times_in_a_row_sets_the_judge_aside_and_leaves_the_rest_open(self) -> None:
        ended = self.judging(DOWN, DOWN, DOWN, "an answer", "an answer")

        assert (ended.stop, ended.left_open) == (EndReason.INCOMPLETE, 2)
        assert ended.set_aside["one"].startswith(
            "3 questions in a row failed with the same connection error: connection_refused: the service cannot be "
            "reached. Check the network"
        )

    def test_an_answer_in_between_begins_the_count_again(self) -> None:
        assert self.judging(DOWN, DOWN, "an answer", DOWN, DOWN, "an answer").set_aside == {}

    def test_another_error_in_between_begins_the_count_again(self) -> None:
        busy = make_failure(FailureKind.OVERLOADED, "HTTP 529: overloaded")

        assert self.judging(DOWN, DOWN, busy, DOWN, DOWN, "an answer").set_aside == {}

    def test_the_number_of_a_request_makes_no_other_error(self) -> None:
        numbered = [make_failure(FailureKind.SERVER_ERROR, f"HTTP 500: request req_{n}a81f failed") for n in range(3)]

        assert "one" in self.judging(*numbered, "an answer").set_aside

    def test_an_answer_that_cannot_be_used_is_no_connection_error(self) -> None:
        refusal = make_failure(FailureKind.REFUSAL, "the judge declined to answer")

        assert self.judging(refusal, refusal, refusal, "an answer").set_aside == {}

    def test_questions_that_are_under_way_together_count_once(self) -> None:
        together = Barrier(3)

        def fail_together(question: JudgeQuestion) -> FakeAnswer:
            together.wait()
            return DOWN

        judge = FakeJudge(reply=fail_together, cost=reported_cost(0.1))
        once = JudgeSpec(name="one", backend="fake", retries=0)
        pool = JudgePool[NumberedCall, int](
            context=a_context({"one": judge}),
            store=lambda _call, _record: (),
            budget=JudgeBudget(None, {"one": None}, {}),
            jobs=3,
            listen=lambda _: None,
        )

        assert pool.run([NumberedCall(once, number) for number in range(3)]).set_aside == {}

    def test_asked_to_keep_going_it_asks_all_questions(self) -> None:
        ended = self.judging(DOWN, DOWN, DOWN, DOWN, same_failures=None)

        assert (ended.stop, ended.left_open, ended.set_aside) == (EndReason.DONE, 0, {})


def test_a_used_up_budget_and_an_interruption_leave_the_rest_open() -> None:
    calls = [NumberedCall(ONE, number) for number in range(5)]

    assert Round().run(*calls, cap_usd=0.25).stop is EndReason.BUDGET
    interrupted = Round().run(*calls, drained=True)

    assert (interrupted.stop, interrupted.left_open) == (EndReason.INTERRUPTED, 5)
