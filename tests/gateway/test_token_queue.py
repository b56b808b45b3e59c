"""Claims about requests that wait for tokens of the minute: their order, pauses, and clients that give up."""

import asyncio
from collections.abc import Callable, Coroutine

from outweigh.gateway.token_grants import TokenGrant
from outweigh.gateway.token_queue import Admission, HeldTime, TokenQueue


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Desk:
    """A queue, what was admitted of it, and what is granted to it."""

    def __init__(self, *, is_limited: bool = True) -> None:
        self.clock = Clock()
        self.queue = TokenQueue(is_limited=is_limited, clock=self.clock, look_seconds=0.0)
        self.held = HeldTime(self.clock)
        self.admitted: list[str] = []

    async def ask(self, name: str, tokens: int, provider: str = "anthropic") -> Admission:
        admission = await self.queue.admit(provider, tokens, self.held)
        self.admitted.append(name)
        return admission

    def grant(self, total: int, provider: str = "anthropic", pause: float = 0.0) -> None:
        sender = self.queue.reports()[0].sender
        self.queue.take([TokenGrant(provider=provider, sender=sender, granted=total, pause_seconds=pause)])


def in_a_loop(work: Callable[[Desk], Coroutine[None, None, None]], desk: Desk | None = None) -> Desk:
    desk = desk or Desk()
    asyncio.run(work(desk))
    return desk


async def settle_down() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_requests_are_sent_in_the_order_in_which_they_came_as_far_as_tokens_are_granted() -> None:
    async def work(desk: Desk) -> None:
        tasks = [asyncio.create_task(desk.ask(name, tokens)) for name, tokens in (("a", 50), ("b", 500), ("c", 5))]
        await settle_down()
        assert desk.admitted == []

        desk.grant(60)
        await settle_down()
        assert desk.admitted == ["a"]

        desk.grant(555)
        await asyncio.gather(*tasks)

    assert in_a_loop(work).admitted == ["a", "b", "c"]


def test_requests_of_another_provider_do_not_wait_behind_it() -> None:
    async def work(desk: Desk) -> None:
        waiting = asyncio.create_task(desk.ask("a", 50))
        other = asyncio.create_task(desk.ask("b", 50, "openai"))
        await settle_down()

        desk.grant(50, "openai")
        await other
        waiting.cancel()

    assert in_a_loop(work).admitted == ["b"]


def test_a_client_that_gives_up_leaves_its_place_to_the_next() -> None:
    async def work(desk: Desk) -> None:
        first = asyncio.create_task(desk.ask("a", 500))
        second = asyncio.create_task(desk.ask("b", 5))
        await settle_down()

        first.cancel()
        await settle_down()
        desk.grant(5)
        await second

    assert in_a_loop(work).admitted == ["b"]


def test_what_was_granted_and_is_not_needed_is_returned() -> None:
    async def work(desk: Desk) -> None:
        waiting = asyncio.create_task(desk.ask("a", 500))
        await settle_down()
        waiting.cancel()
        await settle_down()

        desk.grant(500)

        (report,) = desk.queue.reports()
        assert (report.spent, report.returned, report.waiting) == (0, 500, ())

    in_a_loop(work)


def test_the_usage_of_the_response_corrects_what_was_expected() -> None:
    async def work(desk: Desk) -> None:
        tasks = [asyncio.create_task(desk.ask(name, 100)) for name in ("less", "more", "late", "unknown")]
        await settle_down()
        desk.grant(400)
        less, more, late, unknown = await asyncio.gather(*tasks)

        desk.queue.settle(less, 40)
        desk.queue.settle(more, 130)
        desk.queue.settle(unknown, None)
        desk.clock.now += 58.0
        desk.queue.settle(late, 10)

        (report,) = desk.queue.reports()
        assert (report.spent, report.freed, report.excess) == (400, 60, 30)
        assert report.used == 40 + 130 + 10 + 100

    in_a_loop(work)


def test_without_a_limit_requests_wait_in_pauses_only() -> None:
    async def work(desk: Desk) -> None:
        await desk.ask("a", 10**9)
        desk.queue.pause("anthropic", 20.0)
        waiting = asyncio.create_task(desk.ask("b", 1))
        await settle_down()
        assert desk.admitted == ["a"]

        desk.clock.now += 20.0
        await waiting

    assert in_a_loop(work, Desk(is_limited=False)).admitted == ["a", "b"]


def test_a_pause_that_another_host_saw_holds_here_too() -> None:
    async def work(desk: Desk) -> None:
        desk.queue.take([TokenGrant(provider="anthropic", sender="", granted=0, pause_seconds=20.0)])
        waiting = asyncio.create_task(desk.ask("a", 1))
        await settle_down()
        assert desk.admitted == []

        desk.clock.now += 20.0
        await waiting

    assert in_a_loop(work, Desk(is_limited=False)).admitted == ["a"]


def test_nothing_waits_for_a_pause_longer_than_a_minute_before_the_provider_is_asked_again() -> None:
    async def work(desk: Desk) -> None:
        desk.queue.pause("anthropic", 3_600.0)
        waiting = asyncio.create_task(desk.ask("a", 1))
        await settle_down()

        desk.clock.now += 60.0
        await waiting

    assert in_a_loop(work, Desk(is_limited=False)).admitted == ["a"]


def test_time_in_which_several_requests_of_a_run_wait_counts_once() -> None:
    async def work(desk: Desk) -> None:
        tasks = [asyncio.create_task(desk.ask(name, 10)) for name in ("a", "b")]
        await settle_down()
        desk.clock.now += 30.0
        assert desk.held.seconds() == 30.0

        desk.grant(20)
        await asyncio.gather(*tasks)
        desk.clock.now += 5.0

        assert desk.held.seconds() == 30.0

    in_a_loop(work)


def test_the_time_that_runs_waited_stays_when_they_are_over() -> None:
    desk = Desk()
    held = desk.queue.hold()
    with held.waiting():
        desk.clock.now += 7.0

    desk.queue.end_hold(held)

    assert desk.queue.held_seconds() == 7.0


def test_a_request_that_waits_is_news_until_it_was_told() -> None:
    async def work(desk: Desk) -> None:
        assert not desk.queue.asks
        waiting = asyncio.create_task(desk.ask("a", 10))
        await settle_down()

        assert desk.queue.asks
        (report,) = desk.queue.reports()
        assert [request.tokens for request in report.waiting] == [10]
        assert not desk.queue.asks
        waiting.cancel()

    in_a_loop(work)
