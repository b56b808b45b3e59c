"""The pool makes many judge calls, whatever they are about, and stores what they give."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Event

from tests.engine.judging.judging_fixtures import a_context

from outweigh.engine.batch import EndReason
from outweigh.engine.events import EngineEvent, note_event
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


def test_a_used_up_budget_and_an_interruption_leave_the_rest_open() -> None:
    calls = [NumberedCall(ONE, number) for number in range(5)]

    assert Round().run(*calls, cap_usd=0.25).stop is EndReason.BUDGET
    interrupted = Round().run(*calls, drained=True)

    assert (interrupted.stop, interrupted.left_open) == (EndReason.INTERRUPTED, 5)
