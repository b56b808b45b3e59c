"""Many questions at once, whatever they are about."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event

from outweigh.engine.batch import EndReason
from outweigh.engine.budget import JudgeBudget
from outweigh.engine.events import EngineEvent as News
from outweigh.engine.judging.pool import CallEnd, JudgePool, PoolResult
from outweigh.model.failure import FailureKind, make_failure
from outweigh.model.suite import JudgeSpec

ONE, OTHER = (JudgeSpec(name=name, backend="fake") for name in ("one", "other"))


@dataclass(frozen=True)
class Item:
    """Number `place` before a judge."""

    judge: JudgeSpec
    place: int


class Desk:
    """Answers all items, save that `refused` is turned away for ever; `kept` is what was written down."""

    def __init__(self, refused: Item | None = None, more: Sequence[Item] = ()) -> None:
        self.refused = refused
        self.more = {item.place - 1: [item] for item in more}
        self.kept: list[Item] = []
        self.news: list[News] = []

    def put(self, item: Item) -> CallEnd[Item]:
        if item == self.refused:
            hopeless = make_failure(FailureKind.UNAUTHORIZED, "no such key")
            return CallEnd(keep=None, cost_usd=0.0, hopeless=hopeless, trouble=None)
        return CallEnd(keep=lambda: self._keep(item), cost_usd=0.1, hopeless=None, trouble=None)

    def ask(self, *items: Item, cap_usd: float | None = None, drained: bool = False) -> PoolResult:
        drain = Event()
        if drained:
            drain.set()
        purse = JudgeBudget(cap_usd, {"one": None, "other": None}, {})
        return JudgePool(put=self.put, drain=drain, purse=purse, jobs=1, listen=self.news.append).ask(items)

    def _keep(self, item: Item) -> Sequence[Item]:
        self.kept.append(item)
        return self.more.get(item.place, ())


def test_what_an_answer_calls_for_is_asked_besides() -> None:
    desk = Desk(more=[Item(ONE, 2), Item(ONE, 3)])

    ended = desk.ask(Item(ONE, 1))

    assert (ended.stop, ended.left_open) == (EndReason.DONE, 0)
    assert [item.place for item in desk.kept] == [1, 2, 3]


def test_a_judge_without_hope_is_set_aside_and_the_others_go_on() -> None:
    desk = Desk(refused=Item(ONE, 1))

    ended = desk.ask(Item(ONE, 1), Item(OTHER, 2), Item(ONE, 3), Item(OTHER, 4))

    assert (ended.stop, ended.left_open) == (EndReason.INCOMPLETE, 2)
    assert list(ended.set_aside) == ["one"]
    assert [item.place for item in desk.kept] == [2, 4]


def test_money_and_interruptions_leave_the_rest_open() -> None:
    items = [Item(ONE, place) for place in range(5)]

    assert Desk().ask(*items, cap_usd=0.25).stop is EndReason.BUDGET
    interrupted = Desk().ask(*items, drained=True)

    assert (interrupted.stop, interrupted.left_open) == (EndReason.INTERRUPTED, 5)
